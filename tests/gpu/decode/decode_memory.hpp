// SPDX-License-Identifier: Apache-2.0
// Batches in memory that the kernels of a queue can reach. On a CPU kernels read the tables and
// bytes of the host. These end where the last fragment ends, so that a sanitizer reports a kernel
// that reads beyond.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "gpu/decode/packet.hpp"
#include "tests/gpu/decode/make_boards.hpp"
#include "tests/gpu/executors/lent_memory.hpp"

namespace l3::test {

/// A batch on the host, and its copy in memory that the kernels of a queue can read.
template <class Queue>
class lent_batch {
public:
  lent_batch(Queue& queue, const std::vector<made_event>& events, std::uint32_t piece_bytes,
             randomness& r) {
    const batch_capacity c = capacity_for(events, piece_bytes);
    std::vector<std::byte> room(c.bytes);
    events_.resize(c.events);
    fragments_.resize(c.fragments);
    pieces_.resize(c.pieces);
    boards_.resize(c.boards);
    homes_.resize(c.boards);
    input_batch b;
    b.bytes = room;
    b.events = events_;
    b.fragments = fragments_;
    b.pieces = pieces_;
    b.boards = boards_;
    for (const made_event& e : events) add_event(b, e, piece_bytes, r);
    bytes_.assign(room.begin(), room.begin() + static_cast<std::ptrdiff_t>(end_of_last_piece()));

    host_.input = bytes_.data();
    host_.events = {events_.data(), b.used_events};
    host_.fragments = {fragments_.data(), b.used_fragments};
    host_.pieces = {pieces_.data(), b.used_pieces};
    host_.boards = {boards_.data(), b.used_boards};
    host_.homes = {homes_.data(), b.used_boards};
    there_ = host_;
    if constexpr (Queue::memory::has_device) {
      there_ = {lend(queue, bytes_.data(), bytes_.size()),
                lend(queue, host_.events),
                lend(queue, host_.fragments),
                lend(queue, host_.pieces),
                lend(queue, host_.boards),
                {}};
      lent_.emplace_back(queue, homes_.size() * sizeof(board_home));
      there_.homes = {reinterpret_cast<board_home*>(lent_.back().bytes().data()), b.used_boards};
    }
  }
  lent_batch(const lent_batch&) = delete;
  lent_batch& operator=(const lent_batch&) = delete;

  [[nodiscard]] const batch_view& host() const { return host_; }
  [[nodiscard]] const batch_view& there() const { return there_; }

private:
  [[nodiscard]] std::size_t end_of_last_piece() const {
    std::size_t end = 0;
    for (const fragment_entry& f : fragments_) {
      for (std::uint32_t at = 0; at < f.bytes; at += f.piece_bytes) {
        const std::size_t n = std::min(f.piece_bytes, f.bytes - at);
        end = std::max(end, pieces_[f.first_piece + at / f.piece_bytes] + n);
      }
    }
    return end;
  }

  const std::byte* lend(Queue& queue, const std::byte* from, std::size_t n) {
    lent_.emplace_back(queue, n);
    lent_.back().write(from, n);
    return lent_.back().bytes().data();
  }
  template <class T>
  column<const T> lend(Queue& queue, column<const T> from) {
    const auto* const first = reinterpret_cast<const std::byte*>(from.data());
    return {reinterpret_cast<const T*>(lend(queue, first, from.size() * sizeof(T))), from.size()};
  }

  std::vector<std::byte> bytes_;
  std::vector<event_entry> events_;
  std::vector<fragment_entry> fragments_;
  std::vector<piece_offset> pieces_;
  std::vector<board_entry> boards_;
  std::vector<board_home> homes_;
  std::vector<lent_memory<Queue>> lent_;
  batch_view host_;
  batch_view there_;
};

} // namespace l3::test
