// SPDX-License-Identifier: Apache-2.0
// `koto-l3 bench pipeline`: replay → daemon → receiver as separate programs on this machine: what
// TCP moves end to end beside what iperf3 moves over loopback in the same minute, and at which UDP
// rates not one event is lost.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#include <boost/json.hpp>

#include "tools/bench/bench.hpp"
#include "tools/rehearsal/child_process.hpp"
#include "tools/rehearsal/free_ports.hpp"
#include "tools/rehearsal/rehearsal.hpp"

namespace l3 {
namespace {

namespace json = boost::json;
using namespace std::chrono_literals;
constexpr double gigabyte = 1e9;

struct pipeline_options {
  std::uint32_t events = 2000;
  std::uint32_t loops = 4;
  std::string waveforms;
  std::vector<double> udp_rates{0.3, 0.6, 0.9, 1.2};
  std::string backend = "auto";
  bool as_json = false;
};

/// Bytes per second that iperf3 moves over loopback; nothing if it is not installed.
std::optional<double> iperf3(const std::filesystem::path& folder) {
  const char* program = "/usr/bin/iperf3";
  if (!std::filesystem::exists(program)) return std::nullopt;
  const std::string port = std::to_string(free_ports(1));
  child_process server({program, "-s", "-1", "-B", "127.0.0.1", "-p", port},
                       folder / "iperf3-server.log");
  std::this_thread::sleep_for(300ms);
  const auto output = folder / "iperf3.json";
  child_process client({program, "-c", "127.0.0.1", "-p", port, "-t", "5", "-J"}, output);
  if (client.wait(20s) != 0) return std::nullopt;
  std::stringstream text;
  text << std::ifstream(output).rdbuf();
  return json::parse(text.str())
             .at_pointer("/end/sum_received/bits_per_second")
             .to_number<double>() /
         8;
}

struct measured {
  std::string what;
  double rate = 0;  ///< input bytes per second
  double limit = 0; ///< 0: none
  std::string note;
};

class pipeline_bench {
public:
  explicit pipeline_bench(pipeline_options o) : options_(std::move(o)) {
    folder_ =
        std::filesystem::temp_directory_path() / ("koto-l3-bench-" + std::to_string(getpid()));
    std::filesystem::create_directories(folder_);
  }
  ~pipeline_bench() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  pipeline_bench(const pipeline_bench&) = delete;
  pipeline_bench& operator=(const pipeline_bench&) = delete;

  int run() {
    simulate();
    const auto limit = iperf3(folder_);
    if (limit) {
      add({"iperf3 over loopback, TCP", *limit, *limit, "the limit"});
    } else {
      std::fprintf(stderr, "bench: iperf3 is not installed: no ratio\n");
    }
    tcp(limit);
    for (const double rate : options_.udp_rates) udp(rate);
    if (options_.as_json) print_json();
    return ok_ ? 0 : exit_failure;
  }

private:
  void simulate() {
    data_ = folder_ / "spill.l2raw";
    std::vector<std::string> arguments{(program_folder() / "koto-l3").string(), "simulate",
                                       data_.string(), "--events", std::to_string(options_.events)};
    if (!options_.waveforms.empty())
      arguments.insert(arguments.end(), {"--waveforms", options_.waveforms});
    child_process p(arguments, folder_ / "simulate.log");
    if (p.wait(10min) != 0) throw command_error("the simulation failed");
  }

  rehearsal_result rehearsed(way_in way, const std::string& rate, const char* line_rate) {
    rehearsal_plan plan;
    plan.data = data_;
    plan.folder = folder_ / "run";
    plan.way = way;
    plan.rate = rate;
    plan.loops = options_.loops;
    plan.line_rate = line_rate;
    plan.backend = options_.backend;
    plan.verify = false; // the demo and the tests do that; here the ledgers must agree
    plan.quiet = true;
    rehearsal_result r = rehearse(plan);
    std::error_code ignored;
    std::filesystem::remove_all(plan.folder, ignored);
    return r;
  }

  void tcp(std::optional<double> limit) {
    const auto r = rehearsed(way_in::tcp, "max", "unlimited");
    add({"TCP end to end, output unpaced", static_cast<double>(r.daemon.bytes.in) / r.seconds,
         limit.value_or(0), summary(r)});
    ok_ = ok_ && r.ok();
  }

  void udp(double gigabytes) {
    char rate[32];
    std::snprintf(rate, sizeof rate, "%.3fGb/s", gigabytes * 8);
    const auto r = rehearsed(way_in::udp, rate, "unlimited");
    char what[64];
    std::snprintf(what, sizeof what, "UDP sent at %.2f GB/s", gigabytes);
    const double reached = static_cast<double>(r.replay.bytes.out) / r.seconds;
    add({what, reached, 0, summary(r)});
  }

  static std::string summary(const rehearsal_result& r) {
    char text[256];
    const auto lost = r.replay.events.admitted - r.receiver.events.forwarded;
    std::snprintf(
        text, sizeof text,
        "%llu events, %llu not stored; 99 %% latency %.1f ms; memory %.0f MB + %.1f %%",
        static_cast<unsigned long long>(r.replay.events.admitted),
        static_cast<unsigned long long>(lost), r.latency_p99 * 1e3,
        static_cast<double>(r.memory_ready) / 1e6,
        100.0 * (static_cast<double>(r.memory_peak) / static_cast<double>(r.memory_ready) - 1));
    return text;
  }

  void add(const measured& m) {
    results_.push_back(m);
    if (options_.as_json) return;
    std::printf("%-34s %7.3f GB/s", m.what.c_str(), m.rate / gigabyte);
    if (m.limit > 0) {
      std::printf("  %5.2f of the limit", m.rate / m.limit);
    } else {
      std::printf("%21s", "");
    }
    std::printf("  %s\n", m.note.c_str());
    std::fflush(stdout);
  }

  void print_json() const {
    json::array rows;
    for (const measured& m : results_) {
      rows.push_back(json::object{
          {"what", m.what}, {"bytes_per_second", m.rate}, {"limit", m.limit}, {"note", m.note}});
    }
    std::printf("%s\n", json::serialize(rows).c_str());
  }

  pipeline_options options_;
  std::filesystem::path folder_;
  std::filesystem::path data_;
  std::vector<measured> results_;
  bool ok_ = true;
};

} // namespace

void add_bench_pipeline(CLI::App& bench, command_body& run) {
  auto o = std::make_shared<pipeline_options>();
  auto* c = bench.add_subcommand(
      "pipeline",
      "Replay, daemon and receiver together: TCP beside iperf3, UDP rates without loss");
  c->add_option("--events", o->events, "Events to simulate")
      ->capture_default_str()
      ->check(CLI::Range(10U, 1'000'000U));
  c->add_option("--loops", o->loops, "How often they are sent")
      ->capture_default_str()
      ->check(CLI::Range(1U, 500U));
  c->add_option("--waveforms", o->waveforms, "Recorded waveforms in place of simulated ones");
  c->add_option("--udp", o->udp_rates, "UDP rates to try, in GB/s")
      ->capture_default_str()
      ->delimiter(',');
  c->add_option("--backend", o->backend, "Where the daemon's kernels run")->capture_default_str();
  c->add_flag("--json", o->as_json, "For machines");
  c->callback([o, &run] { run = [o] { return pipeline_bench(*o).run(); }; });
}

} // namespace l3
