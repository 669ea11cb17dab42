// SPDX-License-Identifier: Apache-2.0
// `koto-l3-bench pack` and `koto-l3-bench unpack`: waveforms to KOTO records and back on one core,
// from cache and from memory, compared with memcpy and a plain loop.
#include <algorithm>
#include <memory>
#include <vector>

#include "bench/codec/codec_entrants.hpp"
#include "bench/codec/waveform_mix.hpp"
#include "bench/harness/options.hpp"
#include "bench/harness/report.hpp"
#include "gpu/codec/koto.hpp"
#include "tools/command_line.hpp"

namespace l3 {
namespace {

using namespace bench;
namespace json = boost::json;

constexpr std::size_t waveform_bytes = koto::record_samples * sizeof(std::uint16_t);
constexpr std::uint32_t hot_passes = 8; // makes reading the clock negligible

struct codec_options {
  std::uint64_t hot_bytes = 256 << 10;
  std::uint64_t cold_bytes = 32 << 20;
  std::uint32_t hot_rounds = 101;
  std::uint32_t cold_rounds = 15;
  bool as_json = false;
};

/// Measures whole waveforms of `bytes`, and adds the result to each entrant's row as `name`.
/// Returns whether all outputs were right.
bool measure_codecs(codec_direction direction, std::span<const std::uint16_t> samples,
                    const char* name, effort e, json::array& rows) {
  const auto entrants = codec_entrants(direction, samples);
  const auto times = measure(entrants_of(entrants), e);
  const auto bytes = static_cast<double>(samples.size_bytes());
  rows.resize(entrants.size(), json::object{});
  for (std::size_t i = 0; i < entrants.size(); ++i) {
    json::object& row = rows[i].as_object();
    const auto& packed = entrants[i].packed_bytes;
    row["what"] = entrants[i].what.name;
    row["ratio"] = packed == nullptr ? 0 : bytes / static_cast<double>(*packed); // 0: a copy
    json::object rate = rated({}, "bytes_per_second", bytes, times[i]);
    rate["of_memcpy"] = times[0].median / times[i].median;
    row[name] = std::move(rate);
  }
  return std::ranges::all_of(times, &timing::right);
}

int run_codec_bench(codec_direction direction, const char* name, const codec_options& o) {
  const auto all = made_up_waveforms(o.cold_bytes / waveform_bytes);
  const auto hot = std::span(all).first(o.hot_bytes / waveform_bytes * koto::record_samples);
  json::array rows;
  const bool hot_right =
      measure_codecs(direction, hot, "hot", {o.hot_rounds, hot_passes, start::hot}, rows);
  const bool cold_right = measure_codecs(direction, all, "cold", {o.cold_rounds}, rows);
  json::object report = report_of(name);
  report["hot_bytes"] = hot.size_bytes();
  report["cold_bytes"] = std::span(all).size_bytes();
  report["rows"] = std::move(rows);
  return print_report(report, o.as_json, hot_right && cold_right);
}

void add_codec_bench(command_line program, command_body& run, codec_direction direction,
                     const char* name, const char* what) {
  auto o = std::make_shared<codec_options>();
  const auto c = program.add_subcommand(name, what);
  constexpr std::uint64_t most = 1 << 30;
  add_size(c, "--hot", o->hot_bytes, "Bytes of waveforms that stay in a core's caches",
           waveform_bytes, most);
  add_size(c, "--cold", o->cold_bytes, "Bytes of waveforms that come from memory each time",
           waveform_bytes, most);
  add_count(c, "--hot-rounds", o->hot_rounds, "Rounds of measurement with hot caches", 1, 10'000);
  add_count(c, "--cold-rounds", o->cold_rounds, "Rounds of measurement from memory", 1, 10'000);
  c.add_flag("--json", o->as_json, "Report as JSON");
  c.callback([o, &run, direction, name] {
    if (o->hot_bytes > o->cold_bytes) refuse_option("--hot", "is above --cold");
    run = [o, direction, name] { return run_codec_bench(direction, name, *o); };
  });
}

} // namespace

void add_bench_pack(command_line program, command_body& run) {
  add_codec_bench(program, run, codec_direction::pack, "pack",
                  "Pack waveforms as KOTO records on one core, beside memcpy");
}

void add_bench_unpack(command_line program, command_body& run) {
  add_codec_bench(program, run, codec_direction::unpack, "unpack",
                  "Unpack KOTO records on one core, beside memcpy");
}

} // namespace l3
