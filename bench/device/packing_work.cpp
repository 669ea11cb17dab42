// SPDX-License-Identifier: Apache-2.0
#include "bench/device/packing_work.hpp"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <stdexcept>

#include "bench/codec/plain_loop.hpp"
#include "bench/codec/waveform_mix.hpp"
#include "bench/device/packing_stand.hpp"
#include "gpu/codec/waveforms.hpp"
#include "gpu/executors/pool.hpp"

namespace l3::bench {
namespace {

/// The system's estimate of what programs can still take.
std::uint64_t available_memory() {
  std::ifstream in("/proc/meminfo");
  std::string name, unit;
  std::uint64_t kibibytes = 0;
  while (in >> name >> kibibytes) {
    if (name == "MemAvailable:") return kibibytes << 10;
    std::getline(in, unit);
  }
  return ~std::uint64_t{0};
}

} // namespace

waveform_tile::waveform_tile(std::uint32_t waveforms)
    : size_(waveforms), samples_(made_up_waveforms(waveforms)),
      slots_(waveforms * waveform_slots::bytes, static_cast<std::byte>(poison_byte)) {
  const waveform_slots to{samples_.data(), waveforms, slots_.data()};
  for (std::uint32_t w = 0; w < waveforms; ++w) koto::pack_record(to.waveform(w), to.record(w));
}

bool waveform_tile::has_records(std::uint32_t n, std::span<const std::byte> records) const {
  for (std::uint32_t w = 0; w < n; ++w) {
    const std::byte* const one = &slots_[w * waveform_slots::bytes + waveform_slots::lead];
    const std::uint32_t bytes = koto::record_bytes(std::to_integer<std::uint32_t>(*one));
    if (bytes > records.size() || std::memcmp(records.data(), one, bytes) != 0) return false;
    records = records.subspan(bytes);
  }
  return true;
}

std::uint64_t waveform_tile::record_bytes(std::uint32_t waveforms) const {
  std::uint64_t all = 0;
  for_each(waveforms, [&](std::uint32_t, std::uint32_t n) {
    for (std::uint32_t w = 0; w < n; ++w)
      all += koto::record_bytes(
          std::to_integer<std::uint32_t>(slots_[w * waveform_slots::bytes + waveform_slots::lead]));
  });
  return all;
}

packet_work::packet_work(std::uint32_t events) : batch(events, 0) {
  const auto pack = [&](codec_id codec) {
    return packed_on_host(batch.capacity(), codec, nullptr,
                          [&](input_batch& to) { batch.copy_to(to); });
  };
  packed = pack(codec_id::koto);
  encoded = pack(codec_id::strong);
}

packing_rows core_packing(const waveform_tile& tile, std::uint32_t waveforms) {
  const auto out =
      std::make_shared<buffer>(host_memory::allocate(koto::max_packed_bytes(tile.size())));
  packing_rows made{"one core", true, {}, out, true};
  const std::uint64_t bytes = waveforms * std::uint64_t{koto::record_samples} * 2;
  // The output of each tile replaces that of the one before; the last tile may be smaller.
  const std::uint32_t last = (waveforms - 1) % tile.size() + 1;
  const auto add = [&, to = std::span(out->data(), out->size())](std::string name, auto pack) {
    entrant what{std::move(name), [to] { std::memset(to.data(), poison_byte, to.size()); },
                 [=, &tile] {
                   tile.for_each(waveforms, [&](std::uint32_t, std::uint32_t n) {
                     pack(tile.samples(n), to);
                   });
                 },
                 [=, &tile] { return tile.has_records(last, to); }};
    made.rows.push_back({std::move(what), bytes, bytes + tile.record_bytes(waveforms)});
  };
  add("plain loop, one core", [](auto from, auto to) { plain_pack(from, to); });
  add(std::string("koto-l3, ") + koto::waveform_codecs().front().name + ", one core",
      [](auto from, auto to) { static_cast<void>(koto::pack(from, to)); });
  return made;
}

packing_rows cpu_packing(const compute_settings& where, const waveform_tile& tile,
                         std::uint32_t waveforms, const packet_work* packets) {
  // A half of what is left is for other programs, and for board packets.
  if (packing_stand<pool_queue>::memory_of(waveforms) > available_memory() / 2)
    throw std::runtime_error("the machine has too little memory");
  const auto pool =
      std::make_shared<thread_pool>(where.where == backend::serial ? 1 : where.threads);
  packing_rows made = rows_of_stands([&] { return pool_queue(*pool); }, tile, waveforms, packets);
  made.stand = std::make_shared<std::pair<std::shared_ptr<thread_pool>, std::shared_ptr<void>>>(
      pool, std::move(made.stand));
  const std::uint32_t n = pool->threads();
  made.one_core = n == 1;
  made.where = n == 1 ? "one core" : "pool (" + std::to_string(n) + " threads)";
  return made;
}

} // namespace l3::bench
