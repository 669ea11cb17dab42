// SPDX-License-Identifier: Apache-2.0
#include "daemon/compute/sampled_check.hpp"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "gpu/codec/decode_all.hpp"
#include "selection/detector/random.hpp"
#include "transport/store/event_view.hpp"

namespace l3 {
namespace {

/// Makes the choice independent of every prescale.
constexpr std::uint64_t salt = 0x73616d706c656421;

/// Whether a fragment of the input has these bytes.
bool equals(const input_batch& in, const fragment_entry& f, const std::vector<std::byte>& bytes) {
  if (bytes.size() != f.bytes) return false;
  for (std::uint32_t at = 0; at < f.bytes;) {
    const std::uint32_t n = std::min(f.piece_bytes, f.bytes - at);
    if (std::memcmp(bytes.data() + at, byte_of(in.bytes.data(), in.pieces.data(), f, at), n) != 0)
      return false;
    at += n;
  }
  return true;
}

/// Copies one event into the tables of another frame; its bytes stay in place.
void copy_event(const input_batch& from, std::size_t event, input_batch& to) {
  event_entry e = from.events[event];
  to.clear();
  to.bytes = from.bytes;
  to.used_bytes = from.used_bytes;
  for (const fragment_entry& f : from.fragments.subspan(e.first_fragment, e.fragments)) {
    fragment_entry& mine = to.fragments[to.used_fragments++];
    mine = f;
    mine.first_piece = to.used_pieces;
    mine.first_board = f.first_board - e.first_board;
    for (std::uint32_t k = 0; k * f.piece_bytes < f.bytes; ++k)
      to.pieces[to.used_pieces++] = from.pieces[f.first_piece + k];
  }
  std::ranges::copy(from.boards.subspan(e.first_board, e.boards), to.boards.begin());
  to.used_boards = e.boards;
  e.first_fragment = e.first_board = 0;
  to.events[to.used_events++] = e;
}

std::string about(const event_entry& event, const std::string& what) {
  return fmt::format("spill {}, event {}: {}", event.spill, event.number, what);
}

} // namespace

bool sampled_check::chosen(const event_entry& event) const {
  if (one_in_ == 0) return false;
  const std::uint64_t key = std::uint64_t{event.spill} << 32 | event.number;
  return splitmix(splitmix(run_ ^ salt) ^ key) % one_in_ == 0;
}

std::size_t sampled_check::memory() const {
  return reference_ ? sum_of(reference_->memory_plan()) : 0;
}

std::string sampled_check::wrong_with(const frame& f, std::size_t event) {
  const event_result& r = f.results[event];
  std::string wrong;
  if (r.kept != 0)
    wrong = wrong_with_packed(f, event);
  else if (f.summaries.empty())
    wrong = about(f.input.events[event], "is missing, but no selection rejects events");
  return wrong.empty() && reference_ ? wrong_with_decision(f, event) : wrong;
}

std::string sampled_check::wrong_with_packed(const frame& f, std::size_t event) {
  const event_entry& e = f.input.events[event];
  const event_result& r = f.results[event];
  if (r.offset > f.output.size() || r.bytes > f.output.size() - r.offset)
    return about(e, "lies outside the output");
  const auto view = packed_event_view::parse(f.output.subspan(r.offset, r.bytes));
  if (!view) return about(e, "is not a packed event");
  const packed_event& head = view->header();
  if (head.bytes != r.bytes || head.spill != e.spill || head.number != e.number ||
      head.fragments != e.fragments) {
    return about(e, "its header belongs to another event");
  }
  for (std::uint32_t k = 0; k < e.fragments; ++k) {
    const fragment_entry& original = f.input.fragments[e.first_fragment + k];
    if (view->fragment(k).crate != original.crate)
      return about(e, fmt::format("crate place {} holds another crate", original.crate));
    if (!rebuild_fragment(*view, k, rebuilt_, strong::decode_all))
      return about(e, fmt::format("crate place {} cannot be unpacked", original.crate));
    // Suppressed samples cannot be compared; the kept ones can.
    if (rebuilt_.size() == original.bytes && !view->is_whole()) {
      fill_absent_words(*view, k, rebuilt_, [&](std::uint32_t at) {
        return byte_of(f.input.bytes.data(), f.input.pieces.data(), original, at);
      });
    }
    if (!equals(f.input, original, rebuilt_))
      return about(e, fmt::format("crate place {} does not unpack to its input", original.crate));
  }
  return view->is_whole() || reference_ ? std::string()
                                        : about(e, "waveforms are missing, but no line drops any");
}

std::string sampled_check::wrong_with_decision(const frame& f, std::size_t event) {
  const event_entry& e = f.input.events[event];
  frame& one = *reference_->frames().front();
  copy_event(f.input, event, one.input);
  reference_->start(one);
  if (!reference_->wait(one)) return about(e, "the CPU cannot compute it: " + one.error);
  const event_result& expected = one.results.front();
  const event_result& found = f.results[event];
  if (found.kept != expected.kept)
    return about(e, found.kept != 0 ? "was kept, but the CPU rejects it"
                                    : "was rejected, but the CPU keeps it");
  if (f.summaries[event] != one.summaries.front())
    return about(e, "its summary differs from the CPU's");
  if (found.kept != 0 && !std::ranges::equal(f.output.subspan(found.offset, found.bytes),
                                             one.output.subspan(expected.offset, expected.bytes)))
    return about(e, "its packed bytes differ from the CPU's");
  return {};
}

} // namespace l3
