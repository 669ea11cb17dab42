// SPDX-License-Identifier: Apache-2.0
#include "transport/store/event_view.hpp"

#include <algorithm>

#include "transport/format/endian.hpp"
#include "transport/format/l2.hpp"
#include "transport/store/koto_record.hpp"
#include "transport/store/strong_group.hpp"

namespace l3 {

namespace {

constexpr std::size_t alignment = 8;
constexpr std::size_t stored_header_bytes = 2 * l2::header_words;
constexpr std::size_t stored_footer_bytes = 2 * l2::footer_words;
constexpr unsigned known_board_forms =
    board_256_samples | board_header_stored | board_footer_stored | board_raw | board_strong;

std::size_t stored_words_bytes(packed_board b) {
  return ((b.form & board_header_stored) != 0 ? stored_header_bytes : 0) +
         ((b.form & board_footer_stored) != 0 ? stored_footer_bytes : 0);
}

/// Whether these bytes are the sixteen KOTO records of a board, and no more.
bool are_koto_records(std::span<const std::byte> data) {
  for (int record = 0; record < l2::waveforms_per_board; ++record) {
    const std::size_t length = koto_record_bytes(data);
    if (length == 0) return false;
    data = data.subspan(length);
  }
  return data.empty();
}

/// The samples of a board, record by record; false if the data is that of no board.
bool unpack_samples(packed_board board, std::span<const std::byte> data, strong_samples& samples) {
  if ((board.form & board_strong) != 0)
    return strong_group_bytes(data) == data.size() && data.size() != 0 &&
           unpack_strong_group(data, (board.form & board_256_samples) != 0, samples);
  if (!are_koto_records(data)) return false;
  waveform w;
  for (unsigned record = 0; record < l2::waveforms_per_board; ++record) {
    const std::size_t length = koto_record_bytes(data);
    unpack_koto_record(data.first(length), w);
    data = data.subspan(length);
    std::ranges::copy(w, samples.begin() + record * w.size());
  }
  return true;
}

std::size_t original_bytes(packed_board b) {
  return (b.form & board_raw) != 0 ? b.bytes : l2::board_bytes;
}

/// Writes the packet of a board that is not raw at `to`.
void rebuild_board(const packed_event& event, packed_board board, std::span<const std::byte> data,
                   std::byte* to) {
  if ((board.form & board_header_stored) != 0) {
    std::memcpy(to, data.data(), stored_header_bytes);
    data = data.subspan(stored_header_bytes);
  } else {
    for (int w = 0; w < l2::header_words; ++w) {
      store_big(to + 2 * w, l2::expected_header_word(w, event.spill, event.number, board.slot,
                                                     event.reference_time));
    }
  }
  std::byte* const samples = to + stored_header_bytes;
  std::byte* const footer = samples + 2 * l2::sample_words;
  if ((board.form & board_footer_stored) != 0) {
    std::memcpy(footer, data.data(), stored_footer_bytes);
    data = data.subspan(stored_footer_bytes);
  } else {
    for (int w = 0; w < l2::footer_words; ++w) store_big(footer + 2 * w, l2::footer_tag);
  }

  const bool wide = (board.form & board_256_samples) != 0;
  const unsigned channels = wide ? 4 : 16;
  const unsigned samples_of_channel = l2::sample_words / channels;
  strong_samples values;
  static_cast<void>(unpack_samples(board, data, values)); // a view is of whole boards only
  for (unsigned channel = 0; channel < channels; ++channel) {
    for (unsigned s = 0; s < samples_of_channel; ++s) {
      const std::size_t word = std::size_t{channels} * s + channel;
      const unsigned value = values[samples_of_channel * channel + s];
      store_big(samples + 2 * word, static_cast<std::uint16_t>(l2::sample_tag | value));
    }
  }
}

} // namespace

std::optional<packed_event_view> packed_event_view::parse(std::span<const std::byte> bytes) {
  packed_event_view view;
  if (bytes.size() < sizeof(packed_event)) return std::nullopt;
  view.header_ = load<packed_event>(bytes.data());
  if (view.header_.bytes < sizeof(packed_event) || view.header_.bytes > bytes.size()) {
    return std::nullopt;
  }
  view.bytes_ = bytes.first(view.header_.bytes);
  if (!view.well_formed()) return std::nullopt;
  return view;
}

packed_fragment packed_event_view::fragment(std::uint32_t index) const {
  return load<packed_fragment>(bytes_.data() + sizeof(packed_event) +
                               index * sizeof(packed_fragment));
}

packed_board packed_event_view::board(std::uint32_t index) const {
  return load<packed_board>(bytes_.data() + sizeof(packed_event) +
                            header_.fragments * sizeof(packed_fragment) +
                            index * sizeof(packed_board));
}

std::span<const std::byte> packed_event_view::summary() const {
  return bytes_.subspan(data_offset() - header_.summary_bytes, header_.summary_bytes);
}

std::size_t packed_event_view::data_offset() const {
  const std::size_t tables = sizeof(packed_event) + header_.fragments * sizeof(packed_fragment) +
                             std::size_t{header_.boards} * sizeof(packed_board);
  return round_up(tables, alignment) + header_.summary_bytes;
}

bool packed_event_view::board_well_formed(packed_board board, std::size_t at) const {
  if ((board.form & ~known_board_forms) != 0) return false;
  if (at + board.bytes > bytes_.size()) return false;
  if ((board.form & board_raw) != 0) return (board.form & board_strong) == 0;
  auto data = bytes_.subspan(at, board.bytes);
  const std::size_t words = stored_words_bytes(board);
  if (data.size() < words) return false;
  data = data.subspan(words);
  if ((board.form & board_strong) == 0) return are_koto_records(data);
  // Only decoding tells whether an encoder wrote a group.
  strong_samples samples;
  return unpack_samples(board, data, samples);
}

bool packed_event_view::well_formed() const {
  if (header_.bytes % alignment != 0 || header_.summary_bytes % alignment != 0) return false;
  if (header_.spill > l2::spill_mask || header_.number == 0) return false;
  std::size_t at = data_offset();
  if (at > bytes_.size()) return false;
  std::uint64_t boards = 0;
  int last_crate = -1;
  for (std::uint32_t i = 0; i < header_.fragments; ++i) {
    const packed_fragment f = fragment(i);
    if (f.crate <= last_crate) return false;
    last_crate = f.crate;
    if (f.bytes > l2::max_fragment_bytes) return false;
    if (boards + f.boards > header_.boards) return false;
    if (f.form == fragment_form::raw) {
      if (f.boards != 0) return false;
      at += f.bytes;
    } else if (f.form == fragment_form::boards) {
      std::size_t original = l2::fragment_header_bytes + l2::fragment_trailer_bytes;
      int last_slot = l2::first_slot - 1;
      for (std::uint32_t j = 0; j < f.boards; ++j) {
        const packed_board b = board(static_cast<std::uint32_t>(boards) + j);
        if (b.slot <= last_slot || b.slot > l2::last_slot) return false;
        last_slot = b.slot;
        if (!board_well_formed(b, at)) return false;
        at += b.bytes;
        original += original_bytes(b);
      }
      if (original != f.bytes) return false;
      boards += f.boards;
    } else {
      return false;
    }
    if (at > bytes_.size()) return false;
  }
  return boards == header_.boards && round_up(at, alignment) == bytes_.size();
}

void rebuild_fragment(const packed_event_view& event, std::uint32_t index,
                      std::vector<std::byte>& out) {
  std::size_t at = event.data_offset();
  std::uint32_t next_board = 0;
  for (std::uint32_t i = 0; i < index; ++i) {
    const packed_fragment before = event.fragment(i);
    if (before.form == fragment_form::raw) at += before.bytes;
    for (std::uint32_t j = 0; j < before.boards; ++j) at += event.board(next_board++).bytes;
  }

  const packed_fragment f = event.fragment(index);
  const auto data = event.bytes().subspan(at);
  if (f.form == fragment_form::raw) {
    out.assign(data.begin(), data.begin() + f.bytes);
    return;
  }
  out.resize(f.bytes);
  std::byte* to = out.data();
  store_big(to, l2::fragment_header(event.header().number));
  to += l2::fragment_header_bytes;
  std::size_t taken = 0;
  for (std::uint32_t j = 0; j < f.boards; ++j) {
    const packed_board b = event.board(next_board + j);
    const auto of_board = data.subspan(taken, b.bytes);
    if ((b.form & board_raw) != 0) {
      std::memcpy(to, of_board.data(), of_board.size());
    } else {
      rebuild_board(event.header(), b, of_board, to);
    }
    to += original_bytes(b);
    taken += b.bytes;
  }
  store_big(to, l2::fragment_trailer);
}

} // namespace l3
