// SPDX-License-Identifier: Apache-2.0
// That the bench of receiving sends what it says, and that each receiver gets it.
#include "bench/receive/receive_report.hpp"

#include <algorithm>

#include <gtest/gtest.h>

#include "bench/receive/bare_receiver.hpp"

namespace l3::test {
namespace {

using namespace bench;

constexpr std::uint32_t events = 8;
constexpr std::uint64_t datagrams_of_event = 107;

TEST(receive_bench, measures_each_receiver_with_the_same_datagrams) {
  receive_options o;
  o.events = events;
  o.rounds = 1;
  const receive_report r = measure_receiving(o);
  EXPECT_TRUE(r.all_right());
  ASSERT_EQ(r.rows.size(), 6U);
  for (const receive_row& row : r.rows) {
    ASSERT_EQ(row.runs.size(), 1U) << row.receiver;
    EXPECT_EQ(row.runs[0].sent, events * datagrams_of_event) << row.receiver;
    EXPECT_GT(row.runs[0].received, 0U) << row.receiver;
  }
  const boost::json::value json = to_json(r);
  EXPECT_EQ(json.at_pointer("/rows/3/receiver").as_string(), "daemon, unpaced");
  EXPECT_DOUBLE_EQ(json.at_pointer("/rows/3/daemon_to_this").as_double(), 1);
}

TEST(receive_bench, a_bare_loop_puts_each_payload_into_a_slot_of_its_own) {
  const made_up_events made(2, 1);
  const traffic t = make_traffic(made, arrival::in_order, 1);
  constexpr std::size_t room = 8000;
  constexpr std::size_t of_a_call = 64;
  std::vector<std::byte> memory((2 * datagrams_of_event + of_a_call) * room);
  std::vector<std::byte*> slots;
  for (std::size_t at = 0; at < memory.size(); at += room) slots.push_back(memory.data() + at);
  bare_receiver receiver(1, mebibytes(4), slots, room);
  const sent_traffic sent = send(t, receiver.ports(), 50e6);
  receiver.stop();
  EXPECT_EQ(sent.datagrams, 2 * datagrams_of_event);
  ASSERT_EQ(receiver.datagrams(), sent.datagrams) << "it fits into the socket";
  EXPECT_EQ(receiver.bytes(), sent.bytes);
  for (const sent_datagram& d : t.ports[0]) {
    EXPECT_TRUE(std::ranges::any_of(
        slots, [&](const std::byte* s) { return std::equal(d.payload, d.payload + d.bytes, s); }))
        << "chunk " << d.header.chunk << " of fragment " << d.header.fragment_id;
  }
}

} // namespace
} // namespace l3::test
