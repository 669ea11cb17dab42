// SPDX-License-Identifier: Apache-2.0
#include "bench/building/reused_batches.hpp"

#include <algorithm>
#include <cstring>

#include "bench/harness/measure.hpp"

namespace l3::bench {
namespace {

/// Compares two fragments, each with its own pieces.
bool same_bytes(const input_batch& a, const fragment_entry& x, const input_batch& b,
                const fragment_entry& y) {
  if (x.bytes != y.bytes || x.crate != y.crate) return false;
  for (std::uint32_t at = 0; at < x.bytes;) {
    const std::uint32_t n = std::min(
        {x.bytes - at, x.piece_bytes - at % x.piece_bytes, y.piece_bytes - at % y.piece_bytes});
    if (std::memcmp(byte_of(a.bytes.data(), a.pieces.data(), x, at),
                    byte_of(b.bytes.data(), b.pieces.data(), y, at), n) != 0)
      return false;
    at += n;
  }
  return true;
}

bool same_event(const input_batch& a, const event_entry& x, const input_batch& b,
                const event_entry& y) {
  const auto fragments = [](const input_batch& v, const event_entry& e) {
    return v.fragments.subspan(e.first_fragment, e.fragments);
  };
  return x.spill == y.spill && x.number == y.number && x.flags == 0 && x.boards == y.boards &&
         std::ranges::equal(fragments(a, x), fragments(b, y),
                            [&](const fragment_entry& f, const fragment_entry& g) {
                              return same_bytes(a, f, b, g);
                            });
}

} // namespace

reused_batches::reused_batches(std::uint32_t batches, std::uint32_t events_in_each)
    : capacity_(capacity_of(readout::koto(), events_in_each, piece_bytes)) {
  for (std::uint32_t b = 0; b < batches; ++b)
    batches_.emplace_back(readout::koto(), events_in_each);
}

void reused_batches::begin(const made_up_events* sent) {
  serial_ = events_ = 0;
  as_sent_ = true;
  sent_ = sent;
  for (one_batch& b : batches_) b.taken = false;
}

input_batch* reused_batches::try_take() {
  const std::lock_guard lock(mutex_);
  const auto at = std::ranges::find(batches_, false, &one_batch::taken);
  if (at == batches_.end()) return nullptr;
  at->taken = true;
  input_batch& batch = at->input();
  batch.clear();
  batch.serial = ++serial_;
  if (sent_ != nullptr) std::memset(batch.bytes.data(), poison_byte, batch.bytes.size());
  return &batch;
}

void reused_batches::submit(input_batch& batch) {
  const std::lock_guard lock(mutex_);
  const auto at =
      std::ranges::find_if(batches_, [&](const one_batch& b) { return &b.input() == &batch; });
  events_ += batch.used_events;
  if (sent_ != nullptr) {
    const input_batch& sent = sent_->batch();
    as_sent_ =
        as_sent_ && std::ranges::all_of(batch.events.first(batch.used_events), [&](const auto& e) {
          return same_event(batch, e, sent, sent.events[e.number - 1]);
        });
  }
  at->taken = false;
}

} // namespace l3::bench
