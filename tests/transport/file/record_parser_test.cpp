// SPDX-License-Identifier: Apache-2.0
// Record headers and bodies: good ones pass, each kind of fault has its name, and random bytes do
// no harm.
#include "transport/file/record_parser.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "transport/format/crc32c.hpp"
#include "transport/format/endian.hpp"

namespace l3 {
namespace {

readout two_crates() {
  return {{{7, 2, board_kind::sampling_125_mhz}, {9, 3, board_kind::sampling_500_mhz}}};
}

std::vector<std::byte> event_bytes(std::uint32_t number,
                                   const std::vector<std::pair<std::uint16_t, std::size_t>>& f) {
  std::vector<std::byte> body(event_table_bytes(f.size()));
  store(body.data(), event_body{number, static_cast<std::uint32_t>(f.size()), 1234});
  for (std::size_t i = 0; i < f.size(); ++i) {
    store(body.data() + event_table_bytes(i),
          event_fragment{f[i].first, 0, static_cast<std::uint32_t>(f[i].second)});
    body.resize(body.size() + round_up(f[i].second, 4), static_cast<std::byte>(i + 1));
  }
  return body;
}

TEST(hello_record, refuses_what_no_readout_can_be) {
  hello h;
  const auto bytes = hello_bytes(17, two_crates());
  EXPECT_EQ(parse_hello(std::span(bytes).first(4), h), refused::stream_length);
  EXPECT_EQ(parse_hello(std::span(bytes).first(12), h), refused::stream_length);
  const auto with = [&](std::size_t at, int value) {
    auto b = bytes;
    b[at] = static_cast<std::byte>(value);
    return b;
  };
  EXPECT_EQ(parse_hello(with(4, 0), h), refused::stream_content) << "no crates";
  EXPECT_EQ(parse_hello(with(9, 0), h), refused::stream_content) << "no boards";
  EXPECT_EQ(parse_hello(with(9, 17), h), refused::stream_content) << "too many boards";
  EXPECT_EQ(parse_hello(with(10, 2), h), refused::stream_content) << "unknown kind";
  EXPECT_EQ(parse_hello(with(12, 7), h), refused::stream_content) << "the same crate twice";
}

TEST(event_record, refuses_what_contradicts_itself) {
  event_view event;
  const auto check = [&](std::span<const std::byte> body) {
    return parse_event(body, two_crates(), event);
  };
  EXPECT_EQ(check(event_bytes(0, {{0, 8}})), refused::stream_content) << "event number 0";
  EXPECT_EQ(check(event_bytes(1, {{0, 8}, {1, 8}, {1, 8}})), refused::stream_content)
      << "too many fragments";
  EXPECT_EQ(check(event_bytes(1, {{0, 8}, {0, 8}})), refused::stream_content) << "a crate twice";
  EXPECT_EQ(check(event_bytes(1, {{2, 8}})), refused::stream_content) << "an unknown crate";
  EXPECT_EQ(check(event_bytes(1, {{0, l2::max_fragment_bytes + 4}})), refused::stream_content)
      << "too long";
  const auto body = event_bytes(1, {{0, 8}, {1, 8}});
  EXPECT_EQ(check(std::span(body).first(body.size() - 4)), refused::stream_length);
  EXPECT_EQ(check(std::span(body).first(20)), refused::stream_length);
  auto longer = body;
  longer.resize(longer.size() + 4);
  EXPECT_EQ(check(longer), refused::stream_length);
}

RC_GTEST_PROP(event_record, keeps_to_its_bytes_whatever_they_are,
              (std::vector<std::uint8_t> noise)) {
  auto body = std::vector<std::byte>(sizeof(event_body));
  store(body.data(), event_body{1, *rc::gen::inRange(0U, 4U), 0});
  for (const auto b : noise) body.push_back(static_cast<std::byte>(b & 3));
  event_view event;
  if (parse_event(body, two_crates(), event)) return;
  for (const auto& f : event.fragments) {
    RC_ASSERT(f.bytes.data() >= body.data());
    RC_ASSERT(f.bytes.data() + f.bytes.size() <= body.data() + body.size());
  }
}

} // namespace
} // namespace l3
