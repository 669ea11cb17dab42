// SPDX-License-Identifier: Apache-2.0
// Packing on one kind of queue: a copy, KOTO's original kernels, and on board packets ours in both
// codecs.
#pragma once

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "bench/device/packing_work.hpp"
#include "bench/harness/packed_events.hpp"
#include "bench/harness/queue_memory.hpp"
#include "selection/engine/frame_parts.hpp"
#include "selection/packing/packing_plan.hpp"

namespace l3::bench {

/// KOTO's original kernels.
template <class Queue>
class packing_stand {
public:
  /// The tile outlives this object.
  packing_stand(Queue queue, const waveform_tile& tile, std::uint32_t waveforms)
      : memory_(std::move(queue)), tile_(tile),
        input_(memory_.allocate(waveforms * waveform_bytes)),
        output_(memory_.allocate(waveforms * waveform_slots::bytes)),
        slots_{reinterpret_cast<const std::uint16_t*>(input_.data()), waveforms, output_.data()} {
    tile_.for_each(waveforms, [&](std::uint32_t w, std::uint32_t n) {
      memory_.write(part(input_, w * waveform_bytes, n * waveform_bytes),
                    std::as_bytes(tile_.samples(n)));
    });
  }

  [[nodiscard]] static std::uint64_t memory_of(std::uint32_t waveforms) {
    return waveforms * (waveform_bytes + waveform_slots::bytes);
  }

  void add_rows(std::vector<packing_row>& rows) {
    const std::uint64_t bytes = slots_.waveforms * waveform_bytes;
    const auto add = [&](const char* name, std::uint64_t written, auto enqueue, auto is_right) {
      rows.push_back({{name, [this] { memory_.poison(output_); }, enqueue, is_right,
                       [this] { memory_.finish(); }},
                      bytes,
                      bytes + written});
    };
    add(
        "copy", bytes, [=, this] { memory_.copy_within(output_, input_, bytes); },
        [this] {
          return equals(waveform_bytes,
                        [&](std::uint32_t n) { return std::as_bytes(tile_.samples(n)); });
        });
    const std::uint64_t records = tile_.record_bytes(slots_.waveforms);
    const auto add_kernel = [&](const char* name, auto kernel) {
      add(
          name, records, [=, this] { memory_.queue().run(kernel, kernel.blocks(slots_), slots_); },
          [this] {
            return equals(waveform_slots::bytes, [&](std::uint32_t n) { return tile_.slots(n); });
          });
    };
    using enum extremes_by;
    using enum a_thread_for;
    add_kernel("a thread a waveform", pack_by_threads{});
    add_kernel("a block a waveform: tree, a thread a byte", pack_by_blocks<tree, each_byte>{});
    add_kernel("a block a waveform: atomics, a thread a byte",
               pack_by_blocks<atomics, each_byte>{});
    add_kernel("a block a waveform: tree, a thread a sample", pack_by_blocks<tree, each_sample>{});
    add_kernel("a block a waveform: atomics, a thread a sample",
               pack_by_blocks<atomics, each_sample>{});
  }

private:
  static constexpr std::uint64_t waveform_bytes = sizeof(std::uint16_t) * koto::record_samples;

  /// Not owned.
  [[nodiscard]] static buffer part(const buffer& of, std::uint64_t from, std::uint64_t n) {
    return {of.data() + from, n, [](std::byte*, std::size_t) {}};
  }
  /// Compares the output tile by tile with expected(waveforms of the tile).
  template <class F>
  [[nodiscard]] bool equals(std::uint64_t bytes_of_one, F&& expected) {
    bool right = true;
    tile_.for_each(slots_.waveforms, [&](std::uint32_t w, std::uint32_t n) {
      right = right &&
              memory_.begins_with(part(output_, w * bytes_of_one, n * bytes_of_one), expected(n));
    });
    return right;
  }

  queue_memory<Queue> memory_;
  const waveform_tile& tile_;
  buffer input_;
  buffer output_;
  waveform_slots slots_;
};

/// Our kernels on board packets.
template <class Queue>
class packet_stand {
public:
  /// The work outlives this object.
  packet_stand(Queue queue, const packet_work& work)
      : memory_(std::move(queue)), work_(work), capacity_(work.batch.capacity()),
        input_(memory_.place(work.batch.bytes())),
        output_(memory_.allocate(largest_output(capacity_))),
        there_(memory_.place(input_, work.batch.view())) {
    std::vector<std::uint64_t> starts(capacity_.events);
    const batch_view in = work.batch.view();
    static_cast<void>(give_extents(in.events, in.fragments, 0, starts.data()).value());
    starts_ = memory_.place(column<const std::uint64_t>(starts.data(), capacity_.events));
    region counted;
    take(counted);
    arena_ = memory_.allocate(counted.used());
    region from(arena_);
    take(from);
  }

  void add_rows(std::vector<packing_row>& rows) {
    const std::uint64_t bytes = work_.batch.fragment_bytes();
    const auto add = [&](const char* name, const std::vector<std::byte>& expected,
                         const frame_columns& columns) {
      rows.push_back(
          {{name, [this] { memory_.poison(output_); }, [this, &columns] { run(columns); },
            [this, &expected, &columns] {
              deliver_slots(columns);
              return std::ranges::equal(packed_bytes(), expected);
            },
            [this] { memory_.finish(); }},
           bytes,
           bytes + expected.size()});
    };
    add("koto-l3, board packets", work_.packed, columns_);
    add("koto-l3, board packets, strong codec", work_.encoded, encoding_);
  }

private:
  static constexpr bool has_slots = Queue::memory::has_device;

  void run(const frame_columns& columns) {
    const output_view out{output_.data(), starts_};
    if constexpr (has_slots) {
      packing_plan<keep_all>::pack(memory_.queue(), there_, columns, out);
    } else {
      packing_plan<keep_all>::run(memory_.queue(), there_, columns, out);
    }
  }
  /// A device leaves boards in slots. Delivering them is not timed.
  void deliver_slots(const frame_columns& columns) {
    if constexpr (has_slots)
      deliver(memory_.queue(), there_, columns, output_view{output_.data(), starts_});
  }
  std::vector<std::byte> packed_bytes() {
    const auto* const read =
        memory_.read(results_.data(), capacity_.events * sizeof(event_result)).data();
    std::vector<event_result> results(capacity_.events);
    std::memcpy(results.data(), read, results.size() * sizeof(event_result));
    return packed_events(results, memory_.read(output_.data(), output_.size()));
  }
  void take(region& from) {
    results_ = from.take<event_result>(capacity_.events);
    columns_ = frame_columns::take(from, capacity_, results_, codec_id::koto, has_slots);
    encoding_ = frame_columns::take(from, capacity_, results_, codec_id::strong, has_slots);
  }

  queue_memory<Queue> memory_;
  const packet_work& work_;
  batch_capacity capacity_;
  buffer input_;
  buffer output_;
  buffer arena_;
  batch_view there_;
  column<event_result> results_;
  column<const std::uint64_t> starts_;
  frame_columns columns_;
  frame_columns encoding_;
};

/// The rows of both, if board packets are given. `make_queue` is called for each.
template <class MakeQueue>
[[nodiscard]] packing_rows rows_of_stands(const MakeQueue& make_queue, const waveform_tile& tile,
                                          std::uint32_t waveforms, const packet_work* packets) {
  using queue = std::invoke_result_t<MakeQueue>;
  struct stands {
    packing_stand<queue> first;
    std::unique_ptr<packet_stand<queue>> ours;
  };
  const auto made = std::make_shared<stands>(
      stands{packing_stand<queue>(make_queue(), tile, waveforms),
             packets ? std::make_unique<packet_stand<queue>>(make_queue(), *packets) : nullptr});
  packing_rows all;
  made->first.add_rows(all.rows);
  if (made->ours) made->ours->add_rows(all.rows);
  all.stand = made;
  return all;
}

} // namespace l3::bench
