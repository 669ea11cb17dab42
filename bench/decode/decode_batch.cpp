// SPDX-License-Identifier: Apache-2.0
#include "bench/decode/decode_batch.hpp"

#include <algorithm>
#include <cstring>

#include "bench/decode/decoder.hpp"
#include "bench/harness/made_up_batch.hpp"
#include "bench/harness/measure.hpp"
#include "gpu/executors/serial.hpp"

namespace l3::bench {

decode_batch::decode_batch(std::uint32_t events, std::uint32_t percent_opaque, bool varied)
    : held_batch(readout::koto(), events) {
  make_up_batch(batch_, 1, varied);
  constexpr std::uint32_t hundred = 100;
  constexpr std::uint32_t stride = 37; // coprime, so that these boards are not adjacent
  for (const fragment_entry& f : batch_.fragments.first(batch_.used_fragments)) {
    for (std::uint32_t i = f.first_board; i < f.first_board + f.boards; ++i)
      if (i * stride % hundred < percent_opaque) make_opaque(f, batch_.boards[i]);
  }
}

/// Marks a board of the fragment as opaque, although it has sent all its samples.
void decode_batch::make_opaque(const fragment_entry& f, board_entry& b) {
  b.opaque = 1;
  const std::uint32_t offset = b.offset + sizeof(std::uint16_t);
  const std::uint32_t piece = offset / f.piece_bytes;
  std::byte* const word =
      batch_.bytes.data() + batch_.pieces[f.first_piece + piece] + offset % f.piece_bytes;
  store_big(word, static_cast<std::uint16_t>(load_big<std::uint16_t>(word) | l2::compressed_bit));
}

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

} // namespace l3::bench
