// SPDX-License-Identifier: Apache-2.0
#include "gpu/executors/cuda.cuh" // first: device forms of kernels need its block

#include <algorithm>
#include <functional>
#include <span>
#include <utility>

#include "bench/device/device_pack.hpp"
#include "bench/harness/queue_memory.hpp"
#include "selection/engine/frame_parts.hpp"
#include "selection/packing/two_pass_plan.hpp"

namespace l3::bench {
namespace {

class device_pack {
public:
  device_pack(const decode_batch& batch, const device_pack_expected& expected)
      : memory_(cuda_queue()), packets_(batch.bytes()), expected_(expected),
        input_(memory_.place(packets_)),
        samples_(memory_.place(std::as_bytes(std::span(expected.samples)))),
        output_(memory_.allocate(std::max({packets_.size(), expected.packed.size(),
                                           expected.encoded.size(), expected.slots.size()}))),
        capacity_(batch.capacity()), there_(memory_.place(input_, batch.view())) {
    region counted;
    take(counted);
    arena_ = memory_.allocate(counted.used());
    region from(arena_);
    take(from);
  }

  std::vector<device_pack_row> run(std::uint32_t rounds) {
    const output_view out{output_.data(), output_.size()};
    const waveform_slots slots{reinterpret_cast<const std::uint16_t*>(samples_.data()),
                               expected_.waveforms(), output_.data()};
    const std::uint64_t packets = packets_.size();
    const std::uint64_t waveforms = samples_.size();
    const std::uint64_t packed = packets + expected_.packed.size();
    const std::uint64_t encoded = packets + expected_.encoded.size();
    const std::uint64_t records = waveforms + expected_.record_bytes;
    std::vector<device_pack_row> rows;
    std::vector<entrant> entrants;
    const auto add = [&](device_pack_row row, std::span<const std::byte> expected,
                         std::function<void()> enqueue) {
      entrants.push_back({row.name, [this] { memory_.poison(output_); }, std::move(enqueue),
                          [=, this] { return memory_.begins_with(output_, expected); },
                          [this] { memory_.finish(); }});
      rows.push_back(std::move(row));
    };
    cuda_queue& queue = memory_.queue();
    add({"copy of the packets", packets, 2 * packets}, packets_,
        [this] { memory_.copy_within(output_, input_, packets_.size()); });
    add({"measure, select, place, pack", packets, packed}, expected_.packed,
        [&] { two_pass_plan<keep_all>::run(queue, there_, columns_, out, summary_); });
    add({"in the strong codec", packets, encoded}, expected_.encoded,
        [&] { two_pass_plan<keep_all>::run(queue, there_, encoding_, out, summary_); });
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
  void take(region& from) {
    results_ = from.take<event_result>(capacity_.events);
    summary_ = from.take<frame_summary>(1).data();
    columns_ = frame_columns::take(from, capacity_, results_);
    encoding_ = frame_columns::take(from, capacity_, results_, codec_id::strong);
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
  frame_summary* summary_ = nullptr;
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
