// SPDX-License-Identifier: Apache-2.0
#include "transport/link/session_token.hpp"

#include <vector>

#include <gtest/gtest.h>

#include "transport/format/endian.hpp"

namespace l3 {
namespace {

/// hashlib.blake2b(bytes(range(16)), digest_size=16).digest()[:8] in Python.
TEST(session_token, its_session_is_its_hash) {
  session_token token{};
  for (std::uint8_t i = 0; i < token.size(); ++i) token[i] = i;
  EXPECT_EQ(session_of(token), 0x19e72f72917b47f9);
  token[15] ^= 1;
  EXPECT_NE(session_of(token), 0x19e72f72917b47f9);
}

TEST(session_token, is_drawn_anew_each_time) {
  const auto token = draw_session_token();
  EXPECT_NE(token, draw_session_token());
  EXPECT_NE(session_of(token), 0U);
}

TEST(session_token, a_hello_proves_its_session_or_does_not) {
  const auto token = draw_session_token();
  link_header header;
  header.session = session_of(token);
  header.sequence = 1;
  link_proof_body proof;
  proof.token = token;
  std::vector<std::byte> body(sizeof proof);
  store(body.data(), proof);
  EXPECT_EQ(read_hello(header, body), session_claim::proven);
  EXPECT_EQ(read_hello(header, std::span(body).first(sizeof(link_hello_body))),
            session_claim::unproven);
  EXPECT_EQ(read_hello(header, std::span(body).first(23)), std::nullopt);
  ++header.session;
  EXPECT_EQ(read_hello(header, body), session_claim::false_token);
  header.sequence = 0;
  EXPECT_EQ(read_hello(header, body), std::nullopt);
}

} // namespace
} // namespace l3
