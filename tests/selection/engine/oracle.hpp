// SPDX-License-Identifier: Apache-2.0
// Packs events by docs/formats.md, section 7. The code follows that page byte by byte and shares
// nothing with the kernels but the portable form of the strong codec, which has tests and a reader
// of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "gpu/codec/strong.hpp"
#include "tests/gpu/codec/textbook.hpp"
#include "tests/gpu/decode/make_boards.hpp"
#include "transport/format/block.hpp"

namespace l3::test {

class little_endian_writer {
public:
  void put(std::uint64_t value, int n) {
    for (int i = 0; i < n; ++i) out.push_back(static_cast<std::byte>(value >> (8 * i)));
  }
  void put(const bytes& b) { out.insert(out.end(), b.begin(), b.end()); }
  void pad(std::size_t multiple) {
    while (out.size() % multiple != 0) out.push_back(std::byte{0});
  }
  bytes out;
};

/// The words of a predicted header, from the page.
inline std::vector<std::uint16_t> predicted_header(std::uint32_t spill, std::uint32_t number,
                                                   std::uint32_t slot, std::uint32_t reference) {
  std::vector<std::uint16_t> h;
  for (const std::uint32_t payload :
       {0U, 0U, reference >> 14, reference & 0x3fffU,
        (spill & 0xffU) << 6 | (spill >> 8) << 5 | slot, number & 0x3fffU}) {
    h.push_back(static_cast<std::uint16_t>(0xc000U | payload));
  }
  return h;
}

inline strong::shape strong_shape(board_kind kind) {
  return kind == board_kind::sampling_500_mhz ? strong::shape::long_ones
                                              : strong::shape::short_ones;
}

struct expected_board {
  std::uint8_t form = 0;
  bytes data;
};

inline expected_board expect_board(const made_event& e, const made_board& b, codec_id codec) {
  const std::uint8_t kind = b.kind == board_kind::sampling_500_mhz ? 1 : 0;
  const expected_board raw{static_cast<std::uint8_t>(kind | 8), b.packet};
  if (b.opaque || b.packet.size() != 2072) return raw;
  const auto word = [&](std::size_t i) {
    return static_cast<std::uint16_t>(std::to_integer<unsigned>(b.packet[2 * i]) << 8 |
                                      std::to_integer<unsigned>(b.packet[2 * i + 1]));
  };
  const auto part = [&](std::size_t first, std::size_t words) {
    const auto at = b.packet.begin() + static_cast<std::ptrdiff_t>(2 * first);
    return bytes(at, at + static_cast<std::ptrdiff_t>(2 * words));
  };
  for (std::size_t i = 0; i < 1036; ++i) {
    const unsigned tag = word(i) >> 14;
    const bool right = i < 6 ? tag == 3 : i < 1030 ? tag == 2 : word(i) >> 12 == 6;
    if (!right) return raw;
  }
  expected_board out{kind, {}};
  const auto predicted = predicted_header(e.spill, e.number, b.slot, e.reference_time);
  bool header_right = true;
  bool footer_right = true;
  for (std::size_t w = 0; w < 6; ++w) {
    header_right = header_right && word(w) == predicted[w];
    footer_right = footer_right && word(1030 + w) == 0x6000;
  }
  little_endian_writer data;
  if (!header_right) {
    out.form |= 2;
    data.put(part(0, 6));
  }
  if (!footer_right) {
    out.form |= 4;
    data.put(part(1030, 6));
  }
  std::uint16_t samples[16][64];
  for (std::size_t r = 0; r < 16; ++r) {
    for (std::size_t s = 0; s < 64; ++s)
      samples[r][s] = word(6 + sample_word(b.kind, r, s)) & 0x3fff;
    if (codec == codec_id::koto) data.put(textbook_pack(samples[r]));
  }
  if (codec == codec_id::strong) {
    out.form |= 64;
    bytes group(strong::max_group_bytes);
    group.resize(strong::encode_group(samples[0], strong_shape(b.kind), group.data()));
    data.put(group);
  }
  out.data = data.out;
  return out;
}

/// The packed event of these boards. Of an event that is limited, `payload` are the bytes at 28
/// to 31 of the head, and `beside` what stands between the tables and the boards' data.
inline bytes expect_event(const made_event& e, const std::vector<expected_board>& boards,
                          const bytes& payload = bytes(4), const bytes& summary = {},
                          const bytes& beside = {}) {
  std::uint32_t flags = e.flags;
  little_endian_writer fragment_table;
  little_endian_writer board_table;
  little_endian_writer data;
  auto board = boards.begin();
  for (const made_fragment& f : e.fragments) {
    fragment_table.put(f.crate, 1);
    fragment_table.put(f.raw ? 1 : 0, 1);
    fragment_table.put(f.boards.size(), 2);
    fragment_table.put(f.content.size(), 4);
    if (f.raw) {
      flags |= 2;
      data.put(f.content);
    }
    for (const made_board& b : f.boards) {
      board_table.put(b.slot, 1);
      board_table.put(board->form, 1);
      board_table.put(board->data.size(), 2);
      data.put(board->data);
      if (b.opaque) flags |= 4;
      if (!b.opaque && (board->form & 8) != 0) flags |= 2;
      ++board;
    }
  }
  little_endian_writer out;
  out.put(0, 4);
  out.put(e.spill, 4);
  out.put(e.number, 4);
  out.put(flags, 2);
  out.put(e.fragments.size(), 2);
  out.put(boards.size(), 4);
  out.put(e.reference_time, 4);
  out.put(summary.size(), 4);
  out.put(payload);
  out.put(fragment_table.out);
  out.put(board_table.out);
  out.pad(8);
  out.put(summary);
  out.put(beside);
  out.put(data.out);
  out.pad(8);
  for (int i = 0; i < 4; ++i)
    out.out[static_cast<std::size_t>(i)] = static_cast<std::byte>(out.out.size() >> (8 * i));
  return out.out;
}

inline bytes expect_event(const made_event& e, codec_id codec = codec_id::koto) {
  std::vector<expected_board> boards;
  for (const made_fragment& f : e.fragments)
    for (const made_board& b : f.boards) boards.push_back(expect_board(e, b, codec));
  return expect_event(e, boards);
}

} // namespace l3::test
