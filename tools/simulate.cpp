// SPDX-License-Identifier: Apache-2.0
// `koto-l3 simulate`: writes level-2 data with known truth.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <memory>
#include <optional>
#include <string_view>
#include <thread>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "config/toml/complaints.hpp"
#include "tools/command_line.hpp"
#include "tools/evaluate/evaluation.hpp"
#include "tools/interrupt.hpp"
#include "tools/pending_file.hpp"
#include "tools/print.hpp"
#include "tools/progress.hpp"
#include "tools/simulation/simulation.hpp"

namespace l3 {
namespace {

struct options {
  std::string out;
  simulation_settings settings;
  std::uint32_t run = 1;
  std::uint32_t samples = 64;
  std::string waveforms;
  std::string type;
  std::string offline;
  std::string detector_file;
  bool json = false;
};

constexpr std::uint32_t most_spills = 511;              // numbers from 1 until they wrap
constexpr std::uint32_t most_events_per_spill = 131072; // a daemon's default

/// A pipe or a device has no truth file.
std::string truth_name_of(const std::string& out) {
  const bool is_file = !std::filesystem::exists(out) || std::filesystem::is_regular_file(out);
  return is_file ? out + ".truth.jsonl" : "/dev/null";
}

bool is_truth(std::string_view begin) { return begin.starts_with(R"({"spill":)"); }
bool is_level_2(std::string_view begin) { return begin.starts_with("KL3R"); }
bool is_nothing(std::string_view /*begin*/) { return false; }

void report(const options& o, const type_counts& counts, std::uint64_t bytes, double seconds) {
  const auto rate = seconds > 0 ? o.settings.events / seconds : 0.0;
  const std::string truth = truth_name_of(o.out);
  boost::json::object types;
  for (std::size_t t = 0; t < counts.size(); ++t)
    if (counts[t] != 0) types[name_of(static_cast<event_type>(t))] = counts[t];
  if (o.json) {
    const boost::json::object all{{"file", o.out},
                                  {"truth", truth},
                                  {"events", o.settings.events},
                                  {"spills", o.settings.spills},
                                  {"bytes", bytes},
                                  {"seconds", seconds},
                                  {"events_per_second", rate},
                                  {"types", types}};
    print_json("{}\n", boost::json::serialize(all));
    return;
  }
  print_plain(
      "{}: {} events in {} spill{}, {:.1f} MB, in {:.1f} s ({:.0f} events/s); truth in {}\n", o.out,
      o.settings.events, o.settings.spills, o.settings.spills == 1 ? "" : "s",
      static_cast<double>(bytes) / 1e6, seconds, rate, truth);
  for (std::size_t t = 0; t < counts.size(); ++t)
    if (counts[t] != 0)
      print_plain("  {:<14} {:8}  {:5.1f} %\n", name_of(static_cast<event_type>(t)), counts[t],
                  100.0 * static_cast<double>(counts[t]) / o.settings.events);
}

/// The names of all types that can be simulated.
std::vector<std::string_view> type_names() {
  std::vector<std::string_view> names;
  for (std::size_t t = 0; t < static_cast<std::size_t>(event_type::recorded); ++t)
    names.push_back(name_of(static_cast<event_type>(t)));
  return names;
}

int simulate(options o) {
  if (o.settings.events < o.settings.spills)
    throw command_error(
        fmt::format("fewer events ({}) than spills ({})", o.settings.events, o.settings.spills),
        exit_usage);
  if (o.settings.events / o.settings.spills >= most_events_per_spill)
    throw command_error(
        fmt::format("more than {} events per spill: increase --spills", most_events_per_spill),
        exit_usage);
  if (o.settings.threads == 0)
    o.settings.threads = std::max(1U, std::thread::hardware_concurrency());

  if (!o.type.empty()) {
    o.settings.only = event_type_named(o.type);
    if (!o.settings.only || *o.settings.only == event_type::recorded)
      throw command_error(
          fmt::format("--type: there is no type {}; {}", o.type, suggest(o.type, type_names())),
          exit_usage);
  }

  check_replaced("simulate", truth_name_of(o.out), is_truth);
  // Recorded data look the same, but have no truth beside them.
  check_replaced("simulate", o.out,
                 std::filesystem::exists(truth_name_of(o.out)) ? is_level_2 : is_nothing);
  interrupt signals;
  if (!o.detector_file.empty()) check_readable(o.detector_file);
  const auto d = o.detector_file.empty() ? default_detector() : read_detector(o.detector_file);
  std::optional<recordings> waveforms;
  if (!o.waveforms.empty()) {
    check_readable(o.waveforms);
    o.settings.waveforms = &waveforms.emplace(o.waveforms, o.samples);
  }

  if (!o.offline.empty()) {
    if (o.settings.only != event_type::pi0nunu)
      throw command_error("--offline: only --type pi0nunu passes the offline cuts", exit_usage);
    o.settings.wanted = [&d, all = o.offline == "all"](const true_event& e) {
      const auto judged = judge_offline(e, d);
      return all ? judged.passes() : judged.photons;
    };
  }

  const auto start = std::chrono::steady_clock::now();
  pending_file data_name(o.out);
  auto data =
      opened([&] { return std::make_unique<l2raw_writer>(data_name.path(), o.run, d.crates()); });
  whole_file truth(truth_name_of(o.out));
  simulation s(d, o.settings);
  progress line("simulate", o.settings.events, "events");
  const auto counts = s.run(*data, truth, [&](std::uint64_t n) {
    signals.check("interrupted: nothing is written");
    line.update(n);
  });
  data->close();
  truth.finish();
  data_name.finish();
  line.clear();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  report(o, counts, data->bytes_written(), took.count());
  return 0;
}

} // namespace

void add_simulate(command_line program, command_body& run) {
  auto o = std::make_shared<options>();
  const auto c = program.add_subcommand("simulate", "write level-2 data with known truth");
  c.footer("Footer words are all 0x6000: the sums of the older trigger are zero.");
  c.add_option("out", o->out,
               "the .l2raw file to write; the truth goes to OUT.truth.jsonl, unless OUT is a pipe")
      .required();
  c.add_option("--events", o->settings.events, "events in all spills together")
      .check(in_range(1U, most_spills * most_events_per_spill))
      .capture_default_str();
  c.add_option("--spills", o->settings.spills, "spills, numbered from 1")
      .check(in_range(1U, most_spills))
      .capture_default_str();
  c.add_option("--seed", o->settings.seed,
               "seed of the random numbers; the same seed gives the "
               "same bytes")
      .capture_default_str();
  c.add_option("--run", o->run, "run number").capture_default_str();
  const option type =
      c.add_option("--type", o->type, "only events of this true type, not the mixture");
  c.add_option("--offline", o->offline,
               "only signal whose truth passes these offline cuts: photons, or all (also those on "
               "counters)")
      .check(one_of({"photons", "all"}))
      .needs(type);
  const option file =
      c.add_option("--waveforms", o->waveforms,
                   "recorded waveforms (little-endian u16) instead of simulated ones");
  c.add_option("--samples", o->samples, "samples per recorded waveform")
      .check(one_of({"64", "256"}))
      .capture_default_str()
      .needs(file);
  file.excludes(type);
  c.add_option("--detector", o->detector_file,
               "description of the detector; by default the built-in one");
  const auto whole = [](const std::string& text) {
    const auto size = read_real_number(text);
    return size && *size == std::floor(*size) ? std::string() : text + " is not a whole number";
  };
  for (const auto& e : effect_options) {
    const option effect =
        c.add_option("--" + std::string(e.name), o->settings.effects.*e.size, std::string(e.what))
            .check(in_range(e.least, e.most))
            .capture_default_str()
            .group("Effects that the selection does not know")
            .excludes(file);
    if (e.whole) effect.check(whole);
  }
  c.add_option("--threads", o->settings.threads, "threads of the simulation; 0: one per processor")
      .check(in_range(0U, 256U))
      .capture_default_str();
  c.add_flag("--json", o->json, "report as JSON");
  c.callback([o, &run] { run = [o] { return simulate(*o); }; });
}

} // namespace l3
