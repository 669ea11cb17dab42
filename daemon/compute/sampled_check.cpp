// SPDX-License-Identifier: Apache-2.0
#include "daemon/compute/sampled_check.hpp"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

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

std::string about(const event_entry& event, const std::string& what) {
  return fmt::format("spill {}, event {}: {}", event.spill, event.number, what);
}

} // namespace

bool sampled_check::chosen(const event_entry& event) const {
  if (one_in_ == 0) return false;
  const std::uint64_t key = std::uint64_t{event.spill} << 32 | event.number;
  return splitmix(splitmix(run_ ^ salt) ^ key) % one_in_ == 0;
}

std::string sampled_check::wrong_with(const frame& f, std::size_t event) {
  const event_entry& e = f.input.events[event];
  const event_result& r = f.results[event];
  if (r.no_room) return about(e, "found no room, and a frame's output has room for all");
  if (r.offset > f.output.size() || r.bytes > f.output.size() - r.offset)
    return about(e, "lies outside the output");
  const auto view = packed_event_view::parse(f.output.subspan(r.offset, r.bytes));
  if (!view) return about(e, "is not a packed event");
  const packed_event& head = view->header();
  if (head.bytes != r.bytes || head.spill != e.spill || head.number != e.number ||
      head.fragments != e.fragments) {
    return about(e, "its header is another event's");
  }
  for (std::uint32_t k = 0; k < e.fragments; ++k) {
    const fragment_entry& original = f.input.fragments[e.first_fragment + k];
    if (view->fragment(k).crate != original.crate)
      return about(e, fmt::format("crate place {} is another", original.crate));
    rebuild_fragment(*view, k, rebuilt_);
    // What was left out on purpose cannot be wrong; what is kept, can, also if it is rounded.
    if (rebuilt_.size() == original.bytes && !view->is_exact()) {
      settle_loose_words(*view, k, rebuilt_, [&](std::uint32_t at) {
        return byte_of(f.input.bytes.data(), f.input.pieces.data(), original, at);
      });
    }
    if (!equals(f.input, original, rebuilt_))
      return about(e,
                   fmt::format("crate place {} does not unpack to what came in", original.crate));
  }
  return {};
}

} // namespace l3
