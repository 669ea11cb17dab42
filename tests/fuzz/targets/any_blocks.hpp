// SPDX-License-Identifier: Apache-2.0
// Blocks and files of blocks, right ones with wrong ones between.
#pragma once

#include <vector>

#include "tests/fuzz/targets/fuzz.hpp"
#include "transport/format/block.hpp"
#include "transport/format/crc32c.hpp"
#include "transport/format/endian.hpp"
#include "transport/store/block.hpp"

namespace l3::test {

inline constexpr std::size_t most_payload = 512;

template <class T>
void append(std::vector<std::byte>& to, const T& value) {
  to.resize(to.size() + sizeof value);
  store(to.data() + to.size() - sizeof value, value);
}

inline void append_block(std::vector<std::byte>& to, fuzz_input& in) {
  block_header h;
  h.session = 1 + in.below(2);
  h.sequence = in.byte();
  h.events = in.byte();
  const auto payload = in.bytes(in.number<std::uint16_t>() % most_payload);
  h.payload_bytes = static_cast<std::uint32_t>(payload.size());
  h.payload_crc = crc32c(payload);
  seal_header(h);
  append(to, h);
  to.insert(to.end(), payload.begin(), payload.end());
}

/// Of a store or of a spool: their files are alike.
inline std::vector<std::byte> any_file(fuzz_input& in) {
  std::vector<std::byte> file;
  store_file_header head;
  head.number = 1;
  append(file, head);
  while (!in.empty() && in.below(4) != 3) {
    if (in.flag()) {
      append_block(file, in);
    } else {
      const auto any = in.bytes(in.byte());
      file.insert(file.end(), any.begin(), any.end());
    }
  }
  in.damage(file);
  if (in.flag()) file.resize(in.number<std::uint16_t>() % (file.size() + 1));
  return file;
}

} // namespace l3::test
