// SPDX-License-Identifier: Apache-2.0
#include "transport/link/session_token.hpp"

#include <cstddef>
#include <span>
#include <stdexcept>

#include <sodium.h>
#include <sys/random.h>

#include "transport/format/endian.hpp"

namespace l3 {
namespace {

constexpr std::size_t hash_bytes = 16;
static_assert(hash_bytes >= crypto_generichash_BYTES_MIN);

} // namespace

std::uint64_t session_of(const session_token& token) {
  std::array<std::byte, hash_bytes> hash{};
  if (crypto_generichash(reinterpret_cast<unsigned char*>(hash.data()), hash.size(), token.data(),
                         token.size(), nullptr, 0) != 0) {
    throw std::runtime_error("libsodium cannot hash");
  }
  return load<std::uint64_t>(hash.data());
}

std::optional<session_claim> read_hello(const link_header& header,
                                        std::span<const std::byte> body) {
  if (header.type != link_message::hello || header.sequence == 0) return std::nullopt;
  if (body.size() == sizeof(link_hello_body)) return session_claim::unproven;
  if (body.size() != sizeof(link_proof_body)) return std::nullopt;
  const bool is_its = session_of(load<link_proof_body>(body.data()).token) == header.session;
  return is_its ? session_claim::proven : session_claim::false_token;
}

session_token draw_session_token() {
  session_token token{};
  do {
    // So few bytes come whole, once the system has any.
    if (::getrandom(token.data(), token.size(), 0) != static_cast<ssize_t>(token.size()))
      throw std::runtime_error("the system gives no random numbers");
  } while (session_of(token) == 0);
  return token;
}

} // namespace l3
