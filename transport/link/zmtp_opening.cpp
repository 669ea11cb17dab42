// SPDX-License-Identifier: Apache-2.0
#include "transport/link/zmtp_opening.hpp"

#include <algorithm>
#include <string_view>

namespace l3 {
namespace {

using namespace std::string_view_literals;

// The greeting: a signature of ten bytes, the version, the mechanism, and what does not matter
// here.
constexpr std::size_t greeting_bytes = 64;
constexpr std::size_t signature_end = 9, version_at = 10, mechanism_at = 12, mechanism_bytes = 20;
constexpr std::uint8_t oldest_version = 3;
// A frame: flags, length, content.
constexpr std::uint8_t long_flag = 2, command_flag = 4;
constexpr std::size_t short_head = 2, long_head = 9;
/// ZeroMQ's own has 40 bytes.
constexpr std::size_t longest_ready = 512;
constexpr std::string_view ready = "\x05READY";
constexpr std::size_t value_head = 4;

std::uint8_t byte_of(std::string_view text, std::size_t at) {
  return static_cast<std::uint8_t>(text[at]);
}

std::uint64_t number_of(std::string_view big_endian) {
  std::uint64_t number = 0;
  for (const char c : big_endian) number = number << 8U | static_cast<std::uint8_t>(c);
  return number;
}

/// Names of properties are the same in small and capital letters.
bool is_identity(std::string_view name) {
  constexpr std::string_view small = "identity";
  return std::ranges::equal(name, small, [](char a, char b) {
    return a == b || (a >= 'A' && a <= 'Z' && a - 'A' + 'a' == b);
  });
}

} // namespace

/// What libzmq takes for an older version is refused as soon as it can be seen.
zmtp_opening::verdict zmtp_opening::judge_greeting() const {
  const std::string_view h = heard_;
  const bool is_older = (!h.empty() && byte_of(h, 0) != 0xff) ||
                        (h.size() > signature_end && (byte_of(h, signature_end) & 1U) == 0) ||
                        (h.size() > version_at && byte_of(h, version_at) < oldest_version);
  if (is_older) return verdict::foreign;
  if (h.size() < greeting_bytes) return verdict::unfinished;
  const std::string_view mechanism = h.substr(mechanism_at, mechanism_bytes);
  const bool is_plain = mechanism.substr(0, mechanism.find('\0')) == "NULL"sv;
  return is_plain ? verdict::unfinished : verdict::fine;
}

zmtp_opening::verdict zmtp_opening::judge_ready(std::string_view frame) const {
  if (!frame.starts_with(ready)) return verdict::foreign;
  for (frame.remove_prefix(ready.size()); !frame.empty();) {
    const std::size_t name_bytes = byte_of(frame, 0);
    const std::size_t value_at = 1 + name_bytes + value_head;
    if (frame.size() < value_at) return verdict::foreign;
    const std::uint64_t value_bytes = number_of(frame.substr(1 + name_bytes, value_head));
    if (value_bytes > frame.size() - value_at) return verdict::foreign;
    if (is_identity(frame.substr(1, name_bytes)) && value_bytes > 0) return verdict::named;
    frame.remove_prefix(value_at + value_bytes);
  }
  return verdict::fine;
}

zmtp_opening::verdict zmtp_opening::read(std::span<const std::byte> bytes) {
  const std::size_t room = greeting_bytes + long_head + longest_ready - heard_.size();
  heard_.append(reinterpret_cast<const char*>(bytes.data()), std::min(bytes.size(), room));
  if (const verdict v = judge_greeting(); v != verdict::unfinished) return v;
  const std::string_view frame =
      std::string_view(heard_).substr(std::min(heard_.size(), greeting_bytes));
  if (frame.empty()) return verdict::unfinished;
  if ((byte_of(frame, 0) & ~long_flag) != command_flag) return verdict::foreign;
  const std::size_t head = (byte_of(frame, 0) & long_flag) != 0 ? long_head : short_head;
  if (frame.size() < head) return verdict::unfinished;
  const std::uint64_t length = number_of(frame.substr(1, head - 1));
  if (length > longest_ready) return verdict::foreign;
  if (frame.size() - head < length) return verdict::unfinished;
  return judge_ready(frame.substr(head, length));
}

} // namespace l3
