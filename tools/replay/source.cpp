// SPDX-License-Identifier: Apache-2.0
#include "tools/replay/source.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "transport/building/fragment_index.hpp"
#include "transport/format/endian.hpp"

namespace l3 {

spill_changer::spill_changer(const readout& crates)
    : crates_(crates), copy_(max_event_body(crates)), boards_(l2::max_boards) {}

std::span<const std::byte> spill_changer::change(std::span<const std::byte> body,
                                                 std::uint32_t from, std::uint32_t to) {
  std::copy(body.begin(), body.end(), copy_.begin());
  const auto copy = std::span(copy_).first(body.size());
  if (parse_event(copy, crates_, view_)) return copy;
  constexpr piece_offset whole = 0;
  constexpr std::uint32_t spill_word = 4 * sizeof(std::uint16_t); // offset in a board header
  for (const auto& f : view_.fragments) {
    const auto bytes = static_cast<std::uint32_t>(f.bytes.size());
    const fragment_pieces pieces{f.bytes.data(), &whole,
                                 static_cast<std::uint32_t>(round_up(bytes, 4)), bytes};
    const auto found =
        index_fragment(pieces, crates_.crates[f.crate], {from, view_.number}, boards_);
    if (found.problem) continue;
    std::byte* const fragment = copy_.data() + (f.bytes.data() - copy_.data());
    for (std::uint16_t b = 0; b < found.boards; ++b) {
      std::byte* const word = fragment + boards_[b].offset + spill_word;
      store_big(word, l2::spill_slot_word(to, boards_[b].slot));
    }
  }
  return copy;
}

replay_source::replay_source(const std::filesystem::path& file,
                             const std::function<void(std::uint64_t)>& tell)
    : reader_(file, l2raw_keep::all) {
  std::uint64_t at = reader_.position();
  const auto refuse = [&](std::string_view why) {
    throw std::runtime_error(fmt::format("{} is damaged at offset {}: {}", file.string(), at, why));
  };
  event_view view;
  bool in_spill = false;
  while (const auto record = reader_.next()) {
    const auto& h = record->header;
    const bool belongs = in_spill && h.spill == spills_.back().number;
    switch (h.type) {
    case record_type::begin_of_spill:
      if (in_spill) refuse("a spill begins before the last one ended");
      spills_.push_back(
          {h.spill,
           std::chrono::nanoseconds(load<begin_of_spill_body>(record->body.data()).beam_on),
           {},
           {}});
      in_spill = true;
      break;
    case record_type::event:
      if (!belongs) refuse("an event outside its spill");
      if (const auto reason = parse_event(record->body, crates(), view)) refuse(name_of(*reason));
      spills_.back().events.push_back({record->body, h.body_crc, view.number, view.since_spill});
      ++events_;
      break;
    case record_type::end_of_spill:
      if (!belongs) refuse("a spill ends that has not begun");
      in_spill = false;
      spills_.back().cycle =
          std::chrono::nanoseconds(load<end_of_spill_body>(record->body.data()).cycle);
      break;
    default: refuse("a record type that files must not have");
    }
    at = reader_.position();
    if (tell) tell(at);
  }
  if (reader_.damage()) throw std::runtime_error(file.string() + " " + fault_of(reader_));
  if (in_spill) refuse("the end of the last spill is missing");
  if (events_ == 0) throw std::runtime_error(file.string() + " holds no events");
}

std::uint32_t replay_source::spill_number(const replay_spill& spill, std::uint32_t loop) const {
  return spill_in_loop(spill.number, static_cast<std::uint32_t>(spills_.size()), loop);
}

} // namespace l3
