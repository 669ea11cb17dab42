// SPDX-License-Identifier: Apache-2.0
// What kernels do that is more than computing: memory, branches, barriers, exchanges within a warp;
// and one case for each check of the interpreter, which must fire.
#include "tests/device/launch.hpp"

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/device/run_kernel.hpp"

namespace l3::ptx::test {

namespace {

/// The text of the fault that the kernel meets; empty if it meets none.
std::string fault_of(const std::string& body, const launch_options& o = {}) {
  try {
    static_cast<void>(run_kernel(body, o));
  } catch (const device_fault& e) {
    return e.what();
  }
  return {};
}

testing::AssertionResult says(const std::string& text, const std::string& part) {
  if (text.find(part) != std::string::npos) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "'" << text << "' does not say '" << part << "'";
}

/// As a converged run, and at random by ten seeds.
std::vector<launch_options> all_schedules(launch_options o = {}) {
  std::vector<launch_options> all{o};
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    o.how = {.is_random = true, .seed = seed, .resident_blocks = 3};
    all.push_back(o);
  }
  return all;
}

} // namespace

// --- memory ---

TEST(device_memory, is_read_and_written_in_every_width) {
  const auto r =
      run_kernel("mov.b64 %rd1, 0x8182838485868788;\n st.global.u64 [%rd0], %rd1;\n"
                 "ld.global.u8 %rs1, [%rd0+1];\n ld.global.s8 %r4, [%rd0];\n"
                 "ld.global.u16 %rs2, [%rd0+2];\n ld.global.s16 %r5, [%rd0+6];\n"
                 "ld.global.s32 %rd2, [%rd0+4];\n shr.s64 %rd2, %rd2, 56;\n"
                 "cvt.u32.u16 %r6, %rs1;\n shr.s32 %r4, %r4, 4;\n shr.s32 %r5, %r5, 8;\n"
                 "cvt.u32.u16 %r7, %rs2;\n"
                 "st.global.u8 [%rd0], %r6;\n st.global.u8 [%rd0+1], %r4;\n"
                 "st.global.u16 [%rd0+2], %rs2;\n st.global.v2.u8 [%rd0+4], {%r5, %rd2};\n"
                 "st.global.u16 [%rd0+6], %r7;\n");
  for (const std::uint64_t v : r.out) EXPECT_EQ(v, 0x8586'ff81'8586'f887);
}

TEST(device_memory, moves_vectors) {
  const auto r = run_kernel("mov.u32 %r4, common;\n mad.lo.s32 %r4, %r0, 16, %r4;\n"
                            "mov.u32 %r5, 1;\n mov.u32 %r6, 2;\n mov.u32 %r7, 3;\n"
                            "st.shared.v4.u32 [%r4], {%r5, %r6, %r7, %r0};\n"
                            "ld.shared.v2.u64 {%rd1, %rd2}, [%r4];\n add.s64 %rd1, %rd1, %rd2;\n"
                            "st.global.u64 [%rd0], %rd1;\n");
  for (std::uint64_t t = 0; t < r.out.size(); ++t)
    EXPECT_EQ(r.out[t], (std::uint64_t{2} + t) << 32 | 4U);
}

TEST(device_memory, has_generic_addresses_variables_and_arguments) {
  const auto r =
      run_kernel("mov.u32 %r4, common;\n cvt.u64.u32 %rd1, %r4;\n cvta.shared.u64 %rd1, %rd1;\n"
                 "mul.wide.u32 %rd2, %r0, 4;\n add.s64 %rd1, %rd1, %rd2;\n"
                 "ld.param.u32 %r5, [n];\n st.u32 [%rd1], %r5;\n ld.u32 %r6, [%rd1];\n"
                 "mov.u64 %rd3, table;\n ld.global.u32 %r7, [%rd3+4];\n"
                 "mov.b64 %rd4, n;\n ld.param.u8 %rs1, [%rd4];\n cvt.u32.u16 %r5, %rs1;\n add.s32 "
                 "%r6, %r6, %r5;\n"
                 "mov.b64 %rd5, {%r6, %r7};\n st.u64 [%rd0], %rd5;\n",
                 {.n = 7});
  for (const std::uint64_t v : r.out) EXPECT_EQ(v, 0x0807'0605'0000'000e);
}

TEST(device_memory, is_split_into_its_parts) {
  const auto r = run_kernel(
      "mov.b64 %rd1, 0x1111222233334444;\n mov.b64 {%r4, %r5}, %rd1;\n"
      "mov.b32 {%rs1, %rs2}, %r4;\n mov.b32 %r4, {%rs2, %rs1};\n mov.b64 %rd2, {%r5, %r4};\n"
      "st.global.u64 [%rd0], %rd2;\n");
  for (const std::uint64_t v : r.out) EXPECT_EQ(v, 0x4444'3333'1111'2222);
}

TEST(device_memory, is_changed_at_once) {
  struct operation {
    std::string name;
    std::uint64_t first, last; ///< before, and after 32 threads with their numbers
  };
  for (const auto& [name, first, last] : std::vector<operation>{{"add.u32", 5, 5 + 496},
                                                                {"add.u64", 1, 497},
                                                                {"min.u32", 9, 0},
                                                                {"min.s32", 0xfffffff0, 0xfffffff0},
                                                                {"max.u64", 3, 31},
                                                                {"max.s64", ~std::uint64_t{0}, 31},
                                                                {"or.b32", 32, 63},
                                                                {"and.b32", 0xff, 0},
                                                                {"xor.b32", 3, 3}}) {
    const bool is_wide = name.ends_with("64");
    const std::string width = is_wide ? "u64" : "u32";
    const std::string value = is_wide ? "%rd1" : "%r0";
    const std::string body = "setp.ne.u32 %p1, %r0, 0;\n mov.b64 %rd2, " + std::to_string(first) +
                             ";\n @!%p1 st.shared." + width + " [common], " + "%rd2" +
                             ";\n bar.sync 0;\n cvt.u64.u32 %rd1, %r0;\n atom.shared." + name +
                             " %rd3, [common], " + value + ";\n bar.sync 0;\n ld.shared." + width +
                             " %rd4, [common];\n st.global.u64 [%rd0], %rd4;\n";
    for (const auto& o : all_schedules()) {
      for (const std::uint64_t v : run_kernel(body, o).out) EXPECT_EQ(v, last) << name;
    }
  }
}

TEST(device_memory, exchanges_and_compares) {
  const auto r = run_kernel(
      "setp.ne.u32 %p1, %r0, 0;\n @%p1 bra $L__done;\n mov.u32 %r4, 5;\n st.shared.u32 [common], "
      "%r4;\n"
      "atom.shared.exch.b32 %r5, [common], 6;\n atom.shared.cas.b32 %r6, [common], 5, 7;\n"
      "atom.shared.cas.b32 %r7, [common], 6, 8;\n ld.shared.u32 %r4, [common];\n"
      "shl.b32 %r5, %r5, 12;\n shl.b32 %r6, %r6, 8;\n shl.b32 %r7, %r7, 4;\n"
      "or.b32 %r4, %r4, %r5;\n or.b32 %r4, %r4, %r6;\n or.b32 %r4, %r4, %r7;\n"
      "st.global.u32 [%rd0], %r4;\n$L__done:\n");
  EXPECT_EQ(r.out[0], 0x5668U);
}

// --- the way through the program ---

TEST(warps, take_branches_and_meet_again) {
  // Each lane counts down from its number; then all lanes vote together.
  const std::string body =
      "mov.u32 %r4, %r0;\n mov.u32 %r5, 0;\n$L__again:\n setp.eq.u32 %p1, %r4, 0;\n @%p1 bra "
      "$L__out;\n"
      "add.s32 %r5, %r5, %r4;\n add.s32 %r4, %r4, -1;\n bra.uni $L__again;\n$L__out:\n"
      "vote.sync.all.pred %p2, !%p1, -1;\n vote.sync.any.pred %p3, %p1, -1;\n"
      "selp.u32 %r6, 1000, 0, %p3;\n selp.u32 %r7, 5000, 0, %p2;\n add.s32 %r5, %r5, %r6;\n "
      "add.s32 %r5, %r5, %r7;\n"
      "st.global.u32 [%rd0], %r5;\n";
  for (const auto& o : all_schedules()) {
    const auto out = run_kernel(body, o).out;
    for (std::uint64_t t = 0; t < out.size(); ++t) EXPECT_EQ(out[t], t * (t + 1) / 2 + 1000);
  }
}

TEST(warps, end_lane_by_lane) {
  for (const auto& o : all_schedules({.blocks = 5, .threads = 100})) {
    const auto out =
        run_kernel(
            "setp.gt.u32 %p1, %r0, 70;\n @%p1 ret;\n bar.sync 0;\n setp.lt.u32 %p2, %r0, 64;\n"
            "@%p2 bar.warp.sync -1;\n st.global.u32 [%rd0], %r3;\n",
            o)
            .out;
    for (std::uint64_t t = 0; t < out.size(); ++t) EXPECT_EQ(out[t], t % 100 > 70 ? 0 : t);
  }
}

TEST(warps, shuffle) {
  struct kind {
    std::string text;
    std::uint64_t (*from)(std::uint64_t lane);
  };
  for (const auto& [text, from] : std::vector<kind>{
           {"up.b32 %r5|%p1, %r4, 3, 0",
            [](std::uint64_t lane) { return lane < 3 ? lane : lane - 3; }},
           {"down.b32 %r5|%p1, %r4, 5, 31",
            [](std::uint64_t lane) { return lane > 26 ? lane : lane + 5; }},
           {"bfly.b32 %r5|%p1, %r4, 7, 31", [](std::uint64_t lane) { return lane ^ 7; }},
           {"idx.b32 %r5|%p1, %r4, 9, 31", [](std::uint64_t) { return std::uint64_t{9}; }},
           // Segments of eight lanes.
           {"up.b32 %r5|%p1, %r4, 2, 0x1800",
            [](std::uint64_t lane) { return lane % 8 < 2 ? lane : lane - 2; }},
           {"down.b32 %r5|%p1, %r4, 2, 0x181f",
            [](std::uint64_t lane) { return lane % 8 > 5 ? lane : lane + 2; }},
           {"idx.b32 %r5|%p1, %r4, 3, 0x181f",
            [](std::uint64_t lane) { return lane / 8 * 8 + 3; }}}) {
    for (const auto& o : all_schedules()) {
      const auto out = run_kernel("add.s32 %r4, %r0, 100;\n shfl.sync." + text +
                                      ", -1;\n st.global.u32 [%rd0], %r5;\n"
                                      "selp.u32 %r6, 1, 0, %p1;\n st.global.u32 [%rd0+4], %r6;\n",
                                  o)
                           .out;
      for (std::uint64_t lane = 0; lane < 32; ++lane) {
        EXPECT_EQ(out[lane] & 0xffffffff, 100 + from(lane)) << text;
        if (from(lane) != lane) {
          EXPECT_EQ(out[lane] >> 32, 1U) << text;
        }
      }
    }
  }
}

TEST(warps, vote_among_the_lanes_that_are_there) {
  for (const auto& o : all_schedules()) {
    const auto out =
        run_kernel(
            "setp.lt.u32 %p1, %r0, 8;\n @!%p1 bra $L__out;\n activemask.b32 %r4;\n"
            "and.b32 %r5, %r0, 1;\n setp.eq.u32 %p2, %r5, 1;\n vote.sync.ballot.b32 %r6, %p2, "
            "%r4;\n"
            "and.b32 %r7, %r4, 0xaa;\n setp.eq.u32 %p3, %r6, %r7;\n selp.u32 %r6, 1, 0, %p3;\n"
            "st.global.u32 [%rd0], %r6;\n$L__out:\n",
            o)
            .out;
    for (std::uint64_t t = 0; t < 32; ++t) EXPECT_EQ(out[t], t < 8 ? 1U : 0U);
  }
}

TEST(warps, reduce_over_lanes) {
  // Of 100 … 131; all but lane 3 take part, and of those below 8 among themselves.
  for (const auto& [text, few, many] :
       std::vector<std::tuple<std::string, std::uint32_t, std::uint32_t>>{
           {"add.u32", 725, 2868},
           {"add.s32", 725, 2868},
           {"min.u32", 100, 108},
           {"max.u32", 107, 131},
           {"min.s32", 100, 108},
           {"max.s32", 107, 131},
           {"and.b32", 100 & 101 & 102 & 104, 0},
           {"or.b32", 111, 255},
           {"xor.b32", 100 ^ 101 ^ 102 ^ 104 ^ 105 ^ 106 ^ 107, 0}}) {
    for (const auto& o : all_schedules()) {
      const auto out =
          run_kernel("setp.eq.u32 %p1, %r0, 3;\n @%p1 bra $L__out;\n"
                     "add.s32 %r4, %r0, 100;\n setp.lt.u32 %p2, %r0, 8;\n"
                     "selp.u32 %r5, 0xf7, 0xffffff00, %p2;\n redux.sync." +
                         text + " %r6, %r4, %r5;\n st.global.u32 [%rd0], %r6;\n$L__out:\n",
                     o)
              .out;
      for (std::uint64_t lane = 0; lane < 32; ++lane)
        EXPECT_EQ(out[lane], lane == 3 ? 0 : lane < 8 ? few : many) << text << lane;
    }
  }
  // As signed numbers −1 is less than 1.
  for (const auto& [text, expected] : std::vector<std::pair<std::string, std::uint64_t>>{
           {"min.s32", 0xffffffff}, {"max.s32", 30}, {"min.u32", 0}, {"max.u32", 0xffffffff}}) {
    for (const std::uint64_t v : run_kernel("sub.s32 %r4, %r0, 1;\n redux.sync." + text +
                                            " %r6, %r4, -1;\n st.global.u32 [%rd0], %r6;\n")
                                     .out)
      EXPECT_EQ(v, expected) << text;
  }
}

TEST(blocks, reduce_at_a_barrier) {
  for (const auto& [how, expected] : std::vector<std::pair<std::string, std::uint64_t>>{
           {"and.pred %p2, 0, %p1", 0}, {"or.pred %p2, 0, %p1", 1}, {"and.pred %p2, 0, !%p3", 1}}) {
    for (const auto& o : all_schedules({.threads = 64})) {
      for (const std::uint64_t v :
           run_kernel("setp.lt.u32 %p1, %r0, 40;\n setp.gt.u32 %p3, %r0, 99;\n bar.red." + how +
                          ";\n selp.u32 %r4, 1, 0, %p2;\n st.global.u32 [%rd0], %r4;\n",
                      o)
               .out)
        EXPECT_EQ(v, expected) << how;
    }
  }
  for (const std::uint64_t v : run_kernel("setp.lt.u32 %p1, %r0, 40;\n bar.red.popc.u32 %r4, 0, "
                                          "%p1;\n st.global.u32 [%rd0], %r4;\n",
                                          {.threads = 64})
                                   .out)
    EXPECT_EQ(v, 40U);
}

TEST(warps, count_a_move_of_several_elements_once) {
  const auto counted = [](const std::string& body) {
    return run_kernel(body).counts.warp_instructions;
  };
  EXPECT_EQ(counted("mov.b64 %rd1, {%r0, %r1};\n mov.b64 {%r2, %r3}, %rd1;\n"), counted("") + 2);
}

TEST(blocks, are_counted) {
  const auto r = run_kernel("mov.u32 %r4, common;\n shl.b32 %r5, %r0, 7;\n add.s32 %r4, %r4, "
                            "%r5;\n st.shared.u32 [%r4], %r0;\n"
                            "bar.sync 0;\n st.global.u64 [%rd0], %rd1;\n",
                            {.blocks = 3, .threads = 32, .shared_bytes = 4096});
  // Seven instructions come before the body, and the return after it.
  EXPECT_EQ(r.counts.warp_instructions, 3U * (7 + 6 + 1));
  EXPECT_EQ(r.counts.lane_instructions, 32 * r.counts.warp_instructions);
  EXPECT_EQ(r.counts.shared_requests, 3U);
  EXPECT_EQ(r.counts.shared_wavefronts, 3U * 32) << "all lanes in one bank";
  EXPECT_EQ(r.counts.shared_wavefronts_least, 3U);
  EXPECT_EQ(r.counts.global_requests, 3U);
  EXPECT_EQ(r.counts.global_sectors, 3U * 8);
  EXPECT_EQ(r.counts.barriers, 3U);
}

TEST(blocks, find_no_zeros_in_shared_memory) {
  // One byte of the word is written: the others are what they are, and not the same each time.
  const auto out =
      run_kernel("st.shared.u8 [common], %r0;\n ld.shared.u32 %r4, [common];\n st.global.u32 "
                 "[%rd0], %r4;\n",
                 {.blocks = 2, .threads = 1})
          .out;
  EXPECT_NE(out[0] >> 8, 0U);
  EXPECT_NE(out[0], out[1]);
}

TEST(blocks, run_in_any_order_at_random) {
  // Who comes first gets the lowest ticket: in 64 resident blocks that is seldom the order of
  // blocks.
  const auto tickets = [](std::uint64_t seed) {
    return run_kernel("@%p1 ret;\n setp.ne.u32 %p1, %r0, 0;\n mov.u64 %rd1, table;\n @!%p1 "
                      "atom.global.add.u32 %r4, [%rd1], 1;\n"
                      "@!%p1 st.global.u32 [%rd0], %r4;\n",
                      {.blocks = 64,
                       .threads = 1,
                       .how = {.is_random = true, .seed = seed, .resident_blocks = 64}})
        .out;
  };
  EXPECT_NE(tickets(1), tickets(2));
  EXPECT_EQ(tickets(3), tickets(3)) << "the same seed gives the same run";
}

TEST(special_registers, name_the_lanes_around) {
  const auto seen = [](const std::string& name) {
    return run_kernel("{\n .reg .b32 r0;\n mov.u32 r0, " + name +
                          ";\n cvt.u64.u32 %rd1, r0;\n st.global.u64 [%rd0], %rd1;\n}\n",
                      {.threads = 64})
        .out;
  };
  const auto below = seen("%lanemask_lt");
  const auto up_to = seen("%lanemask_le");
  const auto here = seen("%lanemask_eq");
  const auto from = seen("%lanemask_ge");
  const auto above = seen("%lanemask_gt");
  for (std::uint32_t t = 0; t < 64; ++t) {
    const std::uint64_t lane = std::uint64_t{1} << t % 32;
    EXPECT_EQ(here[t], lane);
    EXPECT_EQ(below[t], lane - 1);
    EXPECT_EQ(up_to[t], 2 * lane - 1);
    EXPECT_EQ(from[t], 0xffffffff ^ (lane - 1));
    EXPECT_EQ(above[t], 0xffffffff ^ (2 * lane - 1));
  }
}

TEST(coverage, knows_what_was_never_executed) {
  const auto r =
      run_kernel("setp.gt.u32 %p1, %r0, 100;\n @!%p1 bra $L__out;\n mov.u32 %r4, 0;\n$L__out:\n");
  ASSERT_EQ(r.executed.size(), 11U);
  EXPECT_EQ(std::ranges::count(r.executed, 0U, &instruction_counts::times), 1);
  EXPECT_EQ(r.executed[9].times, 0U);
}

// --- the checks: each fires ---

TEST(check, of_alignment) {
  EXPECT_TRUE(says(fault_of("ld.global.u32 %r4, [%rd0+2];\n"), "not a multiple"));
  EXPECT_TRUE(says(fault_of("ld.global.v2.u32 {%r4, %r5}, [%rd0+4];\n"), "not a multiple"));
  EXPECT_EQ(fault_of("ld.global.u32 %r4, [%rd0+4];\n"), "");
}

TEST(check, of_the_borders_of_memory) {
  EXPECT_TRUE(says(fault_of("ld.global.u64 %rd1, [%rd7+256];\n"), "where no device memory is"));
  EXPECT_TRUE(says(fault_of("ld.global.u64 %rd1, [%rd7+-8];\n"), "where no device memory is"));
  EXPECT_TRUE(says(fault_of("mov.u64 %rd1, 0;\n st.global.u32 [%rd1], %r0;\n"),
                   "where no device memory is"));
  EXPECT_TRUE(says(fault_of("ld.shared.u32 %r4, [common+1024];\n"), "beyond shared memory"));
  EXPECT_TRUE(
      says(fault_of("mov.u32 %r4, 0;\n st.shared.u32 [%r4], %r0;\n"), "beyond shared memory"));
  EXPECT_TRUE(says(fault_of("ld.param.u64 %rd1, [n+8];\n"), "beyond the arguments"));
}

TEST(check, of_address_spaces) {
  int on_host = 0;
  EXPECT_TRUE(
      says(fault_of("mov.u64 %rd1, " + std::to_string(reinterpret_cast<std::uintptr_t>(&on_host)) +
                    ";\n ld.global.u32 %r4, [%rd1];\n"),
           "where no device memory is"));
  EXPECT_TRUE(
      says(fault_of("mov.u32 %r4, common;\n cvt.u64.u32 %rd1, %r4;\n ld.u32 %r5, [%rd1];\n"),
           "where no device memory is"))
      << "an address in shared memory, used as a generic one";
}

TEST(check, of_freed_memory) {
  device_memory memory;
  const std::uint64_t at = memory.allocate(64);
  EXPECT_NE(memory.find(at, 64), nullptr);
  EXPECT_EQ(memory.find(at, 65), nullptr);
  EXPECT_TRUE(memory.free(at));
  EXPECT_EQ(memory.find(at, 1), nullptr);
  EXPECT_FALSE(memory.free(at));
}

TEST(check, of_races_in_shared_memory) {
  const std::string write = "shl.b32 %r4, %r0, 2;\n mov.u32 %r5, common;\n add.s32 %r4, %r4, "
                            "%r5;\n st.shared.u32 [%r4], %r0;\n";
  const std::string read = "sub.s32 %r6, 124, %r4;\n add.s32 %r6, %r6, %r5;\n add.s32 %r6, %r6, "
                           "%r5;\n ld.shared.u32 %r7, [%r6];\n";
  const std::string overwrite = "st.shared.u32 [%r6], %r7;\n";
  EXPECT_EQ(fault_of(write + "bar.sync 0;\n" + read), "");
  EXPECT_EQ(fault_of(write + "bar.warp.sync -1;\n" + read), "");
  EXPECT_TRUE(says(fault_of(write + read), "reads what was written by"));
  EXPECT_TRUE(
      says(fault_of(write + "bar.warp.sync -1;\n" + read, {.threads = 64, .shared_bytes = 128}),
           "beyond shared"));
  EXPECT_EQ(fault_of(write + "bar.sync 0;\n" + read + "bar.sync 0;\n" + overwrite), "");
  EXPECT_EQ(fault_of(write + "bar.sync 0;\n" + read + overwrite), "")
      << "each lane overwrites what it alone has read";
  EXPECT_TRUE(says(
      fault_of(write + "bar.sync 0;\n" + read +
               "st.shared.u32 [%r4+0], %r3;\n add.s32 %r3, %r3, 1;\n st.shared.u32 [%r4], %r3;\n"),
      "writes what was read by"));
  EXPECT_TRUE(says(fault_of("st.shared.u32 [common], %r0;\n"), "writes what was written by"));
  EXPECT_EQ(fault_of("mov.u32 %r4, 3;\n st.shared.u32 [common], %r4;\n"), "")
      << "all lanes write the same";
}

TEST(check, of_races_by_the_byte) {
  // Neighbouring bytes of a word belong to different lanes.
  EXPECT_EQ(fault_of("mov.u32 %r4, common;\n add.s32 %r4, %r4, %r0;\n st.shared.u8 [%r4], %r0;\n "
                     "ld.shared.u8 %rs1, [%r4];\n"),
            "");
  EXPECT_TRUE(says(fault_of("mov.u32 %r4, common;\n add.s32 %r4, %r4, %r0;\n st.shared.u8 [%r4], "
                            "%r0;\n and.b32 %r4, %r4, -4;\n"
                            "ld.shared.u32 %r5, [%r4];\n"),
                   "a race"));
}

TEST(check, of_races_with_what_a_strong_access_of_the_same_thread_followed) {
  const std::string zero = "setp.eq.u32 %p1, %r0, 0;\n mov.u32 %r4, 0;\n @%p1 st.shared.u32 "
                           "[common], %r4;\n";
  const std::string add = "atom.shared.add.u32 %r5, [common], 1;\n";
  EXPECT_EQ(fault_of(zero + "bar.sync 0;\n" + add), "");
  EXPECT_TRUE(says(fault_of(zero + add), "writes what was written by thread 0"));
  EXPECT_TRUE(says(fault_of(zero + "@%p1 " + add + "ld.relaxed.gpu.shared.u32 %r5, [common];\n"),
                   "reads what was written by thread 0"));
  const std::string read = "setp.eq.u32 %p1, %r0, 0;\n @%p1 ld.global.u32 %r4, [%rd7];\n @%p1 "
                           "ld.relaxed.gpu.global.u32 %r4, [%rd7];\n";
  EXPECT_TRUE(says(fault_of(read + "@!%p1 atom.global.add.u32 %r5, [%rd7], 1;\n"),
                   "writes what was read by thread 0"));
  // Blocks run in turn.
  EXPECT_TRUE(says(fault_of("setp.eq.u32 %p1, %r3, 0;\n mov.u32 %r4, 0;\n @%p1 st.global.u32 "
                            "[%rd7], %r4;\n atom.global.add.u32 %r5, [%rd7], 1;\n",
                            {.blocks = 2, .threads = 1}),
                   "writes what was written by"));
}

TEST(check, of_races_that_readers_of_the_writers_warp_stand_before) {
  const std::string body =
      "setp.eq.u32 %p1, %r0, 0;\n @%p1 st.shared.u32 [common], %r0;\n bar.sync "
      "0;\n setp.ge.u32 %p2, %r0, 32;\n or.pred %p2, %p1, %p2;\n @%p2 "
      "ld.shared.u32 %r4, [common];\n BARRIER;\n setp.eq.u32 %p3, %r0, 34;\n "
      "@%p3 st.shared.u32 [common], %r0;\n";
  const auto with = [&](const std::string& barrier) {
    std::string text = body;
    return text.replace(text.find("BARRIER"), 7, barrier);
  };
  EXPECT_EQ(fault_of(with("bar.sync 0"), {.threads = 64}), "");
  EXPECT_TRUE(says(fault_of(with("bar.warp.sync -1"), {.threads = 64}),
                   "writes what was read by thread 0"));
}

TEST(check, of_races_that_only_a_part_of_a_warp_orders) {
  // Lanes 0 … 15 wait for each other; lane 16 does not.
  const std::string body =
      "setp.lt.u32 %p1, %r0, 16;\n setp.eq.u32 %p2, %r0, LANE;\n setp.eq.u32 %p3, %r0, 0;\n"
      "@%p2 st.shared.u32 [common], %r0;\n @%p1 bar.warp.sync 0xffff;\n @%p3 ld.shared.u32 %r4, "
      "[common];\n";
  const auto with_lane = [&](const std::string& lane) {
    std::string text = body;
    return text.replace(text.find("LANE"), 4, lane);
  };
  EXPECT_EQ(fault_of(with_lane("15")), "");
  EXPECT_TRUE(says(fault_of(with_lane("16")), "a race"));
}

TEST(check, of_races_in_global_memory) {
  EXPECT_TRUE(
      says(fault_of("st.global.u32 [%rd7], %r3;\n", {.blocks = 2, .threads = 1}), "of block 0"));
  EXPECT_TRUE(says(fault_of("ld.global.u32 %r4, [%rd7];\n setp.eq.u32 %p1, %r3, 1;\n add.s32 %r4, "
                            "%r4, 1;\n @%p1 st.global.u32 [%rd7], %r4;\n",
                            {.blocks = 2, .threads = 1}),
                   "writes what was read by"));
  EXPECT_EQ(fault_of("atom.global.add.u32 %r4, [%rd7], 1;\n ld.relaxed.gpu.global.u32 %r5, "
                     "[%rd7];\n st.relaxed.gpu.global.u32 [%rd7], %r5;\n",
                     {.blocks = 2, .threads = 64}),
            "");
  EXPECT_TRUE(
      says(fault_of("st.global.u32 [%rd7], %r0;\n bar.sync 0;\n", {.threads = 64}), "a race"));
  EXPECT_EQ(fault_of("setp.eq.u32 %p1, %r0, 40;\n @%p1 st.global.u32 [%rd7], %r0;\n bar.sync 0;\n "
                     "ld.global.u32 %r4, [%rd7];\n",
                     {.threads = 64}),
            "");
}

TEST(check, of_loads_without_coherence) {
  EXPECT_TRUE(says(fault_of("st.global.u64 [%rd0], %rd1;\n ld.global.nc.u64 %rd2, [%rd0];\n"),
                   "what this kernel writes"));
  EXPECT_TRUE(says(fault_of("ld.global.nc.u64 %rd2, [%rd0];\n st.global.u64 [%rd0], %rd1;\n"),
                   "without asking for coherence"));
  EXPECT_EQ(fault_of("ld.global.nc.u64 %rd2, [%rd0];\n"), "");
}

TEST(check, of_shared_memory_that_nobody_wrote) {
  EXPECT_TRUE(says(fault_of("ld.shared.u32 %r4, [common];\n"), "before it is written"));
  EXPECT_TRUE(says(
      fault_of(
          "st.shared.u32 [common], 1;\n bar.sync 0;\n ld.shared.v2.u32 {%r4, %r5}, [common];\n"),
      "before it is written"));
  EXPECT_EQ(fault_of("mov.u32 %r4, 1;\n st.shared.u8 [common], %r4;\n bar.sync 0;\n ld.shared.u32 "
                     "%r5, [common];\n"),
            "")
      << "a part of the word";
  EXPECT_TRUE(says(fault_of("setp.eq.u32 %p1, %r1, 0;\n @%p1 st.shared.u32 [common], %r1;\n "
                            "ld.shared.u32 %r5, [common];\n",
                            {.blocks = 2, .threads = 1}),
                   "block 1"))
      << "what the block before left there";
}

TEST(check, of_masks) {
  EXPECT_TRUE(says(fault_of("redux.sync.add.u32 %r4, %r0, 0xfffe;\n"), "not in its own mask"));
  EXPECT_TRUE(says(fault_of("vote.sync.any.pred %p2, %p1, 0xfffe;\n"), "not in its own mask"));
  EXPECT_TRUE(says(fault_of("setp.lt.u32 %p1, %r0, 8;\n @!%p1 bra $L__out;\n shfl.sync.idx.b32 "
                            "%r4, %r0, 9, 31, 0xff;\n$L__out:\n"),
                   "lane 9, which does not take part"));
}

TEST(check, of_lanes_that_never_come) {
  const std::string some =
      "setp.lt.u32 %p1, %r0, 8;\n @!%p1 bra $L__other;\n bar.warp.sync -1;\n bra.uni $L__out;\n"
      "$L__other:\n bar.warp.sync -1;\n add.s32 %r4, %r4, 1;\n$L__out:\n";
  EXPECT_TRUE(says(fault_of(some), "deadlock"));
  EXPECT_TRUE(says(fault_of("mov.u32 %r4, -1;\n setp.lt.u32 %p1, %r0, 8;\n @%p1 mov.u32 %r4, "
                            "0xff;\n bar.warp.sync %r4;\n"),
                   "different masks"));
}

TEST(check, of_barriers_that_not_all_reach) {
  EXPECT_TRUE(says(
      fault_of("setp.lt.u32 %p1, %r0, 32;\n @!%p1 bra $L__other;\n bar.sync 0;\n bra.uni $L__out;\n"
               "$L__other:\n bar.sync 0;\n$L__out:\n",
               {.threads = 64}),
      "different barriers"));
  EXPECT_TRUE(says(
      fault_of("setp.lt.u32 %p1, %r0, 40;\n @%p1 bar.sync 0;\n bar.sync 0;\n", {.threads = 64}),
      "different barriers"));
}

TEST(check, of_traps_and_endless_loops) {
  EXPECT_TRUE(
      says(fault_of("setp.eq.u32 %p1, %r0, 3;\n @%p1 trap;\n"), "thread 3: a trap at body.cu:7"));
  EXPECT_TRUE(says(fault_of("$L__again:\n bra.uni $L__again;\n"), "has not ended"));
}

TEST(check, of_launches) { EXPECT_TRUE(says(fault_of("", {.threads = 257}), "allows 256")); }

TEST(check, of_unknown_instructions) {
  for (const std::string body :
       {"frobnicate.u32 %r4, %r5;\n", "add.s32.sat %r4, %r5, %r6;\n", "ld.local.u32 %r4, [%rd1];\n",
        "bar.sync 1;\n", "shfl.down.b32 %r4, %r5, 1, 31;\n",
        "atom.global.add.f32 %f1, [%rd0], %f2;\n", "call.uni something;\n",
        "mov.u32 %r4, %clock;\n", "add.s32 %r4, %r99, 1;\n", "bra $L__nowhere;\n",
        "red.global.add.u32 [%rd0], %r1, %r2;\n", "cp.async.ca.shared.global [%r1], [%rd1], 4;\n"})
    EXPECT_THROW(static_cast<void>(run_kernel(body)), std::runtime_error) << body;
  EXPECT_THROW(static_cast<void>(parse(".version 9.0\n.func f() { ret; }\n")), std::runtime_error);
}

TEST(a_barrier_left_out, is_noticed) {
  const std::string body =
      "shl.b32 %r4, %r0, 2;\n mov.u32 %r5, common;\n add.s32 %r4, %r4, %r5;\n st.shared.u32 [%r4], "
      "%r0;\n"
      "bar.sync 0;\n ld.shared.u32 %r6, [common];\n bar.sync 0;\n st.shared.u32 [%r4], %r6;\n";
  launch_options o{.threads = 64};
  EXPECT_EQ(fault_of(body, o), "");
  for (const std::size_t barrier : {0U, 1U}) {
    o.left_out = {barrier};
    EXPECT_TRUE(says(fault_of(body, o), "a race")) << barrier;
  }
}

} // namespace l3::ptx::test
