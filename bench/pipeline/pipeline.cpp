// SPDX-License-Identifier: Apache-2.0
// `koto-l3-bench pipeline`: replay → daemon → receiver as separate programs on this machine. It
// measures the end-to-end TCP rate, compared with iperf3 over loopback in the same minute, and the
// UDP rates without a lost event.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <span>
#include <sstream>
#include <string>
#include <unistd.h>
#include <vector>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "bench/harness/report.hpp"
#include "tools/command_line.hpp"
#include "tools/print.hpp"
#include "tools/rehearsal/child_process.hpp"
#include "tools/rehearsal/rehearsal.hpp"

namespace l3 {
namespace {

namespace json = boost::json;
using namespace std::chrono_literals;

constexpr double gigabyte = 1e9;

struct iperf3_result {
  std::optional<double> rate; ///< bytes per second
  std::string why_not;        ///< if there is no rate
};

constexpr auto start_time_limit = 5s;
constexpr auto run_time_limit = 20s;
constexpr double bits = 8; // per byte

/// The client's result; nothing if it could not connect or its output is invalid.
std::optional<double> rate_in(const std::filesystem::path& output) {
  std::stringstream text;
  text << std::ifstream(output).rdbuf();
  json::error_code error;
  const auto said = json::parse(text.str(), error);
  if (error) return std::nullopt;
  const auto* rate = said.find_pointer("/end/sum_received/bits_per_second", error);
  return rate != nullptr && rate->is_number() ? std::optional(rate->to_number<double>() / bits)
                                              : std::nullopt;
}

/// The rate of iperf3 over loopback on this machine: the limit for TCP. Runs for some seconds, with
/// its output in `folder`.
iperf3_result run_iperf3(const std::filesystem::path& folder) {
  const auto program = find_program("iperf3");
  if (!program) return {{}, "iperf3 is not in PATH"};
  const std::string port = std::to_string(free_ports(1));
  child_process server({program->string(), "-s", "-1", "-B", "127.0.0.1", "-p", port},
                       folder / "iperf3-server.log");
  // It serves one connection and ends, so only a real client can check whether it listens.
  const auto output = folder / "iperf3.json";
  const auto deadline = std::chrono::steady_clock::now() + start_time_limit;
  do {
    std::filesystem::remove(output);
    child_process client({program->string(), "-c", "127.0.0.1", "-p", port, "-t", "5", "-J"},
                         output);
    const auto code = client.wait(run_time_limit);
    if (!code) return {{}, "iperf3 did not end"};
    if (const auto rate = rate_in(output); code == 0 && rate) return {rate, {}};
  } while (server.running() && std::chrono::steady_clock::now() < deadline);
  return {{}, "iperf3 failed: see " + output.string()};
}

// Losing events over UDP at some rate is a result, not a failure: the bench is to find where loss
// begins. It fails if events are lost below a lossless rate, or up to the required rate.

struct udp_trial {
  double rate = 0; ///< reached by the sender, bytes per second
  std::uint64_t lost = 0;
};

/// The highest rate without loss; 0 if there was none.
double sustained(std::span<const udp_trial> trials) {
  double best = 0;
  for (const auto& t : trials) {
    if (t.lost == 0) best = std::max(best, t.rate);
  }
  return best;
}

/// The trials that lost events where no loss is allowed.
std::vector<udp_trial> broken_claims(std::span<const udp_trial> trials, double must_sustain) {
  const double claim = std::max(must_sustain, sustained(trials));
  std::vector<udp_trial> broken;
  std::ranges::copy_if(trials, std::back_inserter(broken),
                       [&](const udp_trial& t) { return t.lost != 0 && t.rate <= claim; });
  return broken;
}

struct pipeline_options {
  workload data{.events = 2000};
  std::uint32_t loops = 4;
  std::vector<double> udp_rates{0.3, 0.6, 0.9, 1.2}; ///< GB/s
  std::optional<double> must_sustain;                ///< GB/s
  bool as_json = false;
};

struct measured {
  std::string what;
  std::optional<double> rate;  ///< input bytes per second; nothing: not measured
  std::optional<double> limit; ///< the machine's limit
  std::string note;
};

class pipeline_bench {
public:
  explicit pipeline_bench(pipeline_options o) : options_(std::move(o)) {
    folder_ =
        std::filesystem::temp_directory_path() / ("koto-l3-bench-" + std::to_string(getpid()));
    std::filesystem::create_directories(folder_);
  }
  /// If something failed, the folder with its logs and ledgers is kept.
  ~pipeline_bench() {
    std::error_code ignored;
    if (ok_) std::filesystem::remove_all(folder_, ignored);
  }
  pipeline_bench(const pipeline_bench&) = delete;
  pipeline_bench& operator=(const pipeline_bench&) = delete;

  int run() {
    data_ = folder_ / "spill.l2raw";
    simulate(options_.data, data_, folder_ / "simulate.log");
    const auto limit = run_iperf3(folder_);
    add({"iperf3 over loopback, TCP", limit.rate, limit.rate,
         limit.rate ? "the limit" : limit.why_not});
    tcp(limit.rate);
    for (const double rate : options_.udp_rates) udp(rate);
    judge();
    ok_ = problems_.empty();
    if (options_.as_json) print_json();
    for (const auto& p : problems_) print_error("bench: {}\n", text_lines{p});
    if (!ok_) print_error("bench: logs and ledgers are in {}\n", folder_.string());
    return ok_ ? 0 : exit_failure;
  }

private:
  rehearsal_result rehearsed(const std::string& name, way_in way, const std::string& rate) {
    rehearsal_plan plan;
    plan.data = data_;
    plan.folder = folder_ / name;
    plan.way = way;
    plan.rate = rate;
    plan.loops = options_.loops;
    plan.link_rate = "unlimited";
    plan.backend = options_.data.backend;
    plan.verify = false; // demo and tests verify; here the ledgers must agree
    plan.may_lose = way == way_in::udp;
    plan.quiet = true;
    rehearsal_result r = rehearse(plan);
    for (const auto& p : r.problems) problems_.push_back(std::string(name).append(": ").append(p));
    std::error_code ignored;
    if (r.ok()) std::filesystem::remove_all(plan.folder, ignored);
    return r;
  }

  void tcp(std::optional<double> limit) {
    const auto r = rehearsed("tcp", way_in::tcp, "unlimited");
    add({"TCP end to end, output unpaced", static_cast<double>(r.daemon.bytes.in) / r.seconds,
         limit, summary(r)});
  }

  void udp(double gigabytes) {
    const auto r = rehearsed(fmt::format("udp-{}", trials_.size() + 1), way_in::udp,
                             fmt::format("{:.3f}Gb/s", gigabytes * bits));
    const double reached = static_cast<double>(r.replay.bytes.out) / r.seconds;
    trials_.push_back({reached, r.lost()});
    add({fmt::format("UDP sent at {:.2f} GB/s", gigabytes), reached, {}, summary(r)});
  }

  void judge() {
    if (trials_.empty()) return;
    const double must =
        options_.must_sustain.value_or(*std::ranges::min_element(options_.udp_rates));
    for (const auto& t : broken_claims(trials_, must * gigabyte))
      problems_.push_back(
          fmt::format("UDP lost {} events at {:.3f} GB/s, where no event may be lost", t.lost,
                      t.rate / gigabyte));
    if (!options_.as_json)
      fmt::print("UDP without a lost event: up to {:.3f} GB/s\n", sustained(trials_) / gigabyte);
  }

  static std::string summary(const rehearsal_result& r) {
    const auto planned = static_cast<double>(r.memory_planned);
    return fmt::format(
        "{} events, {} not stored; 99 % latency {:.1f} ms; memory {:.0f} MB {:+.1f} %",
        r.replay.events.admitted, r.lost(), r.latency_p99 * 1e3, planned / 1e6,
        100.0 * (static_cast<double>(r.memory_peak) / planned - 1));
  }

  void add(const measured& m) {
    results_.push_back(m);
    if (options_.as_json) return;
    fmt::print("{:<34} {} {:>20}  {}\n", m.what,
               m.rate ? fmt::format("{:7.3f} GB/s", *m.rate / gigabyte) : "not measured",
               m.rate && m.limit ? fmt::format("{:.2f} of the limit", *m.rate / *m.limit) : "",
               m.note);
    std::fflush(stdout);
  }

  void print_json() const {
    const auto value_of = [](std::optional<double> v) { return v ? json::value(*v) : nullptr; };
    json::array figures;
    for (const measured& m : results_) {
      figures.push_back(json::object{{"what", m.what},
                                     {"bytes_per_second", value_of(m.rate)},
                                     {"limit", value_of(m.limit)},
                                     {"note", m.note}});
    }
    json::object report = bench::report_of("pipeline");
    report["holds"] = ok_;
    report["figures"] = std::move(figures);
    report["udp_without_loss"] = sustained(trials_);
    report["problems"] = json::array(problems_.begin(), problems_.end());
    std::ignore = bench::print_report(report, true, ok_);
  }

  pipeline_options options_;
  std::filesystem::path folder_;
  std::filesystem::path data_;
  std::vector<measured> results_;
  std::vector<udp_trial> trials_;
  std::vector<std::string> problems_;
  bool ok_ = false; ///< set at the end
};

} // namespace

void add_bench_pipeline(command_line program, command_body& run) {
  auto o = std::make_shared<pipeline_options>();
  const auto c = program.add_subcommand(
      "pipeline",
      "Replay, daemon and receiver together: TCP beside iperf3, UDP rates without loss");
  c.footer("Losing events at a UDP rate is a result, not a failure, unless no events were lost at "
           "a higher rate, or the rate had to be sustained.");
  add_workload_options(c, o->data);
  c.add_option("--loops", o->loops, "How often they are sent")
      .capture_default_str()
      .check(in_range(1U, 500U));
  c.add_option("--udp", o->udp_rates, "UDP rates to try, in GB/s")
      .capture_default_str()
      .check(in_range(1e-3, 1e3))
      .delimiter(',');
  c.add_option("--sustain", o->must_sustain,
               "UDP rate up to which no event may be lost, in GB/s; by default the lowest tried")
      .check(in_range(0.0, 1e3));
  c.add_flag("--json", o->as_json, "Report as JSON");
  c.callback([o, &run] { run = [o] { return pipeline_bench(*o).run(); }; });
}

} // namespace l3
