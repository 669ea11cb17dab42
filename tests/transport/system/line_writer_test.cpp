// SPDX-License-Identifier: Apache-2.0
// The writer against a pipe that is read late, never, or no more.
#include "transport/system/line_writer.hpp"

#include <array>
#include <fstream>
#include <string>

#include <fcntl.h>
#include <gtest/gtest.h>

#include "transport/system/file_descriptor.hpp"

namespace l3 {
namespace {

std::string notice(std::uint64_t left_out) { return std::to_string(left_out) + " left out\n"; }

struct pipe_ends {
  file_descriptor reading, writing;

  pipe_ends() {
    std::array<int, 2> ends{};
    EXPECT_EQ(::pipe(ends.data()), 0);
    reading = file_descriptor(ends[0]);
    writing = file_descriptor(ends[1]);
  }
  [[nodiscard]] std::string read_until(const std::string& end) const {
    std::string text;
    std::array<char, 4096> part{};
    while (text.find(end) == std::string::npos) {
      const auto n = ::read(reading.get(), part.data(), part.size());
      if (n <= 0) break;
      text.append(part.data(), static_cast<std::size_t>(n));
    }
    return text;
  }
};

const std::string line = std::string(99, 'x') + '\n';
constexpr int more_than_fit = 10'000; // into the queue and the pipe

TEST(line_writer, writes_all_lines_in_their_order) {
  const pipe_ends pipe;
  line_writer log(pipe.writing.get(), notice);
  for (int n = 0; n < 100; ++n) log.write(std::to_string(n) + '\n');
  log.flush();
  EXPECT_TRUE(log.idle());
  const std::string text = pipe.read_until("\n99\n");
  EXPECT_TRUE(text.starts_with("0\n1\n2\n")) << text;
  EXPECT_EQ(log.left_out(), 0U);
}

TEST(line_writer, leaves_lines_out_when_no_program_reads_and_says_so_when_one_does) {
  const pipe_ends pipe;
  line_writer log(pipe.writing.get(), notice);
  for (int n = 0; n < more_than_fit; ++n) log.write(line);
  const std::uint64_t left_out = log.left_out();
  ASSERT_GT(left_out, 0U);
  EXPECT_FALSE(log.idle());
  const std::string text = pipe.read_until("left out\n");
  EXPECT_EQ(text, [&] {
    std::string all;
    for (std::uint64_t n = left_out; n < more_than_fit; ++n) all += line;
    return all + notice(left_out);
  }());
  log.flush();
  log.write("again\n");
  EXPECT_EQ(pipe.read_until("again\n"), "again\n");
}

TEST(line_writer, ends_beside_a_pipe_that_no_program_reads) {
  const pipe_ends pipe;
  {
    line_writer log(pipe.writing.get(), notice);
    for (int n = 0; n < more_than_fit; ++n) log.write(line);
  }
  SUCCEED();
}

TEST(line_writer, goes_on_when_its_pipe_is_closed_or_its_disk_is_full) {
  pipe_ends pipe;
  pipe.reading = {};
  line_writer log(pipe.writing.get(), notice);
  log.write("one\ntwo\n");
  while (log.left_out() < 2) std::this_thread::yield();
  log.write("three\n");
  EXPECT_EQ(log.left_out(), 3U);
  log.flush();

  const file_descriptor full(::open("/dev/full", O_WRONLY));
  line_writer other(full.get(), notice);
  other.write(line);
  while (other.left_out() < 1) std::this_thread::yield();
}

} // namespace
} // namespace l3
