// SPDX-License-Identifier: Apache-2.0
#include "transport/link/zmtp_opening.hpp"

#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace l3 {
namespace {

using namespace std::string_literals;
using verdict = zmtp_opening::verdict;

std::string greeting(const std::string& mechanism = "NULL", char version = 3) {
  std::string text = "\xff"s + std::string(8, '\0') + "\x7f" + version + '\0' + mechanism;
  text.resize(64);
  return text;
}

std::string property(const std::string& name, const std::string& value) {
  return static_cast<char>(name.size()) + name + std::string(3, '\0') +
         static_cast<char>(value.size()) + value;
}

std::string ready(const std::string& properties) {
  const std::string body = "\x05READY" + properties;
  return "\x04"s + static_cast<char>(body.size()) + body;
}

/// As it comes in one piece, and byte by byte.
verdict judge(const std::string& text) {
  const auto bytes = std::as_bytes(std::span(text));
  const verdict whole = zmtp_opening().read(bytes);
  zmtp_opening slow;
  verdict last = verdict::unfinished;
  for (std::size_t i = 0; i < bytes.size() && last == verdict::unfinished; ++i)
    last = slow.read(bytes.subspan(i, 1));
  EXPECT_EQ(whole, last);
  return whole;
}

const std::string dealer = property("Socket-Type", "DEALER");

TEST(zmtp_opening, lets_in_who_chooses_no_name) {
  EXPECT_EQ(judge(greeting()), verdict::unfinished);
  EXPECT_EQ(judge(greeting() + ready(dealer + property("Identity", ""))), verdict::fine);
  EXPECT_EQ(judge(greeting() + ready(dealer) + "and what follows"), verdict::fine);
  EXPECT_EQ(judge(greeting() + ready(dealer).substr(0, 20)), verdict::unfinished);
}

TEST(zmtp_opening, refuses_a_name_however_it_is_spelled_and_whatever_stands_before_it) {
  EXPECT_EQ(judge(greeting() + ready(dealer + property("Identity", "name"))), verdict::named);
  EXPECT_EQ(judge(greeting() + ready(property("Identity", "\0\1\2\3\4"s) + dealer)),
            verdict::named);
  EXPECT_EQ(judge(greeting() + ready(property("iDENTITY", "x"))), verdict::named);
  EXPECT_EQ(judge(greeting() + ready(property("Identity", "") + property("Identity", "x"))),
            verdict::named);
}

TEST(zmtp_opening, refuses_older_versions_which_begin_with_a_name) {
  EXPECT_EQ(judge("\1\0"s), verdict::foreign); // of version 1: no name
  EXPECT_EQ(judge("\6\0\0\1\2\3\4"s), verdict::foreign);
  EXPECT_EQ(judge("\xff"s + std::string(8, '\0') + "\x7e"), verdict::foreign);
  EXPECT_EQ(judge(greeting("NULL", 1)), verdict::foreign);
  EXPECT_EQ(judge(greeting("NULL", 2)), verdict::foreign);
}

TEST(zmtp_opening, takes_a_ready_of_512_bytes_and_none_that_is_longer) {
  const auto of_length = [](std::size_t bytes) {
    std::string body = "\x05READY" + dealer;
    while (bytes - body.size() > 255) body += property("X-y", std::string(100, 'z'));
    const std::size_t rest = bytes - body.size() - property("X-y", "").size();
    body += property("X-y", std::string(rest, 'z'));
    EXPECT_EQ(body.size(), bytes);
    return "\x06"s + std::string(6, '\0') + static_cast<char>(bytes >> 8) +
           static_cast<char>(bytes & 255) + body;
  };
  EXPECT_EQ(judge(greeting() + of_length(512)), verdict::fine);
  EXPECT_EQ(judge(greeting() + of_length(513)), verdict::foreign);
}

TEST(zmtp_opening, refuses_what_is_no_ready) {
  EXPECT_EQ(judge(greeting() + "\0\0"s), verdict::foreign);
  EXPECT_EQ(judge(greeting() + "\x05\x06\x05READY"), verdict::foreign); // more is to follow
  EXPECT_EQ(judge(greeting() + "\x04\x07\x05" + "ERROR\0"s), verdict::foreign);
  EXPECT_EQ(judge(greeting() + ready("\x08Identity")), verdict::foreign);
  EXPECT_EQ(judge(greeting() + ready("\x08Identity\0\0\0\x09name"s)), verdict::foreign);
  EXPECT_EQ(judge(greeting() + "\x06\0\0\0\0\0\0\2\1"s), verdict::foreign); // longer than any
  EXPECT_EQ(judge(greeting() + "\x06" + std::string(8, '\xff')), verdict::foreign);
}

TEST(zmtp_opening, ends_with_the_greeting_where_there_are_keys) {
  EXPECT_EQ(judge(greeting("CURVE") + "\x04\x05xxxxx"), verdict::fine);
  EXPECT_EQ(judge(greeting("NULLx")), verdict::fine); // libzmq refuses it
}

} // namespace
} // namespace l3
