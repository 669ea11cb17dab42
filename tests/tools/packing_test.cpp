// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>
#include <utility>

#include <unistd.h>

#include "tests/tools/temporary_folder.hpp"
#include "tools/pack/byte_stream.hpp"

namespace {

using namespace l3;

const packing_progress quiet = [](std::uint64_t) {};

/// docs/formats.md, section 5, bit by bit.
std::string oracle(const std::vector<std::uint16_t>& samples) {
  std::string out;
  for (std::size_t at = 0; at < samples.size(); at += 64) {
    const auto run = std::span(samples).subspan(at, 64);
    const auto [low, high] = std::minmax_element(run.begin(), run.end());
    const auto bits = static_cast<unsigned>(std::bit_width(static_cast<unsigned>(*high - *low)));
    std::string record(3 + std::size_t{8} * bits, '\0');
    record[0] = static_cast<char>(bits);
    record[1] = static_cast<char>(*low & 0xff);
    record[2] = static_cast<char>(*low >> 8);
    for (unsigned i = 0; i < 64; ++i)
      for (unsigned b = 0; b < bits; ++b)
        if ((static_cast<unsigned>(run[i] - *low) >> b & 1U) != 0) {
          const unsigned bit = i * bits + b;
          record[3 + bit / 8] = static_cast<char>(record[3 + bit / 8] | 1 << bit % 8);
        }
    out += record;
  }
  return out;
}

void pack(const std::filesystem::path& from, const std::filesystem::path& to,
          std::uint32_t samples) {
  byte_input in(from.string());
  byte_output out(to.string(), in);
  pack_stream(in, out, samples, quiet);
  out.close();
}

void unpack(const std::filesystem::path& from, const std::filesystem::path& to,
            std::uint32_t samples) {
  byte_input in(from.string());
  byte_output out(to.string(), in);
  unpack_stream(in, out, samples, quiet);
  out.close();
}

template <class Action>
std::string error_of(const Action& action) {
  try {
    action();
  } catch (const std::exception& e) {
    return e.what();
  }
  return "";
}

RC_GTEST_PROP(packing, gives_the_oracle_and_comes_back, ()) {
  const temporary_folder folder;
  const auto waveforms = *rc::gen::inRange<std::size_t>(0, 20);
  const auto samples = *rc::gen::element(64U, 128U, 256U);
  std::vector<std::uint16_t> values;
  while (values.size() < waveforms * samples) {
    // Each run has its own range, so that every N comes up.
    const auto bits = *rc::gen::inRange(0, 17);
    const auto low = *rc::gen::inRange(0, 65536 - (1 << bits) + 1);
    const auto run = *rc::gen::container<std::vector<int>>(64, rc::gen::inRange(0, 1 << bits));
    for (const auto v : run) values.push_back(static_cast<std::uint16_t>(low + v));
  }
  write_file(folder / "in.u16", values);
  pack(folder / "in.u16", folder / "packed", samples);
  RC_ASSERT(contents(folder / "packed") == oracle(values));
  unpack(folder / "packed", folder / "out.u16", samples);
  RC_ASSERT(contents(folder / "out.u16") == contents(folder / "in.u16"));
}

TEST(packing, every_recording_comes_back) {
  const auto files = recorded_waveforms();
  if (files.empty()) GTEST_SKIP() << "KOTO_L3_WAVEFORMS is not set";
  const temporary_folder folder;
  for (const auto& file : files) {
    pack(file, folder / "packed", samples_of(file));
    const auto bytes = contents(file);
    std::vector<std::uint16_t> values(bytes.size() / 2);
    std::memcpy(values.data(), bytes.data(), bytes.size());
    EXPECT_EQ(contents(folder / "packed"), oracle(values)) << file;
    unpack(folder / "packed", folder / "out.u16", samples_of(file));
    EXPECT_EQ(contents(folder / "out.u16"), bytes) << file;
  }
}

// Longer than any buffer, so that records lie across its end.
TEST(packing, long_files_come_back) {
  const temporary_folder folder;
  std::vector<std::uint16_t> values(std::size_t{64} * 100'000);
  std::uint32_t state = 1;
  for (auto& v : values) {
    state = state * 1664525U + 1013904223U;
    v = static_cast<std::uint16_t>(state >> (16 + state / 64 % 13));
  }
  write_file(folder / "in.u16", values);
  pack(folder / "in.u16", folder / "packed", 64);
  unpack(folder / "packed", folder / "out.u16", 64);
  EXPECT_TRUE(contents(folder / "out.u16") == contents(folder / "in.u16"));
}

TEST(packing, refuses_what_is_no_whole_waveform) {
  const temporary_folder folder;
  write_file(folder / "in.u16", std::vector<std::uint16_t>(64 * 3 + 1));
  const auto error = error_of([&] { pack(folder / "in.u16", folder / "out", 128); });
  EXPECT_NE(error.find("in.u16: offset 256: 130 bytes are left"), std::string::npos) << error;
  EXPECT_FALSE(std::filesystem::exists(folder / "out"));
}

/// 4 MiB are read at a time: a record lies across the border.
TEST(packing, goes_on_behind_each_4_mib) {
  const temporary_folder folder;
  const std::size_t samples = (std::size_t{4} << 20) / sizeof(std::uint16_t) + 64;
  std::vector<std::uint16_t> values(3 * samples / 64 * 64);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<std::uint16_t>(i * i % 10'007);
  const std::string whole(reinterpret_cast<const char*>(values.data()), 2 * values.size());
  for (const std::size_t bytes :
       {std::size_t{4} << 20, (std::size_t{4} << 20) + 128, whole.size()}) {
    const std::string some = whole.substr(0, bytes);
    write_file(folder / "in", std::vector<char>(some.begin(), some.end()));
    pack(folder / "in", folder / "packed", 64);
    unpack(folder / "packed", folder / "out", 64);
    std::ifstream out(folder / "out", std::ios::binary);
    EXPECT_EQ(std::string(std::istreambuf_iterator<char>(out), {}), some) << bytes;
  }
}

TEST(packing, refuses_broken_records_with_their_place) {
  const temporary_folder folder;
  const auto good = oracle(std::vector<std::uint16_t>(64, 7)) + [] {
    std::vector<std::uint16_t> steps(64);
    for (std::uint16_t i = 0; i < 64; ++i) steps[i] = i;
    return oracle(steps);
  }();
  const auto refusal = [&](const std::string& bytes, std::uint32_t samples) {
    write_file(folder / "in", std::vector<char>(bytes.begin(), bytes.end()));
    std::filesystem::remove(folder / "out");
    auto error = error_of([&] { unpack(folder / "in", folder / "out", samples); });
    EXPECT_EQ(std::filesystem::exists(folder / "out"), error.empty());
    return error.substr(std::min(error.size(), error.find("offset")));
  };
  EXPECT_EQ(refusal(good, 64), "");
  EXPECT_EQ(refusal(good, 128), "");
  EXPECT_EQ(refusal(good.substr(0, good.size() - 1), 64),
            "offset 3: the record is truncated: it has 50 of 51 bytes");
  EXPECT_EQ(refusal(good.substr(0, 4), 64),
            "offset 3: the record is truncated: it has 1 of 51 bytes");
  EXPECT_EQ(refusal(good.substr(0, 3) + '\x11', 64),
            "offset 3: a record of N = 17 bits; there are at most 16");
  EXPECT_EQ(refusal(std::string(1, 1) + std::string(10, '\xff'), 64),
            "offset 0: a record with a sample beyond 65535");
  EXPECT_EQ(refusal(good.substr(0, 3), 128),
            "offset 0: the last waveform has 1 of 2 records of its 128 samples");
}

TEST(packing, names_files_that_it_cannot_use) {
  const temporary_folder folder;
  EXPECT_NE(error_of([&] { pack(folder / "none", folder / "out", 64); }).find("cannot read"),
            std::string::npos);
  write_file(folder / "in", std::vector<std::uint16_t>(64));
  EXPECT_NE(error_of([&] { pack(folder / "in", folder / "no/out", 64); }).find("cannot write"),
            std::string::npos);
  EXPECT_NE(error_of([&] { pack(folder / "in", folder / "in", 64); }).find("is the input"),
            std::string::npos);
  EXPECT_EQ(contents(folder / "in").size(), 128U);
}

/// A waveform of 64 flat samples, and the text of a foreign file.
const std::vector<std::uint16_t> flat(64, 7);
const std::vector<char> dear{'d', 'e', 'a', 'r'};
const std::string packed_flat("\0\7\0", 3);

TEST(packing, gives_a_file_its_name_when_it_is_whole) {
  const temporary_folder folder;
  write_file(folder / "in", flat);
  write_file(folder / "out", dear);
  {
    byte_input in((folder / "in").string());
    byte_output out((folder / "out").string(), in);
    pack_stream(in, out, 64, quiet);
    EXPECT_EQ(contents(folder / "out"), "dear") << "not yet closed";
    EXPECT_TRUE(std::filesystem::exists(folder / "out.new"));
    out.close();
    EXPECT_EQ(contents(folder / "out"), packed_flat);
  }
  EXPECT_EQ(contents(folder / "out"), packed_flat) << "what was closed stays";
  EXPECT_FALSE(std::filesystem::exists(folder / "out.new"));
}

TEST(packing, leaves_an_earlier_output_alone_when_it_fails) {
  const temporary_folder folder;
  write_file(folder / "in", std::vector<char>{1}); // a record that is cut off
  write_file(folder / "out", dear);
  std::filesystem::permissions(folder / "out", std::filesystem::perms{0640});
  EXPECT_NE(error_of([&] { unpack(folder / "in", folder / "out", 64); }), "");
  EXPECT_EQ(contents(folder / "out"), "dear");
  EXPECT_FALSE(std::filesystem::exists(folder / "out.new"));

  write_file(folder / "in", flat);
  pack(folder / "in", folder / "out", 64);
  EXPECT_EQ(contents(folder / "out"), packed_flat);
  EXPECT_EQ(std::filesystem::status(folder / "out").permissions(), std::filesystem::perms{0640})
      << "those of the earlier one";
}

TEST(packing, writes_over_what_a_killed_run_left) {
  const temporary_folder folder;
  write_file(folder / "in", flat);
  write_file(folder / "out.new", std::vector<char>(1000, 'x'));
  pack(folder / "in", folder / "out", 64);
  EXPECT_EQ(contents(folder / "out"), packed_flat);
  EXPECT_FALSE(std::filesystem::exists(folder / "out.new"));
}

TEST(packing, replaces_what_a_link_leads_to) {
  const temporary_folder folder;
  std::filesystem::create_directory(folder / "there");
  write_file(folder / "in", flat);
  write_file(folder / "there/a", dear);
  std::filesystem::create_symlink("there/a", folder / "out");
  std::filesystem::create_symlink("out", folder / "out of out");
  std::filesystem::create_symlink("round", folder / "round");
  for (const auto& [link, target] : {std::pair{"out", "there/a"}, {"out of out", "there/a"}}) {
    pack(folder / "in", folder / link, 64);
    EXPECT_TRUE(std::filesystem::is_symlink(folder / link)) << link;
    EXPECT_FALSE(std::filesystem::is_symlink(folder / target)) << link;
    EXPECT_EQ(contents(folder / target), packed_flat) << link;
    write_file(folder / target, dear);
  }
  EXPECT_NE(error_of([&] { pack(folder / "in", folder / "round", 64); }), "");
}

TEST(packing, never_writes_into_its_input) {
  const temporary_folder folder;
  write_file(folder / "in", flat);
  const auto before = contents(folder / "in");
  std::filesystem::create_symlink("in", folder / "a link");
  std::filesystem::create_hard_link(folder / "in", folder / "another name");
  for (const char* out : {"in", "a link", "another name"}) {
    const auto error = error_of([&] { pack(folder / "in", folder / out, 64); });
    EXPECT_NE(error.find("is the input"), std::string::npos) << out << ": " << error;
    EXPECT_EQ(contents(folder / "in"), before) << out;
  }
}

TEST(packing, refuses_a_file_that_is_not_to_be_written) {
  const temporary_folder folder;
  write_file(folder / "in", flat);
  write_file(folder / "out", dear);
  std::filesystem::permissions(folder.path(), std::filesystem::perms{0777});
  std::filesystem::permissions(folder / "out", std::filesystem::perms{0444});
  std::filesystem::permissions(folder / "in", std::filesystem::perms{0444});
  constexpr uid_t nobody = 65534;
  const auto try_it = [&] {
    if (::geteuid() == 0 && ::setuid(nobody) != 0) _exit(2); // root may write everything
    _exit(error_of([&] { pack(folder / "in", folder / "out", 64); }).find("cannot write") ==
                  std::string::npos
              ? 1
              : 0);
  };
  EXPECT_EXIT(try_it(), testing::ExitedWithCode(0), "");
  EXPECT_EQ(contents(folder / "out"), "dear");
}

} // namespace
