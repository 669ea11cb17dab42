// SPDX-License-Identifier: Apache-2.0
// Kept batches: right ones, and ones of which a table was changed, as no daemon writes them.
#pragma once

#include <span>
#include <vector>

#include "tests/fuzz/targets/fuzz.hpp"
#include "tests/transport/building/level2.hpp"
#include "transport/file/batch_file.hpp"
#include "transport/format/endian.hpp"

namespace l3::test {

class any_batch {
public:
  explicit any_batch(fuzz_input& in) : in_(in) {
    for (auto n = in_.below(4); n > 0; --n) add_event();
    add_results();
    spoil(batch_.events);
    spoil(batch_.fragments);
    spoil(batch_.pieces);
    spoil(batch_.boards);
    spoil(batch_.results);
  }
  [[nodiscard]] batch_file&& take() { return std::move(batch_); }

private:
  template <class Rows>
  static std::uint32_t size_of(const Rows& rows) {
    return static_cast<std::uint32_t>(rows.size());
  }

  template <class Rows>
  void spoil(Rows& rows) {
    const auto how = in_.below(8);
    if (how == 7) rows.resize(in_.below(2 * size_of(rows) + 2));
    if (how >= 6) in_.damage(std::as_writable_bytes(std::span(rows)));
  }

  void add_event() {
    event_entry e;
    e.spill = in_.byte();
    e.number = 1U + in_.byte();
    e.first_fragment = size_of(batch_.fragments);
    e.first_board = size_of(batch_.boards);
    e.flags = in_.byte();
    e.reference_time = in_.number<std::uint32_t>();
    for (std::uint8_t crate = 0; crate < 3; ++crate)
      if (in_.below(8) != 7) add_fragment({e.spill, e.number}, crate);
    e.fragments = size_of(batch_.fragments) - e.first_fragment;
    e.boards = size_of(batch_.boards) - e.first_board;
    batch_.events.push_back(e);
  }

  void add_fragment(event_key key, std::uint8_t crate) {
    std::vector<board_recipe> boards(in_.below(4));
    for (std::uint32_t b = 0; b < boards.size(); ++b)
      boards[b] = {3 + b, in_.number<std::uint16_t>(), {}, 0};
    auto content = make_fragment(key, boards);
    in_.damage(content);

    fragment_entry f;
    f.first_piece = size_of(batch_.pieces);
    f.piece_bytes = in_.flag() ? 8000 : 64 + 4 * std::uint32_t{in_.byte()};
    f.bytes = size_of(content);
    f.first_board = size_of(batch_.boards);
    f.crate = crate;
    f.raw = in_.below(4) == 3 ? 1 : 0;
    f.boards = static_cast<std::uint16_t>(f.raw != 0 ? 0 : boards.size());
    for (std::uint32_t b = 0; b < f.boards; ++b) {
      board_entry entry;
      entry.event = size_of(batch_.events);
      entry.fragment = size_of(batch_.fragments);
      entry.offset = l2::fragment_header_bytes + b * l2::board_bytes;
      entry.bytes = l2::board_bytes;
      entry.slot = static_cast<std::uint8_t>(boards[b].slot);
      entry.kind = in_.flag() ? board_kind::sampling_500_mhz : board_kind::sampling_125_mhz;
      entry.opaque = in_.below(8) == 7 ? 1 : 0;
      batch_.boards.push_back(entry);
    }
    lay(content, f.piece_bytes);
    batch_.fragments.push_back(f);
  }

  void lay(const bytes& content, std::uint32_t piece_bytes) {
    for (std::size_t from = 0; from < content.size(); from += piece_bytes) {
      const auto part = std::span(content).subspan(from).first(
          std::min<std::size_t>(piece_bytes, content.size() - from));
      batch_.pieces.push_back(size_of(batch_.input));
      batch_.input.insert(batch_.input.end(), part.begin(), part.end());
      batch_.input.resize(round_up(batch_.input.size(), 4));
    }
  }

  void add_results() {
    if (in_.flag()) return;
    batch_.output.resize(in_.byte());
    for (std::size_t e = 0; e < batch_.events.size(); ++e) {
      stored_result r;
      r.offset = in_.byte();
      r.bytes = in_.byte();
      r.kept = static_cast<std::uint8_t>(in_.below(2));
      r.no_room = static_cast<std::uint8_t>(in_.below(2));
      batch_.results.push_back(r);
    }
  }

  fuzz_input& in_;
  batch_file batch_;
};

} // namespace l3::test
