// SPDX-License-Identifier: Apache-2.0
#include "bench/device/host_reference.hpp"

#include <algorithm>
#include <cstring>

#include "bench/decode/decoder.hpp"
#include "bench/harness/packed_events.hpp"
#include "gpu/executors/serial.hpp"
#include "selection/engine/frame_parts.hpp"
#include "selection/packing/packing_plan.hpp"

namespace l3::bench {

buffer decode_on_host(const decode_batch& batch, std::uint32_t threshold) {
  const batch_view in = batch.view();
  const auto take = [&](region from, decoded_batch& d) {
    d = decoded_batch::take(from, in.events.size(), in.boards.size());
    return from.used();
  };
  decoded_batch out;
  const std::size_t bytes = take(region(), out);
  buffer memory = host_memory::allocate(bytes);
  std::memset(memory.data(), poison_byte, bytes);
  take(region(memory), out);
  constexpr decode_techniques plain{true, true, false, false, true, false};
  const std::vector<std::uint32_t> list = decode_work(in, plain);
  serial_queue queue;
  run_decoder<plain>(queue, in, {list.data(), static_cast<std::uint32_t>(list.size())}, threshold,
                     out, 1);
  put_in_order(out, in);
  return memory;
}

void put_in_order(const decoded_batch& d, const batch_view& batch) {
  d.cursor[0] = 0;
  for (std::uint32_t e = 0; e < d.hit_counts.size(); ++e) {
    const event_entry& event = batch.events[e];
    std::uint32_t* const first = d.hits.data() + std::size_t{packet_lanes} * event.first_board;
    std::sort(first, first + std::min(d.hit_counts[e], packet_lanes * event.boards));
  }
}

std::vector<std::byte> pack_on_host(const decode_batch& batch, codec_id codec) {
  const batch_view in = batch.view();
  const batch_capacity c = batch.capacity();
  std::vector<event_result> results(c.events);
  std::vector<std::uint64_t> starts(c.events);
  const auto end = give_extents(in.events, in.fragments, 0, starts.data());
  std::vector<std::byte> output(end.value());
  region counted;
  static_cast<void>(frame_columns::take(counted, c, {nullptr, c.events}, codec, false));
  const buffer memory = host_memory::allocate(counted.used());
  region from(memory);
  const frame_columns columns =
      frame_columns::take(from, c, {results.data(), c.events}, codec, false);
  serial_queue queue;
  packing_plan<keep_all>::run(queue, in, columns, {output.data(), {starts.data(), c.events}});
  return packed_events(results, output);
}

} // namespace l3::bench
