// SPDX-License-Identifier: Apache-2.0
#include "gpu/executors/cuda.cuh" // first: device forms of kernels need its block

#include <algorithm>
#include <cstring>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "bench/device/device_pack.hpp"
#include "bench/harness/packed_events.hpp"
#include "bench/harness/queue_memory.hpp"
#include "selection/engine/frame_parts.hpp"
#include "selection/packing/packing_plan.hpp"

namespace l3::bench {
namespace {

class device_pack {
public:
  device_pack(const decode_batch& batch, const device_pack_expected& expected)
      : memory_(cuda_queue()), packets_(batch.bytes()), expected_(expected),
        input_(memory_.place(packets_)),
        samples_(memory_.place(std::as_bytes(std::span(expected.samples)))),
        output_(memory_.allocate(
            std::max({packets_.size(), largest_output(batch.capacity()), expected.slots.size()}))),
        capacity_(batch.capacity()), there_(memory_.place(input_, batch.view())) {
    std::vector<std::uint64_t> starts(capacity_.events);
    static_cast<void>(
        give_rooms(batch.view().events, batch.view().fragments, 0, starts.data()).value());
    starts_ = memory_.place(column<const std::uint64_t>(starts.data(), capacity_.events));
    region counted;
    take(counted);
    arena_ = memory_.allocate(counted.used());
    region from(arena_);
    take(from);
  }

  std::vector<device_pack_row> run(std::uint32_t rounds) {
    const output_view out{output_.data(), starts_};
    const waveform_slots slots{reinterpret_cast<const std::uint16_t*>(samples_.data()),
                               expected_.waveforms(), output_.data()};
    const std::uint64_t packets = packets_.size();
    const std::uint64_t waveforms = samples_.size();
    const std::uint64_t packed = packets + expected_.packed.size();
    const std::uint64_t encoded = packets + expected_.encoded.size();
    const std::uint64_t records = waveforms + expected_.record_bytes;
    std::vector<device_pack_row> rows;
    std::vector<entrant> entrants;
    const auto add_entrant = [&](device_pack_row row, std::function<void()> enqueue,
                                 std::function<bool()> is_right) {
      entrants.push_back({row.name, [this] { memory_.poison(output_); }, std::move(enqueue),
                          std::move(is_right), [this] { memory_.finish(); }});
      rows.push_back(std::move(row));
    };
    const auto add = [&](device_pack_row row, std::span<const std::byte> expected,
                         std::function<void()> enqueue) {
      add_entrant(std::move(row), std::move(enqueue),
                  [=, this] { return memory_.begins_with(output_, expected); });
    };
    // Boards lie in their slots; delivering them is not timed.
    const auto add_ours = [&](device_pack_row row, std::span<const std::byte> expected,
                              const frame_columns& columns, std::function<void()> enqueue) {
      add_entrant(std::move(row), std::move(enqueue), [=, this, &columns] {
        deliver(memory_.queue(), there_, columns, out);
        return std::ranges::equal(packed_bytes(), expected);
      });
    };
    cuda_queue& queue = memory_.queue();
    add({"copy of the packets", packets, 2 * packets}, packets_,
        [this] { memory_.copy_within(output_, input_, packets_.size()); });
    add_ours({"measure, pack, place", packets, packed}, expected_.packed, columns_,
             [&] { packing_plan<keep_all>::pack(queue, there_, columns_, out); });
    add_ours({"in the strong codec", packets, encoded}, expected_.encoded, encoding_,
             [&] { packing_plan<keep_all>::pack(queue, there_, encoding_, out); });
    add({"a block a waveform, a thread a byte", waveforms, records, true}, expected_.slots,
        [&] { queue.run(pack_by_blocks{}, slots.waveforms, slots); });
    add({"a thread a waveform", waveforms, records, true}, expected_.slots,
        [&] { queue.run(pack_by_threads{}, pack_by_threads::blocks(slots), slots); });
    std::vector<timing> times =
        measure(entrants, {rounds, device_passes, start::in_turn, timer::wall});
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i].time = std::move(times[i]);
    return rows;
  }

private:
  std::vector<std::byte> packed_bytes() {
    const auto* const read =
        memory_.read(results_.data(), capacity_.events * sizeof(event_result)).data();
    std::vector<event_result> results(capacity_.events);
    std::memcpy(results.data(), read, results.size() * sizeof(event_result));
    return packed_events(results, memory_.read(output_.data(), output_.size()));
  }

  void take(region& from) {
    results_ = from.take<event_result>(capacity_.events);
    columns_ = frame_columns::take(from, capacity_, results_, codec_id::koto, true);
    encoding_ = frame_columns::take(from, capacity_, results_, codec_id::strong, true);
  }

  queue_memory<cuda_queue> memory_;
  std::span<const std::byte> packets_;
  const device_pack_expected& expected_;
  buffer input_;
  buffer samples_;
  buffer output_;
  buffer arena_;
  batch_capacity capacity_;
  batch_view there_;
  column<event_result> results_;
  column<const std::uint64_t> starts_;
  frame_columns columns_;
  frame_columns encoding_;
};

} // namespace

std::string device_name() { return cuda::device_name(); }

std::vector<device_pack_row> cuda_pack(const decode_batch& batch,
                                       const device_pack_expected& expected, std::uint32_t rounds) {
  return device_pack(batch, expected).run(rounds);
}

} // namespace l3::bench
