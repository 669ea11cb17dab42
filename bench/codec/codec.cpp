// SPDX-License-Identifier: Apache-2.0
// `koto-l3-bench pack` and `koto-l3-bench unpack`: waveforms to KOTO records and back on one core,
// from cache and from memory, compared with memcpy, a plain loop and general compressors.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "bench/codec/codec_entrants.hpp"
#include "bench/codec/general_codecs.hpp"
#include "bench/codec/waveform_mix.hpp"
#include "bench/harness/options.hpp"
#include "bench/harness/report.hpp"
#include "gpu/codec/koto.hpp"
#include "tools/command_line.hpp"

namespace l3::bench {
namespace {

struct codec_row {
  std::string name;
  double ratio = 0; ///< compression ratio; 0: a copy
  timing hot;
  timing cold;
};

struct codec_report {
  std::string bench;
  std::vector<std::size_t> by_n; ///< number with each N
  std::size_t hot_bytes = 0;     ///< waveform bytes per run
  std::size_t cold_bytes = 0;
  std::size_t cold_distance = 0; ///< bytes that others touch until an entrant gets its own again
  std::vector<codec_row> rows;   ///< the first is memcpy

  [[nodiscard]] bool all_right() const;
};

namespace json = boost::json;

json::object beside_memcpy(std::size_t bytes, const timing& t, const timing& memcpy) {
  json::object o = rated({}, "bytes_per_second", static_cast<double>(bytes), t);
  o["of_memcpy"] = memcpy.median / t.median;
  return o;
}

bool codec_report::all_right() const {
  return std::ranges::all_of(rows, [](const codec_row& r) { return r.hot.right && r.cold.right; });
}

json::object to_json(const codec_report& r) {
  json::object report = report_of(r.bench);
  report["by_n"] = json::value_from(r.by_n);
  report["hot_bytes"] = r.hot_bytes;
  report["cold_bytes"] = r.cold_bytes;
  report["cold_distance"] = r.cold_distance;
  const codec_row& memcpy = r.rows.front();
  json::array rows;
  for (const codec_row& row : r.rows) {
    rows.push_back(json::object{{"what", row.name},
                                {"ratio", row.ratio},
                                {"hot", beside_memcpy(r.hot_bytes, row.hot, memcpy.hot)},
                                {"cold", beside_memcpy(r.cold_bytes, row.cold, memcpy.cold)}});
  }
  report["rows"] = std::move(rows);
  return report;
}

} // namespace
} // namespace l3::bench

namespace l3 {
namespace {

using namespace bench;

constexpr std::size_t waveform_bytes = koto::record_samples * sizeof(std::uint16_t);
constexpr std::uint32_t hot_passes = 8; // makes reading the clock negligible

struct codec_options {
  std::uint64_t hot_bytes = 256 << 10;
  std::uint64_t cold_bytes = 32 << 20;
  std::uint32_t hot_rounds = 101;
  std::uint32_t cold_rounds = 15;
  bool as_json = false;
};

class codec_bench {
public:
  codec_bench(codec_direction direction, codec_options o)
      : direction_(direction), options_(o),
        samples_(made_up_waveforms(options_.cold_bytes / waveform_bytes)) {}

  int run() {
    const codec_report r = report();
    return print_report(to_json(r), options_.as_json, r.all_right());
  }

private:
  const char* name() const { return direction_ == codec_direction::pack ? "pack" : "unpack"; }

  std::span<const std::uint16_t> samples_of(std::uint64_t bytes) const {
    return std::span(samples_).first(bytes / waveform_bytes * koto::record_samples);
  }

  codec_report report() const {
    codec_report r;
    r.bench = name();
    r.by_n = count_by_n(samples_);
    r.hot_bytes = samples_of(options_.hot_bytes).size_bytes();
    r.cold_bytes = samples_of(options_.cold_bytes).size_bytes();

    const auto hot = codec_entrants(direction_, samples_of(options_.hot_bytes));
    const auto hot_times = measure(entrants_of(hot), {options_.hot_rounds, hot_passes, start::hot});
    const auto cold = codec_entrants(direction_, samples_of(options_.cold_bytes));
    const auto cold_times = measure(entrants_of(cold), {options_.cold_rounds});
    // All outputs are poisoned before a round, and every other entrant reads or writes its input.
    r.cold_distance = (2 * cold.size() - 1) * r.cold_bytes;
    for (std::size_t i = 0; i < cold.size(); ++i) {
      const auto& packed = cold[i].packed_bytes;
      const double ratio =
          packed == nullptr ? 0 : static_cast<double>(r.cold_bytes) / static_cast<double>(*packed);
      r.rows.push_back({cold[i].what.name, ratio, hot_times[i], cold_times[i]});
    }
    return r;
  }

  codec_direction direction_;
  codec_options options_;
  std::vector<std::uint16_t> samples_;
};

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
  c.callback([o, &run, direction] {
    if (o->hot_bytes > o->cold_bytes) refuse_option("--hot", "is above --cold");
    run = [o, direction] { return codec_bench(direction, *o).run(); };
  });
}

} // namespace

void add_bench_pack(command_line program, command_body& run) {
  add_codec_bench(program, run, codec_direction::pack, "pack",
                  "Pack waveforms as KOTO records on one core, beside memcpy and other codecs");
}

void add_bench_unpack(command_line program, command_body& run) {
  add_codec_bench(program, run, codec_direction::unpack, "unpack",
                  "Unpack KOTO records on one core, beside memcpy and other codecs");
}

} // namespace l3
