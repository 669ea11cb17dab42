// SPDX-License-Identifier: Apache-2.0
#include "tools/rehearsal/rehearsal.hpp"

#include <algorithm>
#include <csignal>
#include <fstream>
#include <functional>
#include <optional>
#include <sstream>
#include <thread>
#include <vector>

#include <boost/json.hpp>
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tools/command_error.hpp"
#include "tools/command_line.hpp"
#include "tools/rehearsal/child_process.hpp"
#include "tools/status/http_get.hpp"
#include "transport/system/reason_of.hpp"

namespace l3 {

namespace {

using namespace std::chrono_literals;
namespace json = boost::json;

constexpr std::uint16_t udp_ports = 8;

struct addresses {
  std::uint16_t udp;
  std::uint16_t tcp;
  std::uint16_t link;
  std::uint16_t monitor;
};

std::string program(const char* name) { return (program_folder() / name).string(); }

void write_configuration(const rehearsal_plan& plan, const addresses& at,
                         const std::filesystem::path& file) {
  std::ofstream out(file);
  out << "[run]\nledger = \"" << (plan.folder / "daemon-ledger.json").string()
      << "\"\ndrain_time_limit = \"60 s\"\n"
      << "[udp]\nbind = \"127.0.0.1:" << at.udp << "\"\nports = " << udp_ports << "\n"
      << "[tcp]\nbind = \"127.0.0.1:" << at.tcp << "\"\n"
      << "[compute]\nbackend = \"" << plan.backend
      << "\"\ntime_limit = \"30 s\"\n" // a slow device is no fault of the chain
      << "[selection]\nlines = \"" << plan.selection << "\"\n"
      << "[spool]\nfolder = \"" << (plan.folder / "spool").string() << "\"\n"
      << "[forward]\nto = \"tcp://127.0.0.1:" << at.link << "\"\nrate = \"" << plan.link_rate
      << "\"\n"
      << "[monitor]\nbind = \"127.0.0.1:" << at.monitor << "\"\n";
  if (!out.flush()) throw command_error("cannot write " + file.string());
}

std::optional<json::value> status_of(std::uint16_t port) {
  const auto answer = http_get(port, "/status");
  if (!answer.good()) return std::nullopt;
  json::error_code error;
  json::value v = json::parse(answer.body, error);
  return error ? std::nullopt : std::optional(std::move(v));
}

std::string text_of(const std::filesystem::path& file) {
  std::stringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

/// A value of /proc/PID/status in bytes.
std::uint64_t memory_of(pid_t pid, const std::string& what) {
  std::ifstream in(fmt::format("/proc/{}/status", pid));
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with(what + ":")) return std::stoull(line.substr(what.size() + 1)) * 1024;
  }
  return 0;
}

/// Adds the processor time of a process' living threads, by their names or under one name, or takes
/// it away.
void add_times(pid_t pid, const std::string& one_name, std::vector<thread_time>& to, int sign = 1) {
  std::error_code error;
  for (const auto& task :
       std::filesystem::directory_iterator(fmt::format("/proc/{}/task", pid), error)) {
    std::string name = one_name;
    if (name.empty()) std::getline(std::ifstream(task.path() / "comm"), name);
    std::uint64_t nanoseconds = 0;
    std::ifstream(task.path() / "schedstat") >> nanoseconds;
    auto at = std::ranges::find(to, name, &thread_time::name);
    if (at == to.end()) at = to.insert(to.end(), {name});
    at->threads += sign > 0 ? 1 : 0;
    at->seconds += sign * static_cast<double>(nanoseconds) * 1e-9;
  }
}

/// Processor time of child processes that have ended.
double time_of_ended() {
  rusage used{};
  ::getrusage(RUSAGE_CHILDREN, &used);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

class chain {
public:
  explicit chain(const rehearsal_plan& plan)
      : plan_(plan), at_(find_ports()), receiver_(start_receiver()), daemon_(start_daemon()) {}

  rehearsal_result run() {
    add_times(daemon_.pid(), "", result_.times, -1); // of its start
    const double before = time_of_ended();
    replay();
    result_.times.push_back({"replay", plan_.threads, time_of_ended() - before});
    wait_until_stored();
    add_times(daemon_.pid(), "", result_.times);
    add_times(receiver_.pid(), "receiver", result_.times);
    result_.memory_peak = memory_of(daemon_.pid(), "VmHWM");
    end(daemon_, "the daemon", "daemon");
    end(receiver_, "the receiver", "receive");
    read_ledgers();
    check_ledgers();
    if (plan_.verify) verify();
    return std::move(result_);
  }

private:
  static addresses find_ports() {
    const auto p = free_ports(udp_ports + 3);
    return {p, static_cast<std::uint16_t>(p + udp_ports),
            static_cast<std::uint16_t>(p + udp_ports + 1),
            static_cast<std::uint16_t>(p + udp_ports + 2)};
  }

  [[nodiscard]] bool interrupted() const {
    return !ending_ && plan_.interrupted && plan_.interrupted();
  }

  void check_interrupt() const {
    if (interrupted()) throw command_error("interrupted");
  }

  /// Repeats until it is true or the time is over.
  bool eventually(std::chrono::milliseconds time_limit, const std::function<bool()>& holds) const {
    const auto deadline = std::chrono::steady_clock::now() + time_limit;
    while (!holds()) {
      check_interrupt();
      if (std::chrono::steady_clock::now() >= deadline) return false;
      std::this_thread::sleep_for(20ms);
    }
    return true;
  }

  std::optional<int> wait_for(child_process& child, std::chrono::milliseconds time_limit) const {
    const auto code = child.wait(time_limit, [&] { return interrupted(); });
    check_interrupt();
    return code;
  }

  [[nodiscard]] std::filesystem::path log(const char* name) const {
    return plan_.folder / fmt::format("{}.log", name);
  }

  child_process start_receiver() {
    return child_process({program("koto-l3"), "receive", "--bind",
                          fmt::format("tcp://127.0.0.1:{}", at_.link), "--out",
                          (plan_.folder / "store").string()},
                         log("receive"));
  }

  child_process start_daemon() {
    const auto configuration = plan_.folder / "l3.toml";
    write_configuration(plan_, at_, configuration);
    child_process d({program("koto-l3d"), "--config", configuration.string()}, log("daemon"));
    bool connected = false;
    (void)eventually(120s, [&] {
      const auto status = status_of(at_.monitor);
      connected = status && status->at_pointer("/state/ready").as_bool() &&
                  status->at_pointer("/receiver/connected").as_bool();
      if (connected)
        result_.memory_planned = status->at("memory_planned").to_number<std::uint64_t>();
      return connected || !d.running() || !receiver_.running();
    });
    if (!connected) {
      throw command_error::of_lines(
          receiver_.running() ? "the daemon did not become ready" + see_log(log("daemon"))
                              : "the receiver did not become ready" + see_log(log("receive")),
          exit_failure);
    }
    return d;
  }

  void replay() {
    const bool udp = plan_.way == way_in::udp;
    std::vector<std::string> arguments{
        program("koto-l3"),
        "replay",
        plan_.data.string(),
        "--to",
        udp ? fmt::format("udp://127.0.0.1:{}+{}", at_.udp, udp_ports)
            : fmt::format("tcp://127.0.0.1:{}", at_.tcp),
        "--loop",
        fmt::to_string(plan_.loops),
        "--ledger",
        (plan_.folder / "replay-ledger.json").string()};
    if (udp) arguments.insert(arguments.end(), {"--threads", fmt::to_string(plan_.threads)});
    if (!plan_.rate.empty()) arguments.insert(arguments.end(), {"--rate", plan_.rate});
    arguments.emplace_back("--json");
    const auto report = plan_.folder / "replay.json";
    // On a terminal the replay client shows its own progress.
    const bool show = !plan_.quiet && isatty(STDERR_FILENO) != 0;
    child_process client(arguments, report,
                         show ? child_process::errors::to_ours : child_process::errors::to_output);
    if (plan_.watch) return watch(client);
    const auto code = wait_for(client, plan_.time_limit);
    if (!code) return problem("the replay client did not end in time");
    if (*code != 0)
      problem(fmt::format("the replay client ended with {}{}", *code, see_log(report)));
    json::error_code error;
    const json::value said = json::parse(text_of(report), error);
    if (error) return problem("the replay client did not report" + see_log(report));
    result_.seconds =
        said.at(plan_.way == way_in::udp ? "sending_seconds" : "seconds").to_number<double>();
  }

  void watch(child_process& client) {
    const auto start = std::chrono::steady_clock::now();
    plan_.watch(at_.monitor);
    constexpr auto forever = std::chrono::hours(24);
    (void)client.wait(forever,
                      [&] { return interrupted() || !daemon_.running() || !receiver_.running(); });
    ending_ = interrupted();
    client.signal(SIGINT);
    if (!wait_for(client, plan_.time_limit)) problem("the replay client did not end on request");
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    result_.seconds = took.count();
  }

  /// Waits until every event of the daemon is stored or counted. The daemon updates its counts
  /// twice a second, so two updates after the replay must agree.
  void wait_until_stored() {
    std::int64_t last_seen = -1;
    double last_fold = -1;
    int folds = 0;
    const bool quiet = eventually(plan_.time_limit, [&] {
      if (!daemon_.running()) return true;
      const auto status = status_of(at_.monitor);
      if (!status) return false;
      const auto number = [&](const char* pointer) {
        return status->at_pointer(pointer).to_number<std::int64_t>();
      };
      const double fold = status->at_pointer("/uptime").to_number<double>();
      if (fold == last_fold) return false;
      last_fold = fold;
      const bool unchanged = number("/fragments/seen") == last_seen;
      last_seen = number("/fragments/seen");
      result_.backend = status->at_pointer("/device").as_string();
      result_.frames_bypassed = static_cast<std::uint64_t>(number("/engine/frames_bypassed"));
      const auto packed = number("/bytes/packed");
      const auto per_packed_byte = [&](const char* bytes) {
        return packed == 0 ? 0 : static_cast<double>(number(bytes)) / static_cast<double>(packed);
      };
      result_.ratio = per_packed_byte("/bytes/waveforms");
      result_.reduction = per_packed_byte("/bytes/computed");
      read_lines(status->at("lines").as_array());
      result_.latency_median = status->at_pointer("/event_latency/median").to_number<double>();
      result_.latency_p99 = status->at_pointer("/event_latency/p99").to_number<double>();
      constexpr int stale = 1; // it may be from before the end of the replay
      return ++folds > stale && unchanged && number("/events/in_flight") == 0 &&
             number("/fragments/in_flight") == 0;
    });
    if (!quiet) problem("events were still under way at the end");
    if (result_.frames_bypassed > 0)
      problem(fmt::format("the CPU computed {} frames in place of the device{}",
                          result_.frames_bypassed, see_log(log("daemon"))));
  }

  void read_lines(const json::array& lines) {
    result_.lines.clear();
    for (const json::value& l : lines) {
      const auto kept = l.at("kept").to_number<std::uint64_t>();
      result_.lines.push_back({.name = std::string(l.at("line").as_string()), .kept = kept});
      line_account& to = result_.lines.back();
      to.prescaled = l.at("fired").to_number<std::uint64_t>() - kept;
      for (const auto& [reason, events] : l.at("refused").as_object())
        to.refused += events.to_number<std::uint64_t>();
      to.refused -= to.prescaled;
    }
  }

  void end(child_process& child, const char* name, const char* its_log) {
    child.signal(SIGTERM);
    const auto code = wait_for(child, 70s);
    if (!code) problem(fmt::format("{} did not end on request{}", name, see_log(log(its_log))));
    if (code && *code != 0)
      problem(fmt::format("{} ended with {}{}", name, *code, see_log(log(its_log))));
  }

  void read_ledgers() {
    const auto read = [&](ledger& into, const std::filesystem::path& file) {
      try {
        into = read_ledger(file);
      } catch (const std::exception& e) {
        problem(reason_of(e));
      }
    };
    read(result_.replay, plan_.folder / "replay-ledger.json");
    read(result_.daemon, plan_.folder / "daemon-ledger.json");
    read(result_.receiver, plan_.folder / "store" / "ledger.json");
  }

  void check_ledgers() {
    const auto& d = result_.daemon;
    if (!d.balanced()) problem("the daemon's sums do not balance");
    const auto same = [&](const char* what, std::uint64_t a, std::uint64_t b) {
      if (a != b) problem(fmt::format("{}: {} and {}", what, a, b));
    };
    if (result_.receiver.events.forwarded > result_.replay.events.admitted)
      problem("more events are stored than were sent");
    if (!plan_.may_lose) {
      same("events sent and admitted", result_.replay.events.admitted, d.events.admitted);
      same("events admitted, and forwarded or rejected", d.events.admitted,
           d.events.forwarded + d.events.rejected);
    }
    same("events forwarded and stored", d.events.forwarded, result_.receiver.events.forwarded);
  }

  void verify() {
    std::vector<std::string> arguments{
        program("koto-l3"),  "verify",
        plan_.data.string(), (plan_.folder / "store").string(),
        "--ledger",          (plan_.folder / "replay-ledger.json").string(),
        "--ledger",          (plan_.folder / "daemon-ledger.json").string()};
    if (plan_.selection.empty()) {
      arguments.insert(arguments.end(), {"--loop", fmt::to_string(plan_.loops)});
    } else {
      arguments.insert(arguments.end(), {"--selection", plan_.selection});
    }
    child_process v(arguments, log("verify"));
    const auto code = wait_for(v, plan_.time_limit);
    result_.verified = code == 0;
    if (!result_.verified) problem("verify found differences" + see_log(log("verify")));
  }

  void problem(std::string text) { result_.problems.push_back(std::move(text)); }

  const rehearsal_plan& plan_;
  addresses at_;
  rehearsal_result result_;
  bool ending_ = false; ///< in order, after an interrupt
  child_process receiver_;
  child_process daemon_;
};

} // namespace

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  return "unknown processor";
}

rehearsal_result rehearse(const rehearsal_plan& plan) {
  std::filesystem::create_directories(plan.folder);
  if (std::filesystem::exists(plan.folder / "store")) {
    throw command_error(plan.folder.string() +
                        " holds an earlier run: choose another folder, or remove it");
  }
  return chain(plan).run();
}

void add_workload_options(command_line command, workload& to) {
  command.add_option("--events", to.events, "events to simulate, in all spills together")
      .capture_default_str()
      .check(in_range(1U, 10'000'000U));
  command.add_option("--spills", to.spills, "spills, numbered from 1")
      .capture_default_str()
      .check(in_range(1U, 511U));
  command.add_option("--seed", to.seed, "the same seed simulates the same bytes")
      .capture_default_str();
  command.add_option("--waveforms", to.waveforms,
                     "recorded waveforms (little-endian u16) in place of simulated ones");
  command.add_option("--samples", to.samples, "samples per recorded waveform")
      .capture_default_str()
      .check(one_of({"64", "256"}));
  command.add_option("--backend", to.backend, "where the daemon's kernels run")
      .capture_default_str()
      .check(one_of({"auto", "pool", "cuda", "hip", "sycl"}));
}

void simulate(const workload& what, const std::filesystem::path& file,
              const std::filesystem::path& log, const std::function<bool()>& interrupted) {
  std::vector<std::string> arguments{(program_folder() / "koto-l3").string(),
                                     "simulate",
                                     file.string(),
                                     "--events",
                                     fmt::to_string(what.events),
                                     "--spills",
                                     fmt::to_string(what.spills),
                                     "--seed",
                                     fmt::to_string(what.seed)};
  if (!what.waveforms.empty()) {
    arguments.insert(arguments.end(),
                     {"--waveforms", what.waveforms, "--samples", fmt::to_string(what.samples)});
  }
  child_process p(arguments, log);
  const auto code = p.wait(std::chrono::minutes(30), interrupted);
  if (code == 0) return;
  throw command_error::of_lines("the simulation failed" + (log.empty() ? "" : see_log(log)),
                                code.value_or(exit_failure));
}

} // namespace l3
