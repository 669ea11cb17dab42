// SPDX-License-Identifier: Apache-2.0
// That the bench of event building feeds whole events however they arrive, and sees wrong ones.
#include "bench/building/building_report.hpp"

#include <gtest/gtest.h>

namespace l3::test {
namespace {

using namespace bench;

constexpr std::uint32_t events = 20;
constexpr std::size_t datagrams_of_event = 107;

std::size_t datagrams(const traffic& t) {
  std::size_t n = 0;
  for (const auto& p : t.ports) n += p.size();
  return n;
}

TEST(building_bench, deals_all_datagrams_of_whole_events) {
  const made_up_events made(events, 2);
  const traffic in_order = make_traffic(made, arrival::in_order, 2);
  EXPECT_EQ(in_order.ports.size(), 2U);
  EXPECT_EQ(datagrams(in_order), events * datagrams_of_event);
  EXPECT_EQ(in_order.payload_bytes, made.fragment_bytes());
  const traffic mixed = make_traffic(made, arrival::mixed, 2);
  EXPECT_EQ(mixed.ports.size(), 8U);
  EXPECT_EQ(datagrams(mixed), events * datagrams_of_event);
  const traffic lossy = make_traffic(made, arrival::with_loss, 1);
  EXPECT_LT(datagrams(lossy), events * datagrams_of_event);
  EXPECT_LT(lossy.whole_events, events);
  EXPECT_GT(lossy.whole_events, 0U);
}

TEST(building_bench, builds_what_was_sent_however_it_arrives) {
  building_options o;
  o.events = events;
  o.rounds = 1;
  o.threads = {1, 2};
  const building_report r = measure_building(o);
  EXPECT_TRUE(r.all_right());
  ASSERT_EQ(r.rows.size(), 2U * 2U * 4U);
  for (const building_row& row : r.rows) {
    EXPECT_TRUE(row.right) << row.plan.threads << " threads, " << row.plan.datagrams_per_call
                           << " datagrams, " << name_of(row.how);
    EXPECT_EQ(row.runs.front().events, row.events);
    EXPECT_EQ(row.events == events, row.how != arrival::with_loss);
  }
  const boost::json::value json = to_json(r);
  EXPECT_GT(json.at_pointer("/rows/0/events_per_second").as_double(), 0);
  EXPECT_DOUBLE_EQ(json.at_pointer("/rows/0/of_one_thread").as_double(), 1);
  EXPECT_EQ(json.at_pointer("/rows/7/arrival").as_string(), "mixed, two spills");
  EXPECT_GT(json.at("bare_pass_events_per_second").as_double(), 0);
}

TEST(building_bench, sees_a_wrong_byte_and_a_missing_event) {
  const made_up_events made(events, 1);
  reused_batches batches(4, 16);
  traffic t = make_traffic(made, arrival::mixed, 1);
  EXPECT_TRUE(feed(t, {1, 64}, batches, &made).right);

  sent_datagram& first = t.ports[0][0];
  std::vector<std::byte> wrong(first.payload, first.payload + first.bytes);
  wrong.back() ^= std::byte{1};
  const std::byte* const good = std::exchange(first.payload, wrong.data());
  EXPECT_TRUE(feed(t, {1, 64}, batches).right) << "bytes are compared on request";
  EXPECT_FALSE(feed(t, {1, 64}, batches, &made).right);

  first.payload = good;
  t.ports[3].erase(t.ports[3].begin() + 5);
  EXPECT_FALSE(feed(t, {1, 64}, batches).right);
}

} // namespace
} // namespace l3::test
