// SPDX-License-Identifier: Apache-2.0
// Replay over loopback into plain sockets. tests/system/level2_input.py compares the datagrams with
// docs/formats.md, section 3.
#include <gtest/gtest.h>

#include <chrono>

#include "tests/error_of.hpp"
#include "tests/tools/replay_files.hpp"
#include "tools/replay/udp_replay.hpp"

namespace {

using namespace l3;

/// A socket of the loopback interface.
class listener {
public:
  listener() : socket_(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    socket_address at = resolve({destination::protocol::udp, "127.0.0.1", 1, 1});
    at.set_port(0);
    EXPECT_EQ(::bind(socket_.get(), at.get(), at.bytes), 0);
    at.bytes = sizeof at.storage;
    ::getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&at.storage), &at.bytes);
    where_ = {destination::protocol::udp, "127.0.0.1", at.port(), 1};
  }

  [[nodiscard]] const destination& where() const { return where_; }

private:
  file_descriptor socket_;
  destination where_;
};

/// Two fragments of 4152 bytes, three chunks and a trailer each.
constexpr std::size_t datagrams_per_event = 8;

class udp_replays : public testing::Test {
protected:
  [[nodiscard]] replay_report replay(std::uint32_t events, std::uint32_t spills,
                                     std::vector<destination> to) const {
    write_small_file(folder_ / "a", events, spills);
    udp_replay_settings s;
    s.to = std::move(to);
    s.rate = {replay_rate::kind::events, 5000};
    s.chunk_bytes = 1400;
    s.end_delay = std::chrono::milliseconds(1);
    s.drop = drop_;
    s.duplicate = duplicate_;
    s.threads = threads_;
    return replay_over_udp(replay_source(folder_ / "a"), s, {});
  }

  double drop_ = 0;
  double duplicate_ = 0;
  std::uint32_t threads_ = 1;

private:
  temporary_folder folder_;
};

TEST(udp_replay, tells_long_spills_in_parts) {
  EXPECT_TRUE(ends_of_spill(0, 1, 2).empty());
  EXPECT_EQ(ends_of_spill(32767, 1, 2).size(), 1U);
  const auto parts = ends_of_spill(70000, 0x1ff, 17);
  ASSERT_EQ(parts.size(), 3U);
  std::uint32_t sum = 0;
  for (std::uint32_t i = 0; i < 3; ++i) {
    EXPECT_EQ(parts[i].fragment_id, i);
    EXPECT_EQ(parts[i].chunk, 3U);
    EXPECT_EQ(parts[i].discriminator & 0x1ffff, 0x1ff11U);
    EXPECT_NE(parts[i].discriminator >> 17, 0U);
    sum += parts[i].discriminator >> 17;
  }
  EXPECT_EQ(sum, 70000U);
}

TEST_F(udp_replays, leave_out_and_repeat_on_purpose) {
  const listener far_end;
  const std::size_t whole = 20 * datagrams_per_event + 2;
  const auto sent = [](const replay_report& r) {
    return r.data_datagrams + r.trailers + r.ends_of_spill;
  };
  drop_ = 0.1;
  const auto less = replay(20, 1, {far_end.where()});
  EXPECT_GT(less.dropped, 0U);
  EXPECT_GT(less.events_dropped_from, 0U);
  EXPECT_LT(less.events_dropped_from, 20U);
  EXPECT_EQ(sent(less) + less.dropped, whole);
  drop_ = 0;
  duplicate_ = 0.3;
  const auto more = replay(20, 1, {far_end.where()});
  EXPECT_GT(more.duplicated, 0U);
  EXPECT_EQ(sent(more), whole);
}

} // namespace
