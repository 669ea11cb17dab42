// SPDX-License-Identifier: Apache-2.0
#include "transport/store/event_view.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>

#include "transport/format/endian.hpp"
#include "transport/format/l2.hpp"
#include "transport/format/rounding.hpp"
#include "transport/format/summary.hpp"
#include "transport/store/koto_record.hpp"
#include "transport/store/strong_group.hpp"

namespace l3 {

namespace {

constexpr std::size_t alignment = 8;
constexpr std::size_t stored_header_bytes = 2 * l2::header_words;
constexpr std::size_t stored_footer_bytes = 2 * l2::footer_words;
constexpr std::size_t board_error_bytes = 1;

std::size_t stored_words_bytes(packed_board b) {
  return ((b.form & board_header_stored) != 0 ? stored_header_bytes : 0) +
         ((b.form & board_footer_stored) != 0 ? stored_footer_bytes : 0);
}

/// The bytes behind the KOTO records that are in the mask; nothing if one of these is not there.
std::optional<std::span<const std::byte>> behind_records(std::span<const std::byte> data,
                                                         std::uint32_t records) {
  for (int record = 0; record < l2::waveforms_per_board; ++record) {
    if ((records >> record & 1) == 0) continue;
    const std::size_t length = koto_record_bytes(data);
    if (length == 0) return std::nullopt;
    data = data.subspan(length);
  }
  return data;
}

/// Records whose number of bits was looked at already, to samples record by record.
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

std::size_t original_bytes(packed_board b) {
  return (b.form & board_raw) != 0 ? b.bytes : l2::board_bytes;
}

/// The records that a board has, bit by bit.
std::uint32_t records_of(packed_board b, std::span<const std::byte> data) {
  return (b.form & board_limited) != 0 ? load<std::uint16_t>(data.data()) : all_records;
}

/// The greatest error of a board's samples; 0 if it is not rounded.
std::uint32_t error_of(packed_board b, std::span<const std::byte> data) {
  if ((b.form & board_rounded) == 0) return 0;
  return std::to_integer<std::uint32_t>(data[(b.form & board_limited) != 0 ? board_mask_bytes : 0]);
}

unsigned channels_of(packed_board b) { return (b.form & board_256_samples) != 0 ? 4 : 16; }

/// The word of a packet's samples that sample `s` of a record is.
std::size_t sample_word(packed_board b, unsigned record, unsigned s) {
  const unsigned channels = channels_of(b);
  const unsigned records_per_channel = l2::waveforms_per_board / channels;
  const unsigned first_sample = record % records_per_channel * l2::waveform_samples;
  return std::size_t{channels} * (first_sample + s) + record / records_per_channel;
}

/// Whether each sample fits into its word; a rebuilt fragment would else have other words.
bool fit_words(std::span<const std::uint16_t> samples) {
  std::uint32_t any = 0;
  for (const std::uint16_t s : samples) any |= s;
  return (any & ~std::uint32_t{l2::payload_mask}) == 0;
}

bool is_group(packed_board b) { return (b.form & (board_strong | board_limited)) == board_strong; }
/// Whether the records of the board are in groups of its event.
bool is_gathered(packed_board b) {
  return (b.form & board_strong) != 0 && (b.form & board_limited) != 0;
}
bool is_wide(packed_board b) { return (b.form & board_256_samples) != 0; }

/// What stands before the samples in the data of a board.
std::size_t bytes_before_samples(packed_board b) {
  return ((b.form & board_limited) != 0 ? board_mask_bytes : 0) +
         ((b.form & board_rounded) != 0 ? board_error_bytes : 0) + stored_words_bytes(b);
}

/// Decodes the groups of a fragment's boards: those that stand one behind the other together, as a
/// decoder is faster with several.
class fragment_groups {
public:
  /// `boards` and the data of all of them.
  fragment_groups(std::span<const packed_board> boards, std::span<const std::byte> data,
                  group_decoder decode)
      : boards_(boards), data_(data), decode_(decode) {}

  /// The samples of board j, whose data begins at `at`; for boards in their order. Empty: its
  /// group, or one of those behind it, is damaged.
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

  /// The form of a board whose data is its group alone.
  static constexpr unsigned alone = board_256_samples | board_strong;

  std::span<const packed_board> boards_;
  std::span<const std::byte> data_;
  group_decoder decode_;
  std::size_t first_ = 0; ///< the boards that are decoded
  std::size_t end_ = 0;
  std::array<std::uint16_t, std::size_t{l2::max_boards} * l2::sample_words> samples_;
};

/// Decodes the gathered records of an event, a group at a time: goes through its boards once.
class gathered_records {
public:
  gathered_records(const packed_event_view& event, group_decoder decode)
      : event_(event), decode_(decode), at_(event.start_of(0).first) {}

  /// Brings the records of board `index` to their places; for boards in rising order. False: a
  /// group of them is damaged.
  [[nodiscard]] bool unpack(std::uint32_t index, strong_samples& samples) {
    for (;; ++board_) {
      for (; in_fragment_ == event_.fragment(fragment_).boards; in_fragment_ = 0) {
        const packed_fragment passed = event_.fragment(fragment_++);
        if (passed.form == fragment_form::raw) at_ += passed.bytes;
      }
      const packed_board b = event_.board(board_);
      const auto data = event_.bytes().subspan(at_, b.bytes);
      const bool is_wanted = board_ == index;
      if (is_gathered(b) && !pass(b, data, is_wanted ? &samples : nullptr)) return false;
      ++in_fragment_;
      at_ += b.bytes;
      if (is_wanted) break;
    }
    ++board_;
    return true;
  }

private:
  /// Goes over the records of a board; false if one that is wanted is damaged.
  bool pass(packed_board b, std::span<const std::byte> data, strong_samples* samples) {
    const std::uint32_t records = records_of(b, data);
    for (unsigned r = 0; r < l2::waveforms_per_board; ++r) {
      if ((records >> r & 1) == 0) continue;
      const std::uint32_t of_group = records_++ % l2::waveforms_per_board;
      if (of_group == 0) {
        group_ = data.subspan(bytes_before_samples(b));
        is_decoded_ = false;
      }
      if (samples == nullptr) continue;
      if (!is_decoded_ && !decode_(group_, false, of_group_)) return false;
      is_decoded_ = true;
      std::copy_n(of_group_.begin() + of_group * l2::waveform_samples, l2::waveform_samples,
                  samples->begin() + r * l2::waveform_samples);
    }
    return true;
  }

  const packed_event_view& event_;
  group_decoder decode_;
  std::size_t at_;
  std::uint32_t fragment_ = 0;
  std::uint32_t in_fragment_ = 0; ///< boards of it that were passed
  std::uint32_t board_ = 0;
  std::uint32_t records_ = 0; ///< gathered ones that were passed
  std::span<const std::byte> group_;
  bool is_decoded_ = false;
  strong_samples of_group_{};
};

/// Writes the packet of a board that is not raw at `to`.
void rebuild_board(const packed_event& event, packed_board board, std::span<const std::byte> data,
                   std::span<const std::uint16_t> values, std::byte* to) {
  const std::uint32_t records = records_of(board, data);
  const std::uint32_t error = error_of(board, data);
  if ((board.form & board_limited) != 0) data = data.subspan(board_mask_bytes);
  if (error != 0) data = data.subspan(board_error_bytes);
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
    for (unsigned value :
         values.subspan(std::size_t{l2::waveform_samples} * record, l2::waveform_samples)) {
      if (error != 0) value = rounded_sample(value, error, l2::payload_mask);
      store_big(word, static_cast<std::uint16_t>(l2::sample_tag | value));
      word += step;
    }
  }
}

/// In a board of 256 samples the four records of a channel are there, or none of them.
bool has_whole_channels(std::uint32_t records) {
  for (; records != 0; records >>= 4)
    if ((records & 0xf) != 0 && (records & 0xf) != 0xf) return false;
  return true;
}

/// Whether a line's payload is one that there is, its error is one that it may have, and its
/// reserved bytes are 0.
bool is_row(packed_line_payload row) {
  return static_cast<std::uint32_t>(row.payload) < event_payloads &&
         row.greatest_error <= most_greatest_error &&
         (row.greatest_error == 0 || has_samples(row.payload)) &&
         std::ranges::all_of(row.reserved, [](std::uint8_t b) { return b == 0; });
}

} // namespace

std::optional<packed_event_view> packed_event_view::parse(std::span<const std::byte> bytes,
                                                          std::optional<codec_id> codec) {
  packed_event_view view;
  if (bytes.size() < sizeof(packed_event)) return std::nullopt;
  view.header_ = load<packed_event>(bytes.data());
  if (view.header_.bytes < sizeof(packed_event) || view.header_.bytes > bytes.size()) {
    return std::nullopt;
  }
  view.bytes_ = bytes.first(view.header_.bytes);
  if (!view.well_formed(codec)) return std::nullopt;
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
  return bytes_.subspan(summary_offset(), header_.summary_bytes);
}

std::uint32_t packed_event_view::payload_lines() const {
  if (header_.payload_bytes == 0) return 0;
  return static_cast<std::uint32_t>((header_.payload_bytes - sizeof(packed_payload)) /
                                    sizeof(packed_line_payload));
}

packed_payload packed_event_view::payload() const {
  return load<packed_payload>(bytes_.data() + summary_offset() + header_.summary_bytes);
}

packed_line_payload packed_event_view::payload_of_line(std::uint32_t index) const {
  return load<packed_line_payload>(bytes_.data() + summary_offset() + header_.summary_bytes +
                                   sizeof(packed_payload) + index * sizeof(packed_line_payload));
}

std::uint32_t packed_event_view::greatest_error() const {
  return payload_lines() == 0 ? 0 : payload().greatest_error;
}

std::size_t packed_event_view::summary_offset() const {
  return round_up(sizeof(packed_event) + header_.fragments * sizeof(packed_fragment) +
                      std::size_t{header_.boards} * sizeof(packed_board),
                  alignment);
}

std::size_t packed_event_view::data_offset() const {
  return summary_offset() + header_.summary_bytes + header_.payload_bytes;
}

std::pair<std::size_t, std::uint32_t> packed_event_view::start_of(std::uint32_t index) const {
  std::size_t at = data_offset();
  std::uint32_t boards = 0;
  for (std::uint32_t i = 0; i < index; ++i) {
    const packed_fragment before = fragment(i);
    if (before.form == fragment_form::raw) at += before.bytes;
    for (std::uint32_t j = 0; j < before.boards; ++j) at += board(boards++).bytes;
  }
  return {at, boards};
}

/// The table has a row for each line of the summary, and what is kept follows from both.
bool packed_event_view::payload_well_formed() const {
  if (header_.version == 0)
    return header_.payload == event_payload::all && header_.payload_bytes == 0;
  const std::size_t bytes = header_.payload_bytes;
  if (header_.version > 2 || bytes < sizeof(packed_payload) ||
      header_.summary_bytes < sizeof(packed_summary))
    return false;
  const auto by = load<packed_summary>(summary().data());
  if (by.lines > max_lines || bytes != packed_payload_bytes(by.lines)) return false;
  const packed_payload table = payload();
  if (std::ranges::any_of(table.reserved, [](std::uint8_t b) { return b != 0; }) ||
      ((table.asked | table.control) & ~by.kept_by) != 0)
    return false;
  bool kept = false;
  bool rounds = false; // a line of the menu
  auto most = event_payload::summary;
  std::uint32_t error = most_greatest_error;
  for (std::uint32_t n = 0; n < by.lines; ++n) {
    const packed_line_payload row = payload_of_line(n);
    if (!is_row(row)) return false;
    rounds = rounds || row.greatest_error != 0;
    if ((by.kept_by >> n & 1) == 0) continue;
    kept = true;
    most = std::min(most, row.payload);
    if (has_samples(row.payload)) error = std::min<std::uint32_t>(error, row.greatest_error);
  }
  if (!kept || table.control != 0) most = event_payload::all;
  if (!kept || table.control != 0 || !has_samples(most)) error = 0;
  if (rounds != (header_.version == 2)) return false;
  std::uint32_t asked = 0;
  for (std::uint32_t n = 0; n < by.lines; ++n)
    if (payload_of_line(n).payload == most) asked |= by.kept_by & 1U << n;
  return header_.payload == most && table.asked == asked && table.greatest_error == error;
}

/// `gathered`: records of the event that were gathered, up to this board.
bool packed_event_view::board_well_formed(packed_board board, std::size_t at,
                                          std::uint32_t& gathered) const {
  if (at + board.bytes > bytes_.size()) return false;
  if ((board.form & board_raw) != 0)
    return (board.form & (board_limited | board_features | board_strong | board_rounded)) == 0;
  auto data = bytes_.subspan(at, board.bytes);
  const bool limited = (board.form & board_limited) != 0;
  const bool features = (board.form & board_features) != 0;
  if (limited ? header_.payload == event_payload::all || data.size() < board_mask_bytes : features)
    return false;
  const std::uint32_t records = records_of(board, data);
  if (limited) {
    data = data.subspan(board_mask_bytes);
    if (records == all_records) return false;
    if (records != 0 && header_.payload != event_payload::suppressed) return false;
    if (features != (header_.payload == event_payload::features)) return false;
    if ((board.form & board_256_samples) != 0 && !has_whole_channels(records)) return false;
  }
  if ((board.form & board_rounded) != 0) {
    if (records == 0 || data.empty()) return false;
    const auto error = std::to_integer<std::uint32_t>(data.front());
    if (error == 0 || error > greatest_error()) return false;
    data = data.subspan(board_error_bytes);
  }
  const std::size_t words = stored_words_bytes(board);
  if (data.size() < words) return false;
  data = data.subspan(words);
  const bool has_whole_group = !data.empty() && strong_group_bytes(data) == data.size();
  if (is_gathered(board)) {
    if (records == 0 || (board.form & board_rounded) != 0) return false;
    constexpr std::uint32_t group = l2::waveforms_per_board;
    const std::uint32_t groups_before = (gathered + group - 1) / group;
    gathered += static_cast<std::uint32_t>(std::popcount(records));
    return (gathered + group - 1) / group == groups_before ? data.empty() : has_whole_group;
  }
  if (is_group(board)) return has_whole_group;
  const auto rest = behind_records(data, records);
  if (!rest) return false;
  if (!features) return rest->empty();
  if (rest->size() < board_mask_bytes) return false;
  const auto rows = static_cast<unsigned>(std::popcount(load<std::uint16_t>(rest->data())));
  return rest->size() == board_mask_bytes + rows * sizeof(packed_pulse);
}

/// Without a block, the first board that has a codec tells it.
bool packed_event_view::well_formed(std::optional<codec_id> codec) {
  if (header_.bytes % alignment != 0 || header_.summary_bytes % alignment != 0) return false;
  if (header_.spill > l2::spill_mask || header_.number == 0) return false;
  std::size_t at = data_offset();
  if (at > bytes_.size() || !payload_well_formed()) return false;
  std::uint64_t boards = 0;
  std::uint32_t gathered = 0;
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
        if (!board_well_formed(b, at, gathered)) return false;
        // Rounded boards have the shorter form, and limited ones were not gathered at first.
        const bool has_choice = (b.form & (board_rounded | board_limited)) != 0;
        const bool is_strong = (b.form & board_strong) != 0;
        if ((b.form & board_raw) == 0 && (is_strong || !has_choice)) {
          const codec_id of_board = is_strong ? codec_id::strong : codec_id::koto;
          if (codec.value_or(of_board) != of_board) return false;
          codec = of_board;
        }
        if ((b.form & board_limited) != 0) ++limited_boards_;
        if ((b.form & board_rounded) != 0) ++rounded_boards_;
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
  gathered_records gathered(event, decode);
  strong_samples of_records{};
  std::size_t taken = 0;
  for (std::uint32_t j = 0; j < f.boards; ++j) {
    const packed_board b = table[j];
    const auto of_board = data.subspan(taken, b.bytes);
    if ((b.form & board_raw) != 0) {
      std::memcpy(to, of_board.data(), of_board.size());
    } else {
      std::span<const std::uint16_t> samples = of_records;
      if (is_gathered(b)) {
        if (!gathered.unpack(next_board + j, of_records)) return false;
      } else if (!is_group(b))
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

std::optional<board_waveforms> unpack_board(const packed_event_view& event, std::uint32_t index,
                                            group_decoder decode) {
  const packed_board b = event.board(index);
  if ((b.form & board_raw) != 0) return std::nullopt;
  std::uint32_t of_fragment = 0;
  std::uint32_t boards = event.fragment(0).boards;
  while (index >= boards) boards += event.fragment(++of_fragment).boards;
  auto [at, board] = event.start_of(of_fragment);
  for (; board < index; ++board) at += event.board(board).bytes;
  const auto data = event.bytes().subspan(at, b.bytes);
  board_waveforms w;
  w.records = records_of(b, data);
  const auto coded = data.subspan(bytes_before_samples(b));
  if (is_gathered(b)) {
    if (!gathered_records(event, decode).unpack(index, w.samples)) return std::nullopt;
  } else if (!is_group(b))
    unpack_records(w.records, coded, w.samples);
  else if (!decode(coded, is_wide(b), w.samples))
    return std::nullopt;
  if (!fit_words(w.samples)) return std::nullopt;
  if (const std::uint32_t error = error_of(b, data); error != 0) {
    for (std::size_t i = 0; i < w.samples.size(); ++i)
      if ((w.records >> i / l2::waveform_samples & 1) != 0)
        w.samples[i] =
            static_cast<std::uint16_t>(rounded_sample(w.samples[i], error, l2::payload_mask));
  }
  return w;
}

namespace {

/// Calls `take` with each board of fragment `index`, and its data.
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

std::vector<std::uint8_t> greatest_errors(const packed_event_view& event, std::uint32_t index) {
  std::vector<std::uint8_t> errors;
  for_each_board(event, index, [&](const packed_board& b, std::span<const std::byte> data) {
    errors.push_back(static_cast<std::uint8_t>(error_of(b, data)));
  });
  return errors;
}

std::vector<loose_word> loose_words(const packed_event_view& event, std::uint32_t index) {
  std::vector<loose_word> loose;
  const std::vector<std::uint16_t> kept = kept_records(event, index);
  const std::vector<std::uint8_t> errors = greatest_errors(event, index);
  const std::uint32_t first_board = event.start_of(index).second;
  std::size_t packet = l2::fragment_header_bytes;
  for (std::uint32_t j = 0; j < kept.size(); ++j) {
    const packed_board b = event.board(first_board + j);
    for (unsigned r = 0; r < l2::waveforms_per_board; ++r) {
      const std::uint32_t error = (kept[j] >> r & 1) == 0 ? loose_word::absent : errors[j];
      for (unsigned s = 0; error != 0 && s < l2::waveform_samples; ++s)
        loose.push_back(
            {static_cast<std::uint32_t>(packet + stored_header_bytes + 2 * sample_word(b, r, s)),
             error});
    }
    packet += original_bytes(b);
  }
  return loose;
}

bool is_near(const std::byte* one, const std::byte* other, std::uint32_t error) {
  const int a = load_big<std::uint16_t>(one) & l2::payload_mask;
  const int b = load_big<std::uint16_t>(other) & l2::payload_mask;
  return static_cast<std::uint32_t>(std::abs(a - b)) <= error;
}

} // namespace l3
