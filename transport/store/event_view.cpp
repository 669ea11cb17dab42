// SPDX-License-Identifier: Apache-2.0
#include "transport/store/event_view.hpp"

#include <algorithm>
#include <bit>

#include "transport/format/endian.hpp"
#include "transport/format/summary.hpp"
#include "transport/store/koto_record.hpp"

namespace l3 {

namespace {

constexpr std::size_t alignment = 8;

/// The bytes after the KOTO records of the mask; nothing if one is missing.
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

/// Whether each channel of a board of 256 samples has all of its four records or none.
bool has_whole_channels(std::uint32_t records) {
  for (; records != 0; records >>= 4)
    if ((records & 0xf) != 0 && (records & 0xf) != 0xf) return false;
  return true;
}

/// Padding up to a multiple of 8.
bool are_zeros(std::span<const std::byte> bytes) {
  return std::ranges::all_of(bytes, [](std::byte b) { return b == std::byte{0}; });
}

/// Whether a line has an existing payload, and reserved bytes of 0.
bool is_row(packed_line_payload row) {
  return static_cast<std::uint32_t>(row.payload) < event_payloads &&
         std::ranges::all_of(row.reserved, [](std::uint8_t b) { return b == 0; });
}

} // namespace

std::optional<packed_event_view> packed_event_view::parse(std::span<const std::byte> bytes,
                                                          std::optional<codec_id> codec) {
  if (bytes.size() < sizeof(packed_event)) return std::nullopt;
  const auto length = load<packed_event>(bytes.data()).bytes;
  if (length > bytes.size()) return std::nullopt;
  auto view = parse_tables(bytes.first(length), codec);
  return view && view->data_well_formed() ? view : std::nullopt;
}

std::optional<packed_event_view> packed_event_view::parse_tables(std::span<const std::byte> bytes,
                                                                 std::optional<codec_id> codec,
                                                                 const packed_event_view* like) {
  packed_event_view view;
  if (bytes.size() < sizeof(packed_event)) return std::nullopt;
  view.header_ = load<packed_event>(bytes.data());
  if (view.header_.bytes < sizeof(packed_event)) return std::nullopt;
  view.bytes_ = bytes.first(std::min<std::size_t>(bytes.size(), view.header_.bytes));
  return view.tables_well_formed(codec, like) ? std::optional(view) : std::nullopt;
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

std::size_t packed_event_view::summary_offset() const {
  return data_offset() - header_.payload_bytes - header_.summary_bytes;
}

std::size_t packed_event_view::data_offset(const packed_event& header) {
  return round_up(sizeof(packed_event) + header.fragments * sizeof(packed_fragment) +
                      std::size_t{header.boards} * sizeof(packed_board),
                  alignment) +
         header.summary_bytes + header.payload_bytes;
}

std::span<const std::byte> packed_event_view::behind_tables() const {
  const std::size_t tables = board_offset(header_.boards);
  return bytes_.subspan(tables, summary_offset() - tables);
}

std::pair<std::size_t, std::uint32_t> packed_event_view::start_of(std::uint32_t index) const {
  std::size_t at = data_offset();
  std::uint32_t boards = 0;
  for (std::uint32_t i = 0; i < index; ++i) {
    const packed_fragment before = fragment(i);
    if (before.form == fragment_form::raw) at += before.bytes;
    at += bytes_of_boards(boards, boards + before.boards);
    boards += before.boards;
  }
  return {at, boards};
}

/// Whether the table has a row for each line of the summary and its payload follows from both.
bool packed_event_view::payload_well_formed() const {
  if (header_.version == 0)
    return header_.payload == event_payload::all && header_.payload_bytes == 0;
  const std::size_t bytes = header_.payload_bytes;
  if (header_.version > 1 || bytes < sizeof(packed_payload) ||
      header_.summary_bytes < sizeof(packed_summary))
    return false;
  const auto by = load<packed_summary>(summary().data());
  if (by.lines > max_lines || bytes != packed_payload_bytes(by.lines)) return false;
  const packed_payload table = payload();
  if (table.reserved != 0 || ((table.asked | table.control) & ~by.kept_by) != 0) return false;
  bool kept = false;
  auto most = event_payload::summary;
  for (std::uint32_t n = 0; n < by.lines; ++n) {
    const packed_line_payload row = payload_of_line(n);
    if (!is_row(row)) return false;
    if ((by.kept_by >> n & 1) == 0) continue;
    kept = true;
    most = std::min(most, row.payload);
  }
  if (!kept || table.control != 0) most = event_payload::all;
  std::uint32_t asked = 0;
  for (std::uint32_t n = 0; n < by.lines; ++n)
    if (payload_of_line(n).payload == most) asked |= by.kept_by & 1U << n;
  return header_.payload == most && table.asked == asked;
}

namespace {

/// Length of the group at the start of `bytes`, from its length word only; 0 if there are too few
/// bytes.
std::size_t strong_group_bytes(std::span<const std::byte> bytes) {
  constexpr std::size_t length_bytes = 2;
  constexpr unsigned length_mask = 0x7ff;
  if (bytes.size() < length_bytes) return 0;
  const std::size_t coded = load<std::uint16_t>(bytes.data()) & length_mask;
  const std::size_t length = length_bytes + (coded == 0 ? 2 * l2::sample_words : coded);
  return length <= bytes.size() ? length : 0;
}

} // namespace

bool packed_event_view::is_board(event_payload kept, packed_board board,
                                 std::span<const std::byte> data) {
  if ((board.form & board_raw) != 0)
    return (board.form & (board_limited | board_features | board_strong)) == 0;
  const bool limited = (board.form & board_limited) != 0;
  const bool features = (board.form & board_features) != 0;
  if (limited ? kept == event_payload::all || data.size() < board_mask_bytes : features)
    return false;
  const std::uint32_t records = records_of(board, data);
  if (limited) {
    data = data.subspan(board_mask_bytes);
    if (records == all_records) return false;
    if (records != 0 && kept != event_payload::suppressed) return false;
    if (features != (kept == event_payload::features)) return false;
    if ((board.form & board_256_samples) != 0 && !has_whole_channels(records)) return false;
    if (is_group(board)) return false;
  }
  const std::size_t words = stored_words_bytes(board);
  if (data.size() < words) return false;
  data = data.subspan(words);
  if (is_group(board)) return !data.empty() && strong_group_bytes(data) == data.size();
  const auto rest = behind_records(data, records);
  if (!rest) return false;
  if (!features) return rest->empty();
  if (rest->size() < board_mask_bytes) return false;
  const auto rows = static_cast<unsigned>(std::popcount(load<std::uint16_t>(rest->data())));
  return rest->size() == board_mask_bytes + rows * sizeof(packed_pulse);
}

/// The length of the boards' data, if fragments, slots and forms are those of an event with valid
/// tables, and no board is raw. Then nothing else can be wrong. Events of a run are nearly all like
/// the one before, and readers of summaries spend most of their time here.
std::optional<std::size_t> packed_event_view::bytes_if_like(const packed_event_view& other) const {
  if (header_.fragments != other.header_.fragments || header_.boards != other.header_.boards)
    return std::nullopt;
  const std::byte* const table = bytes_.data() + board_offset(0);
  const std::byte* const others = other.bytes_.data() + board_offset(0);
  if (std::memcmp(bytes_.data() + sizeof(packed_event), other.bytes_.data() + sizeof(packed_event),
                  header_.fragments * sizeof(packed_fragment)) != 0)
    return std::nullopt;
  std::uint32_t differs = 0;
  std::uint32_t any = 0;
  std::uint32_t sum = 0;
  for (std::size_t at = 0; at < header_.boards * sizeof(packed_board); at += sizeof(packed_board)) {
    const auto row = load<std::uint32_t>(table + at);
    differs |= row ^ load<std::uint32_t>(others + at);
    any |= row;
    sum += row >> 16; // the length; slot and form are below
  }
  const bool is_like = (differs & 0xffff) == 0 && (any >> 8 & board_raw) == 0;
  return is_like ? std::optional<std::size_t>(sum) : std::nullopt;
}

bool packed_event_view::tables_well_formed(std::optional<codec_id> codec,
                                           const packed_event_view* like) {
  if (header_.bytes % alignment != 0 || header_.summary_bytes % alignment != 0) return false;
  if (header_.spill > l2::spill_mask || header_.number == 0) return false;
  const std::size_t at = data_offset();
  if (at > bytes_.size() || !are_zeros(behind_tables()) || !payload_well_formed()) return false;
  auto bytes = like != nullptr ? bytes_if_like(*like) : std::nullopt;
  if (bytes) {
    limited_boards_ = like->limited_boards_;
    raw_bytes_ = like->raw_bytes_;
  } else if (boards_well_formed(codec)) {
    bytes = bytes_of_boards(0, header_.boards);
  }
  return bytes && round_up(at + raw_bytes_ + *bytes, alignment) == header_.bytes;
}

/// All boards have one codec: that of the block, if there is one.
bool packed_event_view::boards_well_formed(std::optional<codec_id> codec) {
  std::uint32_t boards = 0;
  std::uint32_t forms = 0; // bit n: a board has the form 8 n, whatever its low bits are
  int last_crate = -1;
  for (std::uint32_t i = 0; i < header_.fragments; ++i) {
    const packed_fragment f = fragment(i);
    if (f.crate <= last_crate) return false;
    last_crate = f.crate;
    if (f.bytes > l2::max_fragment_bytes || f.boards > header_.boards - boards) return false;
    if (f.form == fragment_form::raw && f.boards == 0) {
      raw_bytes_ += f.bytes;
      continue;
    }
    if (f.form != fragment_form::boards) return false;
    std::size_t original = l2::fragment_header_bytes + l2::fragment_trailer_bytes;
    int last_slot = l2::first_slot - 1;
    for (const std::uint32_t end = boards + f.boards; boards < end; ++boards) {
      const packed_board b = board(boards);
      if (b.slot <= last_slot || b.slot > l2::last_slot) return false;
      last_slot = b.slot;
      forms |= 1U << b.form / 8;
      limited_boards_ += (b.form & (board_raw | board_limited)) == board_limited ? 1 : 0;
      original += original_bytes(b);
    }
    if (original != f.bytes) return false;
  }
  // A board that is neither raw nor limited has the codec; a limited one has KOTO records.
  const auto any_of = [&](unsigned form) { return (forms >> form / 8 & 1) != 0; };
  const bool koto = any_of(0) || any_of(board_features);
  const bool strong = any_of(board_strong) || any_of(board_strong | board_features);
  if (codec ? (*codec == codec_id::koto ? strong : koto) : koto && strong) return false;
  constexpr std::uint32_t forms_there_are = 0xffff;
  return forms <= forms_there_are && boards == header_.boards;
}

bool packed_event_view::data_well_formed() const {
  std::size_t at = data_offset();
  std::uint32_t boards = 0;
  for (std::uint32_t i = 0; i < header_.fragments; ++i) {
    const packed_fragment f = fragment(i);
    if (f.form == fragment_form::raw) at += f.bytes;
    for (std::uint32_t j = 0; j < f.boards; ++j) {
      const packed_board b = board(boards++);
      if (!is_board(header_.payload, b, bytes_.subspan(at, b.bytes))) return false;
      at += b.bytes;
    }
  }
  return are_zeros(bytes_.subspan(at));
}

std::optional<packed_summary> summary_head(std::span<const std::byte> packed) {
  const auto head = load<packed_event>(packed.data());
  const std::size_t summary =
      packed_event_view::data_offset(head) - head.payload_bytes - head.summary_bytes;
  if (head.summary_bytes < sizeof(packed_summary) ||
      summary + sizeof(packed_summary) > packed.size())
    return std::nullopt;
  return load<packed_summary>(packed.data() + summary);
}

std::optional<summary_parts> summary_parts::find(std::span<const std::byte> bytes) {
  if (bytes.size() < sizeof(packed_summary)) return std::nullopt;
  summary_parts s;
  s.head = load<packed_summary>(bytes.data());
  const packed_summary& h = s.head;
  const std::size_t wanted =
      sizeof(packed_summary) + h.lines * sizeof(packed_line) + h.photons * sizeof(photon_summary) +
      h.quantities * sizeof(std::int32_t) + h.hits * sizeof(veto_hit_summary) + h.lines;
  if (h.version != packed_summary{}.version || h.lines > max_lines ||
      h.photons > max_summary_photons || h.hits > max_summary_hits || bytes.size() < wanted)
    return std::nullopt;
  bytes = bytes.subspan(sizeof(packed_summary));
  const auto take = [&](std::size_t length) {
    const auto part = bytes.first(length);
    bytes = bytes.subspan(length);
    return part;
  };
  s.lines = take(h.lines * sizeof(packed_line));
  s.photons = take(h.photons * sizeof(photon_summary));
  s.quantities = take(h.quantities * sizeof(std::int32_t));
  s.hits = take(h.hits * sizeof(veto_hit_summary));
  s.reasons = take(h.lines);
  if (!are_zeros(bytes)) return std::nullopt;
  s.quantities =
      s.quantities.first(std::min(s.quantities.size(), l3::quantities * sizeof(std::int32_t)));
  return s;
}

std::optional<summary_view> summary_view::parse(std::span<const std::byte> bytes) {
  const auto parts = summary_parts::find(bytes);
  if (!parts) return std::nullopt;
  summary_view view;
  view.head = parts->head;
  const auto copy = [](std::span<const std::byte> from, auto& rows) {
    rows.resize(from.size() / sizeof rows[0]);
    if (!from.empty()) std::memcpy(rows.data(), from.data(), from.size());
  };
  copy(parts->lines, view.lines);
  copy(parts->photons, view.photons);
  copy(parts->quantities, view.quantities);
  copy(parts->hits, view.hits);
  copy(parts->reasons, view.reasons);
  return view;
}

} // namespace l3
