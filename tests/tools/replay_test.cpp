// SPDX-License-Identifier: Apache-2.0
// The options of a replay and its schedule.
#include <gtest/gtest.h>

#include <stdexcept>

#include "tests/error_of.hpp"
#include "tests/tools/replay_files.hpp"
#include "tools/replay/pace.hpp"
#include "tools/replay/report.hpp"
#include "tools/replay/source.hpp"

namespace {

using namespace l3;
using namespace std::chrono_literals;

TEST(destination, reads_urls) {
  const auto d = parse_destination("udp://127.0.0.1:42000+8");
  EXPECT_EQ(d.how, destination::protocol::udp);
  EXPECT_EQ(d.host, "127.0.0.1");
  EXPECT_EQ(d.port, 42000);
  EXPECT_EQ(d.ports, 8);
  EXPECT_EQ(d.text(), "udp://127.0.0.1:42000+8");
  EXPECT_EQ(parse_destination("udp://node:1").ports, 1);
  EXPECT_EQ(parse_destination("tcp://[::1]:42100").host, "::1");
  EXPECT_EQ(parse_destination("tcp://[::1]:42100").text(), "tcp://[::1]:42100");
  for (const char* bad :
       {"", "127.0.0.1:42000", "http://a:1", "udp://a", "udp://:1", "udp://a:0", "udp://a:65536",
        "udp://a:65535+2", "udp://a:1+", "udp://a:1+0", "tcp://a:1+8", "udp://a:1x", "udp://"})
    EXPECT_THROW((void)parse_destination(bad), std::invalid_argument) << bad;
}

TEST(destination, reads_rates_and_probabilities) {
  EXPECT_EQ(parse_rate("10000ev/s").how, replay_rate::kind::events);
  EXPECT_EQ(parse_rate("10000ev/s").value, 10000);
  EXPECT_EQ(parse_rate("40Gb/s").how, replay_rate::kind::bits);
  EXPECT_EQ(parse_rate("40Gb/s").value, 40e9);
  EXPECT_EQ(parse_rate("1.5 Mb/s").value, 1.5e6);
  EXPECT_EQ(parse_rate("unlimited").how, replay_rate::kind::unlimited);
  for (const char* bad : {"", "10", "ev/s", "-1ev/s", "0ev/s", "10GB/s", "nan ev/s", "max"})
    EXPECT_THROW((void)parse_rate(bad), std::invalid_argument) << bad;
  EXPECT_EQ(parse_rate("0.1ev/s").value, 0.1);
  EXPECT_EQ(parse_rate("1000000Gb/s").value, 1e15);
  for (const char* out_of_range : {"0.09ev/s", "0.00001kb/s", "1e-300b/s", "1000001Gb/s",
                                   "1.1e15ev/s", "1e300Gb/s", "1e999ev/s", "inf ev/s"})
    EXPECT_THROW((void)parse_rate(out_of_range), std::invalid_argument) << out_of_range;
  EXPECT_DOUBLE_EQ(parse_probability("1%"), 0.01);
  EXPECT_DOUBLE_EQ(parse_probability("0.25"), 0.25);
  EXPECT_DOUBLE_EQ(parse_probability("1 %"), 0.01);
  EXPECT_DOUBLE_EQ(parse_probability("100%"), 1);
  for (const char* bad : {"", "101%", "-1", "x", "1 %x", "1", "1.0", "5"})
    EXPECT_THROW((void)parse_probability(bad), std::invalid_argument) << bad;
}

replay_spill spill_of(std::initializer_list<std::chrono::nanoseconds> times) {
  replay_spill s;
  s.cycle = 4s;
  for (const auto t : times) s.events.push_back({{}, 0, 1, t});
  return s;
}

TEST(schedule, keeps_the_times_of_the_file) {
  const auto spill = spill_of({1ms, 1ms + 10us, 3s});
  schedule s({}, 0ns);
  for (const std::chrono::nanoseconds begin : {0s, 4s}) {
    EXPECT_EQ(s.begin_spill(), begin);
    EXPECT_EQ(s.next_event(spill, 0, 1).due, begin + 1ms);
    const auto second = s.next_event(spill, 1, 1);
    EXPECT_EQ(second.due, begin + 1010us);
    EXPECT_EQ(second.length, 10ms) << "spread over ten milliseconds at most";
    EXPECT_EQ(s.next_event(spill, 2, 1).due, begin + 3s);
    EXPECT_EQ(s.end_spill(spill, 0s), begin + 3s) << "and the next one when its cycle is over";
  }
}

TEST(schedule, makes_rates) {
  const auto spill = spill_of({0ns, 0ns, 0ns});
  schedule events({replay_rate::kind::events, 1000}, 5ms);
  EXPECT_EQ(events.begin_spill(), 0s);
  EXPECT_EQ(events.next_event(spill, 0, 1).due, 0s);
  EXPECT_EQ(events.next_event(spill, 1, 1).due, 1ms);
  EXPECT_EQ(events.next_event(spill, 2, 1).length, 1ms);
  EXPECT_EQ(events.end_spill(spill, 0s), 8ms);
  EXPECT_EQ(events.begin_spill(), 8ms);
  EXPECT_EQ(events.next_event(spill, 0, 1).due, 8ms);

  schedule bits({replay_rate::kind::bits, 8e9}, 0ms);
  EXPECT_EQ(bits.begin_spill(), 0s);
  EXPECT_EQ(bits.next_event(spill, 0, 500).due, 0s);
  EXPECT_EQ(bits.next_event(spill, 1, 100).due, 500ns);
  EXPECT_EQ(bits.next_event(spill, 2, 100).due, 600ns);
}

TEST(replay_source, reads_spills) {
  const temporary_folder folder;
  write_small_file(folder / "a", 3, 2);
  const replay_source source(folder / "a");
  EXPECT_EQ(source.run(), 9U);
  EXPECT_EQ(source.events(), 6U);
  ASSERT_EQ(source.spills().size(), 2U);
  EXPECT_EQ(source.spills()[1].number, 2U);
  EXPECT_EQ(source.spills()[1].cycle, small_cycle);
  EXPECT_EQ(source.spills()[1].events[2].number, 3U);
  EXPECT_EQ(source.spill_number(source.spills()[1], 0), 2U);
  EXPECT_EQ(source.spill_number(source.spills()[1], 3), 8U);
  EXPECT_EQ(source.spill_number(source.spills()[1], 255), 0U) << "9 bits";
}

TEST(replay_report, has_no_quantile_above_the_longest_delay) {
  for (std::chrono::microseconds late = 100us; late < 1ms; late += 50us) {
    pace_keeper pace;
    pace.start();
    pace.note(pace.elapsed() - late);
    replay_report r;
    r.set_delays(pace);
    EXPECT_GT(r.p99_delay, 0);
    EXPECT_LE(r.p99_delay, r.longest_delay) << late.count();
  }
}

} // namespace
