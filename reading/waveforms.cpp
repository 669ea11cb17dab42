// SPDX-License-Identifier: Apache-2.0
#include "reading/waveforms.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>

#include "gpu/codec/decode_all.hpp"
#include "transport/building/fragment_index.hpp"
#include "transport/file/record_parser.hpp"
#include "transport/store/koto_record.hpp"

namespace l3::reading {

channel_plan::channel_plan(const readout& crates, std::span<const channel_address> channels,
                           std::uint32_t length)
    : length_(length), wide_(length == 4 * l2::waveform_samples),
      boards_(crates.size() * l2::max_boards), wanted_(crates.size()),
      initial_(channels.size(), L3_READ_NO_CHANNEL) {
  const auto kind = wide_ ? board_kind::sampling_500_mhz : board_kind::sampling_125_mhz;
  for (std::uint32_t column = 0; column < channels.size(); ++column) {
    const channel_address at = channels[column];
    const auto crate = std::ranges::find(crates.crates, at.crate, &crate_readout::number);
    if (crate == crates.crates.end() || crate->kind != kind || at.slot < l2::first_slot ||
        at.slot >= l2::first_slot + crate->boards || at.channel >= channels_per_board())
      continue;
    const auto place = static_cast<std::uint32_t>(crate - crates.crates.begin());
    board& b = boards_[place * l2::max_boards + at.slot - l2::first_slot];
    if (b.channels.empty()) ++boards_wanted_;
    wanted_[place] = 1;
    b.channels.push_back({at.channel, column});
    initial_[column] = L3_READ_NO_BOARD;
  }
  for (board& b : boards_) {
    if (b.channels.size() != channels_per_board()) continue;
    const std::uint32_t first = b.channels[0].column;
    const auto follows = [&](const chosen& c) { return c.column == first + c.channel; };
    if (std::ranges::all_of(b.channels, follows)) b.column = first;
  }
}

const channel_plan::board* channel_plan::of(std::uint32_t place, std::uint32_t slot) const {
  const std::size_t n = place * l2::max_boards + slot - l2::first_slot;
  return n < boards_.size() && !boards_[n].channels.empty() ? &boards_[n] : nullptr;
}

namespace {

/// The bits that are set in any of the samples.
#if defined(__x86_64__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) &&                \
    !defined(__SANITIZE_THREAD__) // as in gpu/executors/solo.hpp
__attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#endif
std::uint16_t
bits_of(const std::uint16_t* samples, std::size_t n) {
  std::uint16_t any = 0;
  for (std::size_t i = 0; i < n; ++i) any |= samples[i];
  return any;
}

/// Decodes adjacent boards whose data are only their samples. Returns false if one is damaged: if
/// it has other data, or a sample that does not fit its word.
bool decode(bool groups, bool wide, std::span<const std::byte> data,
            std::span<std::uint16_t> samples, koto::store_to where = koto::store_to::caches) {
  if (groups)
    return strong::decode_all(data, wide, samples) &&
           bits_of(samples.data(), samples.size()) <= l2::payload_mask;
  const koto::unpack_result r = koto::unpack(data, samples, where);
  return r.records * l2::waveform_samples == samples.size() && r.bytes == data.size() &&
         !r.above_payload;
}

/// A multiple of the boards that the codecs decode in parallel: several crates.
constexpr std::uint32_t most_together = 96;

class event_decoder {
public:
  event_decoder(const channel_plan& plan, const event_target& to,
                event_payload kept = event_payload::all)
      : plan_(plan), to_(to), kept_(kept) {
    std::ranges::copy(plan.initial_states(), to.state.begin());
  }

  void set(const channel_plan::board& b, l3_read_state state) {
    for (const auto& c : b.channels) to_.state[c.column] = static_cast<std::uint8_t>(state);
    if (state == L3_READ_DAMAGED) whole_ = false;
  }
  void set_crate(std::uint32_t place, l3_read_state state) {
    for (std::uint32_t slot = l2::first_slot; slot <= l2::last_slot; ++slot)
      if (const auto* const b = plan_.of(place, slot)) set(*b, state);
  }

  /// A board that is not raw; consecutive ones whose data and channels follow each other are
  /// decoded together, which is faster.
  void add(const channel_plan::board& b, packed_board form, std::span<const std::byte> data) {
    if (b.column == channel_plan::none || (form.form & ~(board_256_samples | board_strong)) != 0) {
      finish_run();
      if (!decode_beside(b, form, data)) set(b, L3_READ_DAMAGED);
      return;
    }
    const bool goes_on = run_ != 0 && run_ < runs_.size() && runs_[0].form == form.form &&
                         data.data() == runs_[run_ - 1].end &&
                         b.column == runs_[0].board->column + run_ * plan_.channels_per_board();
    if (!goes_on) finish_run();
    runs_[run_++] = {&b, data.data(), data.data() + data.size(), form.form};
  }

  void finish_run() {
    const std::uint32_t n = std::exchange(run_, 0);
    if (n > 1 && decode_in_place(0, n)) return;
    for (std::uint32_t i = 0; i < n; ++i)
      if (!decode_in_place(i, 1)) set(*runs_[i].board, L3_READ_DAMAGED);
  }

  void take_packet(const channel_plan::board& b, std::span<const std::byte> packet, bool opaque) {
    if (opaque || packet.size() != l2::board_bytes)
      return set(b, opaque ? L3_READ_OPAQUE : L3_READ_UNDECODABLE);
    for (const auto& c : b.channels) {
      std::uint16_t* const samples = &to_.samples[std::size_t{c.column} * plan_.length()];
      bool good = true;
      for (std::uint32_t s = 0; s < plan_.length(); ++s) {
        const std::size_t word = l2::header_words + plan_.channels_per_board() * s + c.channel;
        const auto value = load_big<std::uint16_t>(packet.data() + 2 * word);
        good = good && (value & l2::wide_tag_mask) == l2::sample_tag;
        samples[s] = value & l2::payload_mask;
      }
      to_.state[c.column] = good ? L3_READ_PRESENT : L3_READ_UNDECODABLE;
    }
  }

  /// Clears the samples that are not there. Returns false if a board is damaged.
  bool finish() {
    finish_run();
    if (in_place_ == plan_.columns()) return whole_; // all are present
    for (std::uint32_t c = 0; c < plan_.columns(); ++c)
      if (to_.state[c] != L3_READ_PRESENT)
        std::ranges::fill(to_.samples.subspan(std::size_t{c} * plan_.length(), plan_.length()), 0);
    return whole_;
  }

private:
  bool decode_in_place(std::uint32_t first, std::uint32_t n) {
    const board_in_place& b = runs_[first];
    const std::span bytes(b.data, runs_[first + n - 1].end);
    const auto samples = to_.samples.subspan(std::size_t{b.board->column} * plan_.length(),
                                             std::size_t{n} * l2::sample_words);
    if (bytes.empty() ||
        !decode((b.form & board_strong) != 0, plan_.is_wide(), bytes, samples, to_.where))
      return false;
    std::ranges::fill(to_.state.subspan(b.board->column, n * plan_.channels_per_board()),
                      std::uint8_t{L3_READ_PRESENT});
    in_place_ += n * plan_.channels_per_board();
    return true;
  }

  bool decode_beside(const channel_plan::board& b, packed_board form,
                     std::span<const std::byte> bytes) {
    if (!packed_event_view::is_board(kept_, form, bytes)) return false;
    const std::uint32_t records = records_of(form, bytes);
    bytes = bytes.subspan(bytes_before_samples(form));
    const unsigned per_channel = l2::waveforms_per_board / plan_.channels_per_board();
    if (b.channels.size() == 1 && !is_group(form))
      return decode_channel(b.channels[0], records, bytes, per_channel);
    const auto kept = static_cast<std::size_t>(std::popcount(records));
    const auto samples = std::span(samples_).first(kept * l2::waveform_samples);
    if (kept != 0 && !decode(is_group(form), plan_.is_wide(), bytes, samples)) return false;
    for (const auto& c : b.channels) {
      const unsigned record = c.channel * per_channel;
      const bool here = (records >> record & 1) != 0;
      to_.state[c.column] = here ? L3_READ_PRESENT : L3_READ_NOT_KEPT;
      if (!here) continue;
      const auto before = static_cast<std::size_t>(std::popcount(records & ((1U << record) - 1)));
      std::memcpy(&to_.samples[std::size_t{c.column} * plan_.length()],
                  &samples_[before * l2::waveform_samples], plan_.length() * sizeof(std::uint16_t));
    }
    return true;
  }

  /// Decodes one channel alone, from the KOTO records of its board.
  bool decode_channel(const channel_plan::chosen& c, std::uint32_t records,
                      std::span<const std::byte> bytes, unsigned per_channel) {
    const unsigned first = c.channel * per_channel;
    const bool here = (records >> first & 1) != 0;
    to_.state[c.column] = here ? L3_READ_PRESENT : L3_READ_NOT_KEPT;
    if (!here) return true;
    for (unsigned r = 0; r < first; ++r)
      if ((records >> r & 1) != 0) bytes = bytes.subspan(koto_record_bytes(bytes));
    std::size_t length = 0;
    for (unsigned r = 0; r < per_channel; ++r) length += koto_record_bytes(bytes.subspan(length));
    return decode(false, plan_.is_wide(), bytes.first(length),
                  to_.samples.subspan(std::size_t{c.column} * plan_.length(), plan_.length()));
  }

  const channel_plan& plan_;
  const event_target& to_;
  event_payload kept_;
  bool whole_ = true;
  std::uint32_t in_place_ = 0; ///< channels that were decoded in place
  struct board_in_place {
    const channel_plan::board* board;
    const std::byte* data;
    const std::byte* end;
    std::uint8_t form;
  };
  std::uint32_t run_ = 0; ///< boards that are decoded together
  std::array<board_in_place, most_together> runs_;
  strong_samples samples_;
};

} // namespace

void find_boards(const packed_event_view& event, const channel_plan& plan,
                 std::vector<found_board>& found) {
  found.clear();
  std::uint32_t left = plan.boards();
  std::size_t at = event.data_offset();
  std::uint32_t board = 0; // whose data begin there
  std::uint32_t end = 0;   // of the boards of a fragment
  for (std::uint32_t i = 0; i < event.fragments() && left > 0; ++i) {
    const packed_fragment fragment = event.fragment(i);
    const std::uint32_t begin = std::exchange(end, end + fragment.boards);
    const bool is_raw = fragment.form == fragment_form::raw;
    if (is_raw) at += fragment.bytes;
    if (!plan.wants(fragment.crate)) continue;
    if (is_raw) found.push_back({fragment.crate, {}, {}});
    at += event.bytes_of_boards(std::exchange(board, begin), begin);
    for (; board < end && left > 0; ++board) {
      const packed_board b = event.board(board);
      if (plan.of(fragment.crate, b.slot) != nullptr) {
        found.push_back({fragment.crate, b, event.bytes().subspan(at, b.bytes)});
        --left;
      }
      at += b.bytes;
    }
  }
}

bool decode_event(const packed_event_view& event, std::span<const found_board> boards,
                  const channel_plan& plan, const event_target& to) {
  event_decoder decoder(plan, to, event.header().payload);
  for (const auto& [place, form, data] : boards) {
    if (form.slot == 0) {
      decoder.set_crate(place, L3_READ_UNDECODABLE);
      continue;
    }
    const channel_plan::board& chosen = *plan.of(place, form.slot);
    if (is_wide(form) != plan.is_wide()) {
      decoder.set(chosen, L3_READ_NO_CHANNEL); // the readout is another
    } else if ((form.form & board_raw) == 0) {
      decoder.add(chosen, form, data);
    } else {
      constexpr std::size_t second_word = 2;
      const bool opaque =
          data.size() >= stored_header_bytes &&
          (load_big<std::uint16_t>(data.data() + second_word) & l2::compressed_bit) != 0;
      decoder.take_packet(chosen, data, opaque);
    }
  }
  return decoder.finish();
}

bool decode_record(const unit& u, std::span<const std::byte> body, const readout& crates,
                   const channel_plan& plan, const event_target& to) {
  event_decoder decoder(plan, to);
  event_view event;
  if (parse_event(body, crates, event)) {
    for (std::uint32_t place = 0; place < crates.size(); ++place)
      decoder.set_crate(place, L3_READ_DAMAGED);
    return decoder.finish();
  }
  for (const crate_fragment& f : event.fragments) {
    if (!plan.wants(f.crate)) continue;
    std::array<board_entry, l2::max_boards> entries;
    const piece_offset whole = 0;
    const auto bytes = static_cast<std::uint32_t>(f.bytes.size());
    const auto found =
        index_fragment({f.bytes.data(), &whole, (std::max(bytes, 1U) + 3) / 4 * 4, bytes},
                       crates.crates[f.crate], {*u.spill, event.number}, entries);
    if (found.problem) decoder.set_crate(f.crate, L3_READ_UNDECODABLE);
    for (std::uint32_t j = 0; !found.problem && j < found.boards; ++j)
      if (const auto* const wanted = plan.of(f.crate, entries[j].slot))
        decoder.take_packet(*wanted, f.bytes.subspan(entries[j].offset, entries[j].bytes),
                            entries[j].opaque != 0);
  }
  return decoder.finish();
}

} // namespace l3::reading
