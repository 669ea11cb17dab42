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
#include "tests/gpu/decode/decode_textbook.hpp"
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
  const textbook_board read = textbook_decode(b);
  if (!read.sound) return {static_cast<std::uint8_t>(kind | 8), b.packet};
  little_endian_writer header;
  little_endian_writer footer;
  const auto put_big = [](little_endian_writer& to, std::uint32_t word) {
    to.put(word >> 8, 1);
    to.put(word & 0xff, 1);
  };
  for (const std::uint16_t word : predicted_header(e.spill, e.number, b.slot, e.reference_time))
    put_big(header, word);
  for (int w = 0; w < 6; ++w) put_big(footer, 0x6000);
  expected_board out{kind, {}};
  little_endian_writer data;
  const bytes sent_header(b.packet.begin(), b.packet.begin() + 12);
  const bytes sent_footer(b.packet.end() - 12, b.packet.end());
  if (sent_header != header.out) {
    out.form |= 2;
    data.put(sent_header);
  }
  if (sent_footer != footer.out) {
    out.form |= 4;
    data.put(sent_footer);
  }
  if (codec == codec_id::strong) {
    out.form |= 64;
    bytes group(strong::max_group_bytes);
    group.resize(strong::encode_group(read.samples.data(), strong_shape(b.kind), group.data()));
    data.put(group);
  } else {
    for (std::size_t r = 0; r < 16; ++r) data.put(textbook_pack(read.samples.data() + 64 * r));
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
