// SPDX-License-Identifier: Apache-2.0
// What a peer says first on the output link: the verdict is the same in whatever pieces it comes,
// and a name that libzmq would find is found.
#include <string_view>

#include "tests/fuzz/targets/fuzz.hpp"
#include "transport/link/zmtp_opening.hpp"

namespace l3::test {
namespace {

using verdict = zmtp_opening::verdict;

verdict in_pieces(fuzz_input pieces, std::span<const std::byte> bytes) {
  zmtp_opening opening;
  verdict last = verdict::unfinished;
  while (!bytes.empty() && last == verdict::unfinished) {
    const std::size_t piece = std::min<std::size_t>(1 + pieces.below(40), bytes.size());
    last = opening.read(bytes.first(piece));
    bytes = bytes.subspan(piece);
  }
  return last;
}

} // namespace
} // namespace l3::test

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
  using namespace l3::test;
  constexpr std::size_t greeting = 64;
  const std::span all(reinterpret_cast<const std::byte*>(data), bytes);
  const verdict whole = l3::zmtp_opening().read(all);
  require(in_pieces(fuzz_input(data, bytes), all) == whole, "pieces do not matter");
  if (whole != verdict::fine || bytes <= greeting) return 0;
  const std::string_view behind(reinterpret_cast<const char*>(data) + greeting, bytes - greeting);
  const bool is_plain = std::memcmp(data + 12, "NULL\0", 5) == 0;
  require(!is_plain || behind.substr(1).find("\x05READY") != behind.npos, "it is a READY");
  return 0;
}
