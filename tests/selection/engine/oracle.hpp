// SPDX-License-Identifier: Apache-2.0
// Packs events by docs/formats.md, section 7, and rebuilds the fragments of a packed event. The
// code follows that page byte by byte and shares nothing with the kernels but the portable form of
// the strong codec, which has tests and a reader of its own.
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

inline bytes expect_event(const made_event& e, codec_id codec = codec_id::koto) {
  std::uint32_t flags = e.flags;
  std::uint32_t boards = 0;
  little_endian_writer fragment_table;
  little_endian_writer board_table;
  little_endian_writer data;
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
      ++boards;
      const expected_board x = expect_board(e, b, codec);
      board_table.put(b.slot, 1);
      board_table.put(x.form, 1);
      board_table.put(x.data.size(), 2);
      data.put(x.data);
      if (b.opaque) flags |= 4;
      if (!b.opaque && (x.form & 8) != 0) flags |= 2;
    }
  }
  little_endian_writer out;
  out.put(0, 4);
  out.put(e.spill, 4);
  out.put(e.number, 4);
  out.put(flags, 2);
  out.put(e.fragments.size(), 2);
  out.put(boards, 4);
  out.put(e.reference_time, 4);
  out.put(0, 4);
  out.put(0, 4);
  out.put(fragment_table.out);
  out.put(board_table.out);
  out.pad(8);
  out.put(data.out);
  out.pad(8);
  for (int i = 0; i < 4; ++i)
    out.out[static_cast<std::size_t>(i)] = static_cast<std::byte>(out.out.size() >> (8 * i));
  return out.out;
}

/// The fragments of a packed event, byte for byte, in its order.
inline std::vector<bytes> rebuild_fragments(const std::byte* p) {
  const auto u8 = [&](std::size_t at) { return std::to_integer<std::uint32_t>(p[at]); };
  const auto u16 = [&](std::size_t at) { return u8(at) | u8(at + 1) << 8; };
  const auto u32 = [&](std::size_t at) { return u16(at) | u16(at + 2) << 16; };
  const std::uint32_t spill = u32(4);
  const std::uint32_t number = u32(8);
  const std::uint32_t fragments = u16(14);
  const std::uint32_t reference = u32(20);
  std::size_t board_at = 32 + 8 * fragments;
  std::size_t data_at = (board_at + 4 * u32(16) + 7) / 8 * 8 + u32(24);
  std::vector<bytes> all;
  const auto put_big = [](bytes& to, std::uint32_t value, int n) {
    for (int i = n - 1; i >= 0; --i) to.push_back(static_cast<std::byte>(value >> (8 * i)));
  };
  const auto copy = [&](bytes& to, std::size_t n) {
    to.insert(to.end(), p + data_at, p + data_at + n);
    data_at += n;
  };
  for (std::uint32_t f = 0; f < fragments; ++f) {
    const std::size_t entry = 32 + 8 * f;
    bytes out;
    if (u8(entry + 1) == 1) {
      copy(out, u32(entry + 4));
      all.push_back(out);
      continue;
    }
    put_big(out, 0x3c000000U | (number & 0x3fff), 4);
    for (std::uint32_t b = 0; b < u16(entry + 2); ++b, board_at += 4) {
      const std::uint32_t slot = u8(board_at);
      const std::uint32_t form = u8(board_at + 1);
      if ((form & 8) != 0) {
        copy(out, u16(board_at + 2));
        continue;
      }
      if ((form & 2) != 0) {
        copy(out, 12);
      } else {
        for (const std::uint16_t w : predicted_header(spill, number, slot, reference))
          put_big(out, w, 2);
      }
      bytes footer;
      if ((form & 4) != 0) {
        copy(footer, 12);
      } else {
        for (int w = 0; w < 6; ++w) put_big(footer, 0x6000, 2);
      }
      const board_kind kind =
          (form & 1) != 0 ? board_kind::sampling_500_mhz : board_kind::sampling_125_mhz;
      std::vector<std::uint16_t> words(1024);
      std::uint16_t group[1024];
      if ((form & 64) != 0) {
        const std::uint32_t length = strong::group_bytes(p + data_at, strong::max_group_bytes);
        if (!strong::decode_group(p + data_at, length, strong_shape(kind), group)) return {};
        data_at += length;
        for (std::size_t r = 0; r < 16; ++r)
          for (std::size_t s = 0; s < 64; ++s) words[sample_word(kind, r, s)] = group[64 * r + s];
      }
      for (std::size_t r = 0; r < 16 && (form & 64) == 0; ++r) {
        const auto samples = textbook_unpack(p + data_at);
        data_at += 3 + 8 * u8(data_at);
        for (std::size_t s = 0; s < 64; ++s) words[sample_word(kind, r, s)] = samples[s];
      }
      for (const std::uint16_t w : words) put_big(out, 0x8000U | w, 2);
      out.insert(out.end(), footer.begin(), footer.end());
    }
    put_big(out, 0x24000000U, 4);
    all.push_back(out);
  }
  return all;
}

} // namespace l3::test
