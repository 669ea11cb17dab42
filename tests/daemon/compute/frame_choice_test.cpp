// SPDX-License-Identifier: Apache-2.0
#include "daemon/machine_check.hpp"

#include <limits>

#include <gtest/gtest.h>

#include "daemon/compute/compute_side.hpp"

namespace l3 {
namespace {

constexpr std::uint64_t giga = 1'000'000'000;
const memory_limit large{128 * giga, "this machine"};

found_devices h200(std::uint32_t count = 1) { return {count, "NVIDIA H200", 150 * giga, 132}; }

TEST(frame_choice, keeps_what_the_configuration_gives) {
  daemon_settings s;
  s.frames.any_count = s.frames.any_events = false;
  s.frames.count = 3;
  s.frames.events = 4096;
  EXPECT_EQ(choose_frames(s, h200(), {giga, "this machine"}), "");
  EXPECT_EQ(s.frames.count, 3);
  EXPECT_EQ(s.frames.events, 4096U);
  s.frames.any_count = true;
  EXPECT_TRUE(choose_frames(s, h200(), {giga, "a"}).starts_with("frames.count = 2: chosen for "));
  EXPECT_EQ(s.frames.events, 4096U) << "whatever it takes";
}

TEST(frame_choice, is_four_frames_of_64_on_processors) {
  daemon_settings s;
  EXPECT_EQ(choose_frames(s, {}, large), "frames.count = 4, frames.events = 64: chosen for "
                                         "processors and the 128.0 GB of this machine");
  EXPECT_EQ(s.frames.count, 4);
  EXPECT_EQ(s.frames.events, 64U);
}

TEST(frame_choice, gives_each_multiprocessor_of_a_device_an_event) {
  daemon_settings s;
  EXPECT_EQ(choose_frames(s, h200(), large),
            "frames.count = 6, frames.events = 160: chosen for NVIDIA H200 (132 multiprocessors, "
            "150.0 GB) and the 128.0 GB of this machine");
  EXPECT_LE(s.frames.count, most_frames_chosen);
  const found_devices small{1, "NVIDIA GeForce RTX 3060 Ti", 8 * giga, 38};
  (void)choose_frames(s, small, large);
  EXPECT_EQ(s.frames.events, 64U);
  (void)choose_frames(s, {1, "of tomorrow", 1000 * giga, 4000}, large);
  EXPECT_EQ(s.frames.events, 256U);
}

TEST(frame_choice, takes_a_quarter_of_the_memory_for_the_frames_of_all_devices) {
  daemon_settings s;
  const std::string said = choose_frames(s, h200(8), {40 * giga, "the control group /a"});
  EXPECT_EQ(s.frames.count, 6);
  EXPECT_EQ(s.frames.events, 80U);
  EXPECT_TRUE(said.find("8 × NVIDIA H200") != said.npos) << said;
  EXPECT_TRUE(said.ends_with("; more would take too much of the memory")) << said;
  (void)choose_frames(s, {}, {giga, "this machine"});
  EXPECT_EQ(s.frames.count, 4);
  EXPECT_EQ(s.frames.events, 32U);
  (void)choose_frames(s, {1, "small", giga, 10}, large);
  EXPECT_EQ(s.frames.events, 32U) << "of the device it takes a half";
  (void)choose_frames(s, {}, {giga / 100, "this machine"});
  EXPECT_EQ(s.frames.count, 2);
  EXPECT_EQ(s.frames.events, 16U) << "then the start fails, and says for want of what";
}

TEST(frame_choice, counts_the_slots_of_the_strong_codec) {
  daemon_settings s;
  s.frames.count = 4;
  s.frames.events = 64;
  const std::uint64_t plain = least_frame_bytes(s);
  const memory_limit just_enough{4 * 4 * plain, "this machine"};
  (void)choose_frames(s, {}, just_enough);
  EXPECT_EQ(s.frames.events, 64U);
  s.outbox.codec = codec_id::strong;
  EXPECT_GE(least_frame_bytes(s), plain + std::uint64_t{2080} * frame_capacity(s).boards);
  (void)choose_frames(s, {}, just_enough);
  EXPECT_EQ(s.frames.events, 32U);
}

TEST(frame_choice, stays_within_what_a_table_can_address) {
  daemon_settings s;
  s.building.crates = {};
  for (std::uint8_t n = 0; n < 64; ++n) s.building.crates.crates.push_back({n});
  (void)choose_frames(s, {1, "of tomorrow", 1000 * giga, 4000}, {1000 * giga, "this machine"});
  EXPECT_LE(frame_capacity(s).bytes, std::numeric_limits<std::uint32_t>::max());
}

} // namespace
} // namespace l3
