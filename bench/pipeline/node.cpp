// SPDX-License-Identifier: Apache-2.0
// `koto-l3-bench node`: what a node takes in. Sender, daemon and receiver run as separate programs
// on this machine, with the built-in selection and the output paced like the real line. The UDP
// rate is raised until the first event is lost. Beside it, in the same minutes, over the same
// loopback: iperf3 with as many threads, and the same sender into a bare loop of recvmmsg. Each row
// has the processor time of each stage.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <unistd.h>
#include <vector>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "bench/harness/held_batch.hpp"
#include "bench/harness/report.hpp"
#include "bench/receive/bare_receiver.hpp"
#include "tools/command_line.hpp"
#include "tools/print.hpp"
#include "tools/rehearsal/child_process.hpp"
#include "tools/rehearsal/rehearsal.hpp"

namespace l3 {
namespace {

namespace json = boost::json;
using namespace std::chrono_literals;

constexpr double gigabyte = 1e9;
constexpr double bits = 8; // per byte
constexpr auto start_time_limit = 5s;
constexpr auto run_time_limit = 20s;
constexpr double first_rate = 0.3;  // GB/s over UDP
constexpr double raise = 1.2;       // from one UDP rate to the next
constexpr double sender_lags = 0.9; // of the rate asked for: the sender is the limit

struct limit_result {
  std::optional<double> rate; ///< received bytes per second
  std::string why_not;        ///< if there is no rate
};

/// A number in a program's output; nothing if the output is invalid.
std::optional<double> number_in(const std::filesystem::path& output, const char* pointer) {
  std::stringstream text;
  text << std::ifstream(output).rdbuf();
  json::error_code error;
  const auto said = json::parse(text.str(), error);
  if (error) return std::nullopt;
  const auto* number = said.find_pointer(pointer, error);
  return number != nullptr && number->is_number() ? std::optional(number->to_number<double>())
                                                  : std::nullopt;
}

/// The rate of iperf3 over loopback on this machine, for some seconds. Its output is in `folder`.
limit_result run_iperf3(const std::filesystem::path& folder, bool udp, std::uint32_t threads) {
  const auto program = find_program("iperf3");
  if (!program) return {{}, "iperf3 is not in PATH"};
  const std::string port = std::to_string(free_ports(1));
  child_process server({program->string(), "-s", "-1", "-B", "127.0.0.1", "-p", port},
                       folder / "iperf3-server.log");
  std::vector<std::string> arguments{
      program->string(),      "-c", "127.0.0.1", "-p", port, "-t", "5", "-J", "-P",
      fmt::to_string(threads)};
  if (udp) arguments.insert(arguments.end(), {"-u", "-b", "0", "-l", "8012"});
  // It serves one connection and ends, so only a real client can check whether it listens.
  const auto output = folder / "iperf3.json";
  const auto deadline = std::chrono::steady_clock::now() + start_time_limit;
  do {
    std::filesystem::remove(output);
    child_process client(arguments, output);
    const auto code = client.wait(run_time_limit);
    if (!code) return {{}, "iperf3 did not end"};
    const auto rate = number_in(output, "/end/sum_received/bits_per_second");
    if (code == 0 && rate) return {*rate / bits, {}};
  } while (server.running() && std::chrono::steady_clock::now() < deadline);
  return {{}, "iperf3 failed: see " + output.string()};
}

/// The rate of a bare loop to which the replay client sends as fast as it can. The output is in
/// `folder`.
limit_result run_bare_loop(const std::filesystem::path& data, const std::filesystem::path& folder,
                           std::uint32_t loops, std::uint32_t threads) {
  constexpr std::uint16_t ports = 8;
  const std::uint16_t port = free_ports(ports);
  std::vector<std::byte> memory(bench::bare_receiver::burst * bench::piece_bytes);
  std::vector<std::byte*> slots;
  for (std::size_t at = 0; at < memory.size(); at += bench::piece_bytes)
    slots.push_back(&memory[at]);
  bench::bare_receiver receiver(port, ports, mebibytes(16), slots, bench::piece_bytes);
  const auto output = folder / "bare.json";
  child_process client({(program_folder() / "koto-l3").string(), "replay", data.string(), "--to",
                        fmt::format("udp://127.0.0.1:{}+{}", port, ports), "--rate", "unlimited",
                        "--loop", fmt::to_string(loops), "--threads", fmt::to_string(threads),
                        "--json"},
                       output);
  const auto code = client.wait(run_time_limit);
  receiver.stop();
  const auto seconds = number_in(output, "/sending_seconds");
  if (code != 0 || !seconds) return {{}, "replay failed: see " + output.string()};
  return {static_cast<double>(receiver.bytes()) / *seconds, {}};
}

struct node_options {
  workload data{.events = 2000};
  std::string selection = "built-in";
  std::string link_rate = "4 Gb/s";
  std::uint32_t loops = 4;
  std::uint32_t threads = 1;
  std::vector<double> udp_rates{};      ///< GB/s; empty: rising until an event is lost
  std::optional<double> must_sustain{}; ///< GB/s
  bool as_json = false;
};

class node_bench {
public:
  explicit node_bench(node_options o) : options_(std::move(o)) {
    folder_ =
        std::filesystem::temp_directory_path() / ("koto-l3-bench-" + std::to_string(getpid()));
    std::filesystem::create_directories(folder_);
  }
  /// If something failed, the folder with its logs and ledgers is kept.
  ~node_bench() {
    std::error_code ignored;
    if (problems_.empty()) std::filesystem::remove_all(folder_, ignored);
  }
  node_bench(const node_bench&) = delete;
  node_bench& operator=(const node_bench&) = delete;

  int run() {
    data_ = folder_ / "spill.l2raw";
    simulate(options_.data, data_, folder_ / "simulate.log");
    for (const bool udp : {false, true}) {
      const limit_result r = run_iperf3(folder_, udp, options_.threads);
      add({{"what", udp ? "iperf3, UDP" : "iperf3, TCP"}}, r.rate, r.why_not);
    }
    const limit_result bare = run_bare_loop(data_, folder_, options_.loops, options_.threads);
    add({{"what", "bare loop of recvmmsg"}}, bare.rate, bare.why_not);
    take(way_in::tcp, "unlimited");
    if (options_.udp_rates.empty()) {
      double rate = first_rate;
      while (udp(rate)) rate *= raise;
      if (sustained_ > 0) {
        constexpr double busy = 0.8;
        udp(busy * sustained_); // for the latency
      }
    } else {
      for (const double rate : options_.udp_rates) udp(rate);
    }
    judge();
    json::object report = bench::report_of("node");
    report["threads"] = options_.threads;
    report["selection"] = options_.selection.empty() ? "none" : options_.selection;
    report["output"] = options_.link_rate;
    report["udp_without_loss"] = sustained_ * gigabyte;
    report["rows"] = rows_;
    report["problems"] = json::array(problems_.begin(), problems_.end());
    const int code = bench::print_report(report, options_.as_json, problems_.empty());
    for (const auto& p : problems_) print_error("bench: {}\n", text_lines{p});
    if (!problems_.empty()) print_error("bench: logs and ledgers are in {}\n", folder_.string());
    return code;
  }

private:
  /// Whether the next higher rate is worth a try.
  bool udp(double gigabytes) {
    const auto r = take(way_in::udp, fmt::format("{:.3f}Gb/s", gigabytes * bits));
    const double reached = static_cast<double>(r.replay.bytes.out) / r.seconds / gigabyte;
    lost_.emplace_back(reached, r.lost());
    if (r.lost() == 0) sustained_ = std::max(sustained_, reached);
    return r.lost() == 0 && reached >= sender_lags * gigabytes && r.ok();
  }

  rehearsal_result take(way_in way, const std::string& rate) {
    rehearsal_plan plan;
    plan.data = data_;
    plan.folder = folder_ / fmt::format("{}", rows_.size());
    plan.way = way;
    plan.rate = rate;
    plan.loops = options_.loops;
    plan.threads = options_.threads;
    plan.link_rate = options_.link_rate;
    plan.backend = options_.data.backend;
    plan.selection = options_.selection;
    plan.verify = false; // demo and tests verify; here the ledgers must agree
    plan.may_lose = way == way_in::udp;
    plan.quiet = true;
    rehearsal_result r = rehearse(plan);
    const bool udp = way == way_in::udp;
    const std::string name = udp ? "UDP, " + rate : "TCP";
    for (const auto& p : r.problems) problems_.push_back(std::string(name).append(": ").append(p));
    std::error_code ignored;
    if (r.ok()) std::filesystem::remove_all(plan.folder, ignored);

    const auto bytes = static_cast<double>(udp ? r.replay.bytes.out : r.daemon.bytes.in);
    json::object row{{"what", name}, {"events", r.replay.events.admitted}, {"lost", r.lost()}};
    row["latency_p99_ms"] = r.latency_p99 * 1e3;
    row["memory_of_plan"] =
        static_cast<double>(r.memory_peak) / static_cast<double>(r.memory_planned);
    const thread_time* busiest = nullptr;
    std::string stages;
    for (const thread_time& t : r.times) {
      if (t.seconds * gigabyte < few_seconds * bytes) continue;
      stages += fmt::format("{}{} {:.3f}", stages.empty() ? "" : ", ", t.name,
                            t.seconds * gigabyte / bytes);
      if (busiest == nullptr || t.seconds / t.threads > busiest->seconds / busiest->threads)
        busiest = &t;
    }
    row["processor_s_per_GB"] = stages;
    if (busiest != nullptr)
      row["busiest"] =
          fmt::format("{} {:.2f}", busiest->name, busiest->seconds / busiest->threads / r.seconds);
    add(std::move(row), bytes / r.seconds, "");
    return r;
  }

  void add(json::object row, std::optional<double> rate, const std::string& why_not) {
    row["GB_per_s"] = rate ? json::value(*rate / gigabyte) : json::value("not measured");
    if (!why_not.empty()) row["busiest"] = why_not;
    if (!options_.as_json) {
      fmt::print(stderr, "{}: {}\n", std::string_view(row.at("what").as_string()),
                 rate ? fmt::format("{:.3f} GB/s", *rate / gigabyte) : "not measured");
    }
    rows_.push_back(std::move(row));
  }

  /// Losing events over UDP at some rate is a result. It is a failure below a rate without loss,
  /// and up to the rate that must be sustained.
  void judge() {
    if (lost_.empty()) return;
    const double must = options_.must_sustain.value_or(
        options_.udp_rates.empty() ? 0 : *std::ranges::min_element(options_.udp_rates));
    for (const auto& [rate, lost] : lost_)
      if (lost != 0 && rate <= std::max(must, sustained_))
        problems_.push_back(fmt::format(
            "UDP lost {} events at {:.3f} GB/s, where no event may be lost", lost, rate));
  }

  static constexpr double few_seconds = 0.001; // a GB

  node_options options_;
  std::filesystem::path folder_;
  std::filesystem::path data_;
  json::array rows_;
  std::vector<std::pair<double, std::uint64_t>> lost_; ///< GB/s, events
  double sustained_ = 0;                               ///< GB/s over UDP without a lost event
  std::vector<std::string> problems_;
};

} // namespace

void add_bench_node(command_line program, command_body& run) {
  auto o = std::make_shared<node_options>();
  const auto c = program.add_subcommand(
      "node", "Measure the input rate of a node, with sender, daemon and receiver, beside iperf3 "
              "and a bare loop");
  c.footer("Losing events at a UDP rate is a result, not a failure, unless no events were lost at "
           "a higher rate, or the rate had to be sustained.");
  add_workload_options(c, o->data);
  c.add_option("--selection", o->selection,
               "A file of trigger lines, built-in, or \"\": every event is kept")
      .capture_default_str();
  c.add_option("--output", o->link_rate, "Rate of the output, such as \"4 Gb/s\" or unlimited")
      .capture_default_str();
  c.add_option("--threads", o->threads, "Threads of the sender and of iperf3")
      .capture_default_str()
      .check(in_range(1U, 64U));
  c.add_option("--loops", o->loops, "Number of times that the events are sent")
      .capture_default_str()
      .check(in_range(1U, 500U));
  c.add_option("--udp", o->udp_rates,
               "UDP rates to try, in GB/s; by default from 0.3 on until an event is lost")
      .check(in_range(1e-3, 1e3))
      .delimiter(',');
  c.add_option("--sustain", o->must_sustain,
               "UDP rate up to which no event may be lost, in GB/s; by default the lowest of --udp")
      .check(in_range(0.0, 1e3));
  c.add_flag("--json", o->as_json, "Report as JSON");
  c.callback([o, &run] { run = [o] { return node_bench(*o).run(); }; });
}

} // namespace l3
