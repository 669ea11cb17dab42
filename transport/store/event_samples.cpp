// SPDX-License-Identifier: Apache-2.0
// Decodes the boards of a well-formed packed event to samples.
#include <algorithm>
#include <array>

#include "transport/store/event_view.hpp"
#include "transport/store/koto_record.hpp"

namespace l3 {

namespace {

/// Decodes records of checked length to samples.
void unpack_records(std::uint32_t records, std::span<const std::byte> data,
                    strong_samples& samples) {
  waveform w;
  for (unsigned record = 0; record < l2::waveforms_per_board; ++record) {
    if ((records >> record & 1) == 0) continue;
    const std::size_t length = koto_record_bytes(data);
    unpack_koto_record(data.first(length), w);
    data = data.subspan(length);
    std::ranges::copy(w, samples.begin() + record * w.size());
  }
}

/// Whether each sample fits its word; otherwise a rebuilt fragment would have wrong words.
bool fit_words(std::span<const std::uint16_t> samples) {
  std::uint32_t any = 0;
  for (const std::uint16_t s : samples) any |= s;
  return (any & ~std::uint32_t{l2::payload_mask}) == 0;
}

/// Decodes the groups of a fragment's boards. Adjacent groups are decoded together, because
/// decoders are faster with several.
class fragment_groups {
public:
  /// `data`: the data of all `boards`.
  fragment_groups(std::span<const packed_board> boards, std::span<const std::byte> data,
                  group_decoder decode)
      : boards_(boards), data_(data), decode_(decode) {}

  /// The samples of board j, whose data begin at `at`; call it in the order of the boards. Empty if
  /// its group, or one decoded together with it, is damaged.
  [[nodiscard]] std::span<const std::uint16_t> of(std::size_t j, std::size_t at) {
    if (j >= end_ && !decode_from(j, at)) return {};
    return std::span(samples_).subspan((j - first_) * l2::sample_words, l2::sample_words);
  }

private:
  bool decode_from(std::size_t j, std::size_t at) {
    const std::size_t from = at + bytes_before_samples(boards_[j]);
    std::size_t to = at + boards_[j].bytes;
    std::size_t k = j + 1;
    for (; k < boards_.size() && boards_[k].form == (boards_[j].form & alone); ++k)
      to += boards_[k].bytes;
    first_ = j;
    end_ = k;
    const auto samples = std::span(samples_).first((k - j) * l2::sample_words);
    return decode_(data_.subspan(from, to - from), is_wide(boards_[j]), samples);
  }

  /// The form of a board whose data are only a group.
  static constexpr unsigned alone = board_256_samples | board_strong;

  std::span<const packed_board> boards_;
  std::span<const std::byte> data_;
  group_decoder decode_;
  std::size_t first_ = 0; ///< the decoded boards
  std::size_t end_ = 0;
  std::array<std::uint16_t, std::size_t{l2::max_boards} * l2::sample_words> samples_;
};

/// Writes the packet of a board that is not raw to `to`.
void rebuild_board(const packed_event& event, packed_board board, std::span<const std::byte> data,
                   std::span<const std::uint16_t> values, std::byte* to) {
  const std::uint32_t records = records_of(board, data);
  if ((board.form & board_limited) != 0) data = data.subspan(board_mask_bytes);
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
  } else {
    for (int w = 0; w < l2::footer_words; ++w) store_big(footer + 2 * w, l2::footer_tag);
  }

  if (records != all_records) std::memset(samples, 0, std::size_t{2} * l2::sample_words);
  const std::size_t step = 2 * channels_of(board);
  for (unsigned record = 0; record < l2::waveforms_per_board; ++record) {
    if ((records >> record & 1) == 0) continue;
    std::byte* word = samples + 2 * sample_word(board, record, 0);
    for (const unsigned value :
         values.subspan(std::size_t{l2::waveform_samples} * record, l2::waveform_samples)) {
      store_big(word, static_cast<std::uint16_t>(l2::sample_tag | value));
      word += step;
    }
  }
}

} // namespace

bool rebuild_fragment(const packed_event_view& event, std::uint32_t index,
                      std::vector<std::byte>& out, group_decoder decode) {
  const auto [at, next_board] = event.start_of(index);
  const packed_fragment f = event.fragment(index);
  const auto data = event.bytes().subspan(at);
  if (f.form == fragment_form::raw) {
    out.assign(data.begin(), data.begin() + f.bytes);
    return true;
  }
  out.resize(f.bytes);
  std::byte* to = out.data();
  store_big(to, l2::fragment_header(event.header().number));
  to += l2::fragment_header_bytes;
  std::array<packed_board, l2::max_boards> table;
  for (std::uint32_t j = 0; j < f.boards; ++j) table[j] = event.board(next_board + j);
  fragment_groups groups{std::span(table).first(f.boards), data, decode};
  strong_samples of_records{};
  std::size_t taken = 0;
  for (std::uint32_t j = 0; j < f.boards; ++j) {
    const packed_board b = table[j];
    const auto of_board = data.subspan(taken, b.bytes);
    if ((b.form & board_raw) != 0) {
      std::memcpy(to, of_board.data(), of_board.size());
    } else {
      std::span<const std::uint16_t> samples = of_records;
      if (!is_group(b))
        unpack_records(records_of(b, of_board), of_board.subspan(bytes_before_samples(b)),
                       of_records);
      else
        samples = groups.of(j, taken);
      if (samples.empty() || !fit_words(samples)) return false;
      rebuild_board(event.header(), b, of_board, samples, to);
    }
    to += original_bytes(b);
    taken += b.bytes;
  }
  store_big(to, l2::fragment_trailer);
  return true;
}

board_pulses stored_pulses(packed_board board, std::span<const std::byte> data) {
  board_pulses rows{};
  if ((board.form & board_features) == 0) return rows;
  const std::byte* at = data.data() + bytes_before_samples(board);
  const auto mask = load<std::uint16_t>(at);
  at += board_mask_bytes;
  for (std::uint32_t r = 0; r < rows.size(); ++r) {
    if ((mask >> r & 1) == 0) continue;
    rows[r] = load<packed_pulse>(at);
    at += sizeof(packed_pulse);
  }
  return rows;
}

std::optional<board_waveforms> unpack_board(const packed_event_view& event, std::uint32_t index,
                                            group_decoder decode) {
  const packed_board b = event.board(index);
  if ((b.form & board_raw) != 0) return std::nullopt;
  std::uint32_t of_fragment = 0;
  std::uint32_t boards = event.fragment(0).boards;
  while (index >= boards) boards += event.fragment(++of_fragment).boards;
  auto [at, first_board] = event.start_of(of_fragment);
  for (std::uint32_t board = first_board; board < index; ++board) at += event.board(board).bytes;
  const auto data = event.bytes().subspan(at, b.bytes);
  board_waveforms w;
  w.records = records_of(b, data);
  w.pulses = stored_pulses(b, data);
  const auto coded = data.subspan(bytes_before_samples(b));
  if (!is_group(b))
    unpack_records(w.records, coded, w.samples);
  else if (!decode(coded, is_wide(b), w.samples))
    return std::nullopt;
  if (!fit_words(w.samples)) return std::nullopt;
  return w;
}

namespace {

/// Calls `take` with each board of fragment `index` and its data.
template <class Take>
void for_each_board(const packed_event_view& event, std::uint32_t index, const Take& take) {
  auto [at, next_board] = event.start_of(index);
  for (std::uint32_t left = event.fragment(index).boards; left > 0; --left) {
    const packed_board b = event.board(next_board++);
    take(b, event.bytes().subspan(at, b.bytes));
    at += b.bytes;
  }
}

} // namespace

std::vector<std::uint16_t> kept_records(const packed_event_view& event, std::uint32_t index) {
  std::vector<std::uint16_t> kept;
  for_each_board(event, index, [&](const packed_board& b, std::span<const std::byte> data) {
    kept.push_back(static_cast<std::uint16_t>(records_of(b, data)));
  });
  return kept;
}

std::vector<std::span<const std::byte>> limited_data(const packed_event_view& event,
                                                     std::uint32_t index) {
  std::vector<std::span<const std::byte>> limited;
  for_each_board(event, index, [&](const packed_board& b, std::span<const std::byte> data) {
    if ((b.form & board_limited) != 0) limited.push_back(data);
  });
  return limited;
}

std::vector<std::uint32_t> absent_words(const packed_event_view& event, std::uint32_t index) {
  std::vector<std::uint32_t> absent;
  const std::vector<std::uint16_t> kept = kept_records(event, index);
  const std::uint32_t first_board = event.start_of(index).second;
  std::size_t packet = l2::fragment_header_bytes;
  for (std::uint32_t j = 0; j < kept.size(); ++j) {
    const packed_board b = event.board(first_board + j);
    for (unsigned r = 0; r < l2::waveforms_per_board; ++r) {
      if ((kept[j] >> r & 1) != 0) continue;
      for (unsigned s = 0; s < l2::waveform_samples; ++s)
        absent.push_back(
            static_cast<std::uint32_t>(packet + stored_header_bytes + 2 * sample_word(b, r, s)));
    }
    packet += original_bytes(b);
  }
  return absent;
}

} // namespace l3
