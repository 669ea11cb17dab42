// SPDX-License-Identifier: Apache-2.0
// The engine on a given kind of queue. Where the queue's kernels run on host memory, a frame is its
// input, its columns and its output, read and written in place. Where they run on a device, each of
// these has a twin there, and only what a batch uses of them travels.
#pragma once

#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "gpu/memory.hpp"
#include "selection/engine.hpp"
#include "selection/sequence.hpp"

namespace l3 {

/// Bytes that the packed events of the fullest batch cannot exceed: a board's data is never longer
/// than its packet, a raw fragment as long as it is; tables, headers and padding come on top.
[[nodiscard]] inline std::size_t largest_output(const batch_capacity& c) {
  return round_up(c.bytes + std::size_t{c.events} * (sizeof(packed_event) + 2 * packed_alignment) +
                      std::size_t{c.fragments} * sizeof(packed_fragment) +
                      std::size_t{c.boards} * sizeof(packed_board),
                  4096);
}

/// The parts of a frame that lie in host memory and, on a device, have a twin there.
struct frame_parts {
  std::byte* input = nullptr;
  column<event_entry> events;
  column<fragment_entry> fragments;
  column<piece_offset> pieces;
  column<board_entry> boards;
  std::byte* output = nullptr;
  column<event_result> results;

  [[nodiscard]] static frame_parts take(region& from, const batch_capacity& c, std::size_t output) {
    constexpr std::size_t page = 4096;
    frame_parts p;
    p.input = static_cast<std::byte*>(from.take_bytes(c.bytes, page));
    p.events = from.take<event_entry>(c.events);
    p.fragments = from.take<fragment_entry>(c.fragments);
    p.pieces = from.take<piece_offset>(c.pieces);
    p.boards = from.take<board_entry>(c.boards);
    p.output = static_cast<std::byte*>(from.take_bytes(output, page));
    p.results = from.take<event_result>(c.events);
    return p;
  }
};

/// `Queue` runs kernels; `Queue::memory` allocates for it; `Decide` is the kernel that selects.
template <class Queue, class Decide = keep_all>
class basic_engine final : public engine {
  static constexpr bool has_device = Queue::memory::has_device;

public:
  /// Calls make_queue() for each frame. `parts` is whatever the queues need to outlive them.
  template <class MakeQueue>
  basic_engine(std::string_view name, const engine_limits& limits, MakeQueue&& make_queue,
               std::shared_ptr<void> parts = nullptr)
      : parts_(std::move(parts)),
        output_bytes_(limits.output_bytes != 0 ? round_up(limits.output_bytes, packed_alignment)
                                               : largest_output(limits.batch)) {
    name_ = name;
    for (std::uint32_t i = 0; i < limits.frames; ++i) {
      owned_.push_back(std::make_unique<own_frame>(limits.batch, output_bytes_, make_queue()));
      owned_.back()->index = i;
      frames_.push_back(owned_.back().get());
    }
    write_plan(limits);
  }

  void start(frame& f) override {
    auto& own = static_cast<own_frame&>(f);
    own.results = {};
    own.output = {};
    if constexpr (has_device) own.send_input();
    run_sequence<Decide>(own.queue, own.view(), own.columns, {own.parts.output, output_bytes_});
    if constexpr (has_device) own.fetch_results();
  }

  [[nodiscard]] bool wait(frame& f) override {
    auto& own = static_cast<own_frame&>(f);
    if constexpr (has_device) {
      f.error = own.queue.finish();
      if (!f.error.empty()) return false;
    }
    f.results = {own.host.results.data(), f.input.used_events};
    std::size_t bytes = 0;
    for (const event_result& r : f.results) {
      if (r.kept) bytes = r.offset + r.bytes;
    }
    if constexpr (has_device) {
      own.queue.copy_out(own.host.output, own.parts.output, bytes);
      f.error = own.queue.finish();
      if (!f.error.empty()) return false;
    }
    f.output = {own.host.output, bytes};
    return true;
  }

private:
  struct own_frame : frame {
    own_frame(const batch_capacity& c, std::size_t output_bytes, Queue q) : queue(std::move(q)) {
      region counted;
      (void)frame_parts::take(counted, c, output_bytes);
      host_memory = Queue::memory::allocate(counted.used());
      region here(host_memory);
      host = frame_parts::take(here, c, output_bytes);

      region arena;
      if constexpr (has_device) (void)frame_parts::take(arena, c, output_bytes);
      (void)take_columns(arena, c, {});
      if constexpr (has_device) {
        arena_memory = Queue::memory::allocate_on_device(arena.used());
      } else {
        arena_memory = Queue::memory::allocate(arena.used());
      }
      region there(arena_memory);
      parts = host;
      if constexpr (has_device) parts = frame_parts::take(there, c, output_bytes);
      columns = take_columns(there, c, parts.results);

      input.bytes = {host.input, c.bytes};
      input.events = {host.events.data(), c.events};
      input.fragments = {host.fragments.data(), c.fragments};
      input.pieces = {host.pieces.data(), c.pieces};
      input.boards = {host.boards.data(), c.boards};
      output_memory = {host.output, output_bytes};
    }

    [[nodiscard]] batch_view view() const {
      batch_view v;
      v.input = parts.input;
      v.events = {parts.events.data(), input.used_events};
      v.fragments = {parts.fragments.data(), input.used_fragments};
      v.pieces = {parts.pieces.data(), input.used_pieces};
      v.boards = {parts.boards.data(), input.used_boards};
      return v;
    }

    void send_input() {
      queue.copy_in(parts.input, host.input, input.used_bytes);
      send(parts.events, host.events, input.used_events);
      send(parts.fragments, host.fragments, input.used_fragments);
      send(parts.pieces, host.pieces, input.used_pieces);
      send(parts.boards, host.boards, input.used_boards);
    }
    template <class T>
    void send(column<T> to, column<T> from, std::uint32_t n) {
      queue.copy_in(to.data(), from.data(), n * sizeof(T));
    }

    void fetch_results() {
      queue.copy_out(host.results.data(), parts.results.data(),
                     input.used_events * sizeof(event_result));
    }

    buffer host_memory;
    buffer arena_memory;
    frame_parts host;
    frame_parts parts; ///< as the kernels see them: the same, or their twins on the device
    frame_columns columns;
    Queue queue; // last: it has finished before the memory goes
  };

  void write_plan(const engine_limits& limits) {
    std::size_t host = 0;
    std::size_t arena = 0;
    for (const auto& f : owned_) {
      host += f->host_memory.size();
      arena += f->arena_memory.size();
    }
    const std::size_t input = limits.frames * limits.batch.bytes;
    const std::size_t output = limits.frames * output_bytes_;
    plan_ = {{"frames: input", input},
             {"frames: output", output},
             {"frames: tables and results", host - input - output},
             {has_device ? "frames: device memory" : "frames: columns", arena}};
  }

  std::shared_ptr<void> parts_;
  std::size_t output_bytes_;
  std::vector<std::unique_ptr<own_frame>> owned_;
};

} // namespace l3
