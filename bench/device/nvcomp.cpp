// SPDX-License-Identifier: Apache-2.0
// `koto-l3-bench nvcomp`: the codecs of NVIDIA's nvCOMP on waveforms of the same mix as `pack` has,
// from the memory of the device to the memory of the device, in chunks; beside a copy within the
// device. It is built where L3_NVCOMP names an unpacked nvCOMP 6.
#include <algorithm>
#include <cstring>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include <cuda_runtime_api.h>
#include <nvcomp.h>

#include "bench/codec/waveform_mix.hpp"
#include "bench/harness/measure.hpp"
#include "bench/harness/options.hpp"
#include "bench/harness/report.hpp"
#include "gpu/memory/device.hpp"
#include "tools/command.hpp"

namespace l3 {
namespace {

using namespace bench;
namespace json = boost::json;

struct nvcomp_options {
  std::uint64_t bytes = 256 << 20;
  std::uint64_t chunk = 64 << 10;
  turn_options turns{.rounds = 9};
};

void check(cudaError_t result) {
  if (result != cudaSuccess) throw std::runtime_error(cudaGetErrorString(result));
}
void check(nvcompStatus_t result) {
  if (result != nvcompSuccess)
    throw std::runtime_error(std::string("nvCOMP: ") + nvcompGetStatusString(result));
}

/// An array in device memory.
template <class T>
class on_device_array {
public:
  explicit on_device_array(std::size_t n)
      : n_(n), memory_(cuda_memory::allocate_on_device(std::max<std::size_t>(n, 1) * sizeof(T))) {}
  explicit on_device_array(const std::vector<T>& content) : on_device_array(content.size()) {
    check(cudaMemcpy(data(), content.data(), n_ * sizeof(T), cudaMemcpyHostToDevice));
  }
  [[nodiscard]] T* data() const { return reinterpret_cast<T*>(memory_.data()); }
  [[nodiscard]] std::vector<T> read() const {
    std::vector<T> content(n_);
    check(cudaMemcpy(content.data(), data(), n_ * sizeof(T), cudaMemcpyDeviceToHost));
    return content;
  }
  void poison() const { check(cudaMemset(data(), poison_byte, n_ * sizeof(T))); }

private:
  std::size_t n_;
  buffer memory_;
};

/// Where chunks of equal distance begin.
template <class Pointer>
on_device_array<Pointer> begins(std::byte* first, std::size_t distance, std::size_t n) {
  std::vector<Pointer> all(n);
  for (std::size_t i = 0; i < n; ++i) all[i] = first + i * distance;
  return on_device_array<Pointer>(all);
}

/// Waveforms in chunks, on the device.
struct chunks {
  chunks(const nvcomp_options& o)
      : chunk(o.chunk), n(o.bytes / o.chunk),
        samples(made_up_waveforms(n * chunk / (64 * sizeof(std::uint16_t)))), content(samples),
        begin(begins<const void*>(bytes(), chunk, n)), sizes(std::vector<std::size_t>(n, chunk)) {}

  [[nodiscard]] std::byte* bytes() const { return reinterpret_cast<std::byte*>(content.data()); }
  [[nodiscard]] std::size_t in_all() const { return n * chunk; }

  std::size_t chunk;
  std::size_t n;
  std::vector<std::uint16_t> samples;
  on_device_array<std::uint16_t> content;
  on_device_array<const void*> begin;
  on_device_array<std::size_t> sizes;
};

std::size_t aligned(std::size_t bytes) {
  constexpr std::size_t alignment = 256; // more than any codec asks for
  return (bytes + alignment - 1) / alignment * alignment;
}

/// A codec by its functions, as nvCOMP names them.
template <auto pack_room, auto pack_most, auto pack, auto unpack_room, auto unpack, class Pack,
          class Unpack>
class codec {
public:
  codec(const char* name, const chunks& from, Pack how, Unpack how_back)
      : name_(name), from_(from), how_(how), how_back_(how_back),
        distance_(aligned(value_of(pack_most, from.chunk, how))), packed_(distance_ * from.n),
        packed_begin_(begins<void*>(packed_.data(), distance_, from.n)), packed_sizes_(from.n),
        room_(value_of(pack_room, from.n, from.chunk, how, from.in_all())),
        unpacked_(from.in_all()),
        unpacked_begin_(begins<void*>(unpacked_.data(), from.chunk, from.n)),
        unpacked_sizes_(from.n),
        room_back_(value_of(unpack_room, from.n, from.chunk, how_back, from.in_all())),
        outcomes_(from.n) {}

  [[nodiscard]] entrant packs() {
    return {std::string(name_) + ", compress", [this] { packed_.poison(); },
            [this] {
              check(pack(from_.begin.data(), from_.sizes.data(), from_.chunk, from_.n, room_.data(),
                         room_bytes_, packed_begin_.data(), packed_sizes_.data(), how_,
                         outcomes_.data(), nullptr));
            },
            [this] { return all_well(); }, [] { check(cudaDeviceSynchronize()); }};
  }
  /// To be run after the other one.
  [[nodiscard]] entrant unpacks() {
    return {std::string(name_) + ", decompress", [this] { unpacked_.poison(); },
            [this] {
              check(unpack(const_cast<const void* const*>(packed_begin_.data()),
                           packed_sizes_.data(), from_.sizes.data(), unpacked_sizes_.data(),
                           from_.n, room_back_.data(), room_back_bytes_, unpacked_begin_.data(),
                           how_back_, outcomes_.data(), nullptr));
            },
            [this] { return all_well() && is_as_before(); },
            [] { check(cudaDeviceSynchronize()); }};
  }
  [[nodiscard]] double ratio() const {
    const std::vector<std::size_t> sizes = packed_sizes_.read();
    const auto bytes = std::accumulate(sizes.begin(), sizes.end(), std::size_t{0});
    return static_cast<double>(from_.in_all()) / static_cast<double>(bytes);
  }

private:
  static std::size_t value_of(decltype(pack_most) f, std::size_t chunk, Pack how) {
    std::size_t bytes = 0;
    check(f(chunk, how, &bytes));
    return bytes;
  }
  template <class F, class How>
  std::size_t value_of(F f, std::size_t n, std::size_t chunk, How how, std::size_t in_all) {
    std::size_t bytes = 0;
    check(f(n, chunk, how, &bytes, in_all, nullptr));
    (std::is_same_v<How, Pack> ? room_bytes_ : room_back_bytes_) = bytes;
    return bytes;
  }
  [[nodiscard]] bool all_well() const {
    const auto all = outcomes_.read();
    return std::ranges::all_of(all, [](nvcompStatus_t s) { return s == nvcompSuccess; });
  }
  [[nodiscard]] bool is_as_before() const {
    const auto bytes = unpacked_.read();
    return std::memcmp(bytes.data(), from_.samples.data(), bytes.size()) == 0;
  }

  const char* name_;
  const chunks& from_;
  Pack how_;
  Unpack how_back_;
  std::size_t room_bytes_ = 0;
  std::size_t room_back_bytes_ = 0;
  std::size_t distance_;
  on_device_array<std::byte> packed_;
  on_device_array<void*> packed_begin_;
  on_device_array<std::size_t> packed_sizes_;
  on_device_array<std::byte> room_;
  on_device_array<std::byte> unpacked_;
  on_device_array<void*> unpacked_begin_;
  on_device_array<std::size_t> unpacked_sizes_;
  on_device_array<std::byte> room_back_;
  on_device_array<nvcompStatus_t> outcomes_;
};

using bitcomp =
    codec<nvcompBatchedBitcompCompressGetTempSize,
          nvcompBatchedBitcompCompressGetMaxOutputChunkSize, nvcompBatchedBitcompCompressAsync,
          nvcompBatchedBitcompDecompressGetTempSize, nvcompBatchedBitcompDecompressAsync,
          nvcompBatchedBitcompCompressOpts_t, nvcompBatchedBitcompDecompressOpts_t>;
using cascaded =
    codec<nvcompBatchedCascadedCompressGetTempSize,
          nvcompBatchedCascadedCompressGetMaxOutputChunkSize, nvcompBatchedCascadedCompressAsync,
          nvcompBatchedCascadedDecompressGetTempSize, nvcompBatchedCascadedDecompressAsync,
          nvcompBatchedCascadedCompressOpts_t, nvcompBatchedCascadedDecompressOpts_t>;
using ans = codec<nvcompBatchedANSCompressGetTempSize,
                  nvcompBatchedANSCompressGetMaxOutputChunkSize, nvcompBatchedANSCompressAsync,
                  nvcompBatchedANSDecompressGetTempSize, nvcompBatchedANSDecompressAsync,
                  nvcompBatchedANSCompressOpts_t, nvcompBatchedANSDecompressOpts_t>;

entrant copy_within(const chunks& from, const on_device_array<std::byte>& to) {
  return {"copy within the device", [&] { to.poison(); },
          [&] {
            check(cudaMemcpyAsync(to.data(), from.content.data(), from.in_all(),
                                  cudaMemcpyDeviceToDevice, nullptr));
          },
          [&] {
            const auto bytes = to.read();
            return std::memcmp(bytes.data(), from.samples.data(), bytes.size()) == 0;
          },
          [] { check(cudaDeviceSynchronize()); }};
}

int run_bench(const nvcomp_options& o) {
  if (const std::string why_not = cuda::why_no_device(); !why_not.empty())
    throw command_error(why_not, exit_missing_resource);
  const chunks from(o);
  const on_device_array<std::byte> copied(from.in_all());
  auto with_words = nvcompBatchedBitcompCompressDefaultOpts;
  with_words.data_type = NVCOMP_TYPE_USHORT;
  auto of_words = nvcompBatchedCascadedCompressDefaultOpts;
  of_words.common_opts.data_type = NVCOMP_TYPE_USHORT;
  bitcomp first("Bitcomp", from, with_words, nvcompBatchedBitcompDecompressDefaultOpts);
  cascaded second("Cascaded", from, of_words, nvcompBatchedCascadedDecompressDefaultOpts);
  ans third("ANS", from, nvcompBatchedANSCompressDefaultOpts,
            nvcompBatchedANSDecompressDefaultOpts);
  const std::vector<entrant> entrants{
      copy_within(from, copied), first.packs(), first.unpacks(), second.packs(),
      second.unpacks(),          third.packs(), third.unpacks()};
  const std::vector<timing> times =
      measure(entrants, {o.turns.rounds, device_passes, start::in_turn, timer::wall});
  const double ratios[] = {1, first.ratio(), second.ratio(), third.ratio()};
  json::object report = report_of("nvcomp");
  report["bytes"] = from.in_all();
  report["chunk_bytes"] = from.chunk;
  json::array rows;
  for (std::size_t i = 0; i < times.size(); ++i) {
    json::object row = rated({{"what", entrants[i].name}}, "bytes_per_second",
                             static_cast<double>(from.in_all()), times[i]);
    row["of_copy"] = times[0].median / times[i].median;
    row["ratio"] = ratios[(i + 1) / 2];
    rows.push_back(std::move(row));
  }
  report["rows"] = std::move(rows);
  return print_report(report, o.turns.as_json, std::ranges::all_of(times, &timing::right));
}

} // namespace

void add_bench_nvcomp(CLI::App& program, command_body& run) {
  auto o = std::make_shared<nvcomp_options>();
  auto* c = program.add_subcommand("nvcomp", "nvCOMP's codecs on waveforms, within a device");
  add_size(*c, "--bytes", o->bytes, "Waveforms in all", 1 << 20, std::uint64_t{1} << 32);
  add_size(*c, "--chunk", o->chunk, "Compressed by itself", 4096, 1 << 24);
  add_turn_options(*c, o->turns);
  c->callback([o, &run] { run = [o] { return run_bench(*o); }; });
}

} // namespace l3
