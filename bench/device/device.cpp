// SPDX-License-Identifier: Apache-2.0
// `koto-l3-bench device`: packing within the memory of an executor, by KOTO's original kernels and
// by ours, over sizes from a megabyte up to what the memory allows. Each kernel is compared with a
// copy and with a plain loop on one core; its times get a fit a × size^b. The report answers KOTO's
// checklist: 1.4 GiB packed, copied in and copied out within a second each.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <optional>
#include <stdexcept>

#include "bench/device/copies.hpp"
#include "bench/device/packing_work.hpp"
#include "bench/harness/energy.hpp"
#include "bench/harness/options.hpp"
#include "bench/harness/report.hpp"
#include "tools/command_line.hpp"

namespace l3 {
namespace {

using namespace bench;
namespace json = boost::json;

constexpr double mebi = 1 << 20;
constexpr double gibi = 1 << 30;
constexpr std::uint64_t waveform_bytes = sizeof(std::uint16_t) * koto::record_samples;
/// Bytes of KOTO's checklist.
constexpr std::uint64_t checked_bytes = std::uint64_t{14} * (1 << 30) / 10;
constexpr std::uint64_t bytes_of_event = 581'632; // of the waveforms of 284 boards
/// Board packets beyond this are left out: frames are smaller.
constexpr std::uint64_t most_packet_bytes = 1 << 30;
/// Energy is measured at one size, the largest up to this: more than caches hold.
constexpr std::uint64_t energy_bytes = 256 << 20;
constexpr std::uint32_t tile_waveforms = 1 << 19; // 64 MiB

struct device_options {
  compute_settings compute;
  std::uint64_t least = 1 << 20;
  std::uint64_t most = std::uint64_t{10} << 30;
  std::string powercap = "/sys/class/powercap";
  turn_options turns{.rounds = 5};
};

/// seconds = a × (size in MiB)^b: least squares of the logarithms.
struct power_law {
  double a = 0;
  double b = 1;

  explicit power_law(const std::vector<std::pair<double, double>>& times) {
    double n = 0, x = 0, y = 0, xx = 0, xy = 0;
    for (const auto& [bytes, seconds] : times) {
      const double u = std::log(bytes / mebi);
      const double v = std::log(seconds);
      n += 1, x += u, y += v, xx += u * u, xy += u * v;
    }
    if (const double spread = n * xx - x * x; spread > 0) b = (n * xy - x * y) / spread;
    a = std::exp((y - b * x) / n);
  }
  [[nodiscard]] double seconds(double bytes) const { return a * std::pow(bytes / mebi, b); }
};

class device_bench {
public:
  explicit device_bench(const device_options& o)
      : options_(o), cuda_(on_device(o.compute)), meter_(o.powercap, cuda_),
        tile_(static_cast<std::uint32_t>(
            std::clamp<std::uint64_t>(o.most / waveform_bytes, 1, tile_waveforms))) {}

  int run() {
    const std::vector<std::uint64_t> all = sizes();
    for (const std::uint64_t bytes : all)
      if (bytes <= energy_bytes || bytes == all.front()) energy_at_ = bytes;
    for (const std::uint64_t bytes : all) {
      try {
        measure_size(bytes);
      } catch (const std::runtime_error& e) { // too little memory, also for larger ones
        if (rows_.empty()) throw;
        left_out_ = std::to_string(bytes >> 20) + " MiB and more: " + e.what();
        break;
      }
    }
    json::object report = report_of("device");
    report["backend"] = where_;
    report["left_out"] = left_out_;
    report["rows"] = std::move(rows_);
    report["fits"] = fits();
    return print_report(report, options_.turns.as_json, right_);
  }

private:
  struct measured {
    std::vector<std::pair<double, double>> times; ///< bytes and seconds
    double times_plain_loop = 0;                  ///< at the largest size
    used_energy energy{};                         ///< joules per GiB
  };

  [[nodiscard]] std::vector<std::uint64_t> sizes() const {
    std::vector<std::uint64_t> all{options_.most};
    for (std::uint64_t n = options_.least; n < options_.most; n *= 4) all.push_back(n);
    if (options_.least < checked_bytes && checked_bytes < options_.most)
      all.push_back(checked_bytes);
    std::ranges::sort(all);
    return all;
  }

  void measure_size(std::uint64_t bytes) {
    const auto waveforms =
        static_cast<std::uint32_t>(std::max<std::uint64_t>(bytes / waveform_bytes, 1));
    const std::uint64_t events =
        (bytes + bytes_of_event / 2) / bytes_of_event; // the nearest number
    std::optional<packet_work> packets;
    if (events != 0 && bytes <= most_packet_bytes)
      packets.emplace(static_cast<std::uint32_t>(events));
    const packet_work* const given = packets ? &*packets : nullptr;
    // Cores first: `plain_` is what the others are compared with.
    add(core_packing(tile_, waveforms), bytes);
    const packing_rows made = cuda_ ? cuda_packing(tile_, waveforms, given)
                                    : cpu_packing(options_.compute, tile_, waveforms, given);
    where_ = made.where;
    add(made, bytes);
  }

  void add(const packing_rows& made, std::uint64_t bytes) {
    std::vector<entrant> entrants;
    for (const packing_row& row : made.rows) entrants.push_back(row.what);
    // Long runs need few rounds, short ones several passes.
    constexpr std::uint64_t long_run = 256 << 20;
    const auto rounds = std::clamp<std::uint64_t>(options_.turns.rounds * long_run / bytes, 1,
                                                  options_.turns.rounds);
    const auto passes =
        std::clamp<std::uint64_t>(long_run / (cuda_ ? 1 : device_passes) / bytes, 1, device_passes);
    const std::vector<timing> times =
        measure(entrants, {static_cast<std::uint32_t>(rounds), static_cast<std::uint32_t>(passes),
                           start::in_turn, made.one_core ? timer::thread : timer::wall});
    if (made.is_baseline) plain_ = rate_of(made.rows.front(), times.front());
    for (std::size_t i = 0; i < times.size(); ++i) {
      const packing_row& row = made.rows[i];
      json::object o = rated({{"what", row.what.name}, {"bytes", row.input_bytes}},
                             "bytes_per_second", static_cast<double>(row.input_bytes), times[i]);
      o["seconds"] = times[i].median;
      o["times_plain_loop"] = rate_of(row, times[i]) / plain_;
      if (!made.is_baseline)
        o["of_copy"] = static_cast<double>(row.traffic) / times[i].median /
                       (static_cast<double>(made.rows.front().traffic) / times.front().median);
      rows_.push_back(std::move(o));
      right_ = right_ && times[i].right;
      measured& m = by_name(row.what.name);
      m.times.emplace_back(row.input_bytes, times[i].median);
      m.times_plain_loop = rate_of(row, times[i]) / plain_;
      if (bytes == energy_at_) m.energy = energy_of(row);
    }
  }

  static double rate_of(const packing_row& row, const timing& t) {
    return static_cast<double>(row.input_bytes) / t.median;
  }

  measured& by_name(const std::string& name) {
    const auto at = std::ranges::find(measured_, name, &std::pair<std::string, measured>::first);
    if (at != measured_.end()) return at->second;
    return measured_.emplace_back(name, measured{}).second;
  }

  /// Joules per GiB. Some devices renew their counters only ten times a second.
  [[nodiscard]] used_energy energy_of(const packing_row& row) const {
    const used_energy before = meter_.read();
    if (!before.is_measured()) return {};
    const auto until =
        std::chrono::steady_clock::now() + std::chrono::milliseconds(200) * options_.turns.rounds;
    double gibibytes = 0;
    while (std::chrono::steady_clock::now() < until) {
      row.what.run();
      row.what.finish();
      gibibytes += static_cast<double>(row.input_bytes) / gibi;
    }
    used_energy used = meter_.read().since(before);
    if (used.processors) *used.processors /= gibibytes;
    if (used.device) *used.device /= gibibytes;
    return used;
  }

  [[nodiscard]] json::array fits() const {
    const auto or_null = [](std::optional<double> x) { return x ? json::value(*x) : nullptr; };
    json::array all;
    const auto checked = [&](json::object row, double seconds) -> json::object& {
      row["seconds_for_1.4_gib"] = seconds;
      row["within_a_second"] = seconds <= 1;
      return all.emplace_back(std::move(row)).as_object();
    };
    for (const auto& [name, m] : measured_) {
      const power_law fit(m.times);
      json::object& row =
          checked({{"what", name}, {"microseconds_for_1_mib", 1e6 * fit.a}, {"exponent", fit.b}},
                  fit.seconds(checked_bytes));
      row["times_plain_loop"] = m.times_plain_loop;
      row["processor_joules_per_gib"] = or_null(m.energy.processors);
      row["device_joules_per_gib"] = or_null(m.energy.device);
    }
    if (!cuda_) return all;
    constexpr std::uint64_t copied = 48 * (std::uint64_t{256 << 20} / 48);
    for (const copy_row& r : cuda_copies(std::min(copied, 48 * (options_.most / 48)), 3))
      if (r.name == "host to device" || r.name == "device to host")
        checked({{"what", r.name}}, r.time.median * checked_bytes / static_cast<double>(r.bytes));
    return all;
  }

  device_options options_;
  bool cuda_;
  energy_meter meter_;
  waveform_tile tile_;
  std::string where_;
  std::string left_out_;
  std::uint64_t energy_at_ = 0;
  double plain_ = 1; ///< bytes per second of the plain loop at this size
  json::array rows_;
  std::vector<std::pair<std::string, measured>> measured_;
  bool right_ = true;
};

} // namespace

void add_bench_device(command_line program, command_body& run) {
  auto o = std::make_shared<device_options>();
  const auto c = program.add_subcommand(
      "device", "Pack within memory by KOTO's original kernels and ours, for many sizes, beside a "
                "copy and one core");
  constexpr std::uint64_t smallest = 4096, largest = std::uint64_t{64} << 30;
  add_compute_options(c, o->compute);
  add_size(c, "--least", o->least,
           "First size in bytes of waveforms; each next one is 4 times as large", smallest,
           largest);
  add_size(c, "--most", o->most, "Last size; it must fit in memory", smallest, largest);
  c.add_option("--powercap", o->powercap,
               "Folder in which the system counts the processors' energy")
      .capture_default_str();
  add_turn_options(c, o->turns);
  c.callback([o, &run] {
    if (o->least > o->most) refuse_option("--least", "is above --most");
    run = [o] { return device_bench(*o).run(); };
  });
}

} // namespace l3
