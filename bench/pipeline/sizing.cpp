// SPDX-License-Identifier: Apache-2.0
// `koto-l3-bench sizing`: measures what a daemon's threads cost at two rates, predicts their load
// at others with the arithmetic of `koto-l3 plan`, and compares it with what they then take. Its
// report is a table for `koto-l3 plan --measured`.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>
#include <filesystem>
#include <memory>
#include <string>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>

#include "bench/harness/report.hpp"
#include "selection/trigger/selection_files.hpp"
#include "tools/command.hpp"
#include "tools/plan/cost_table.hpp"
#include "tools/plan/sizing.hpp"
#include "tools/print.hpp"
#include "tools/rehearsal/rehearsal.hpp"
#include "tools/rehearsal/workload.hpp"

namespace l3 {
namespace {

namespace json = boost::json;
using namespace bench;

constexpr double gigabyte = 1e9;
constexpr double bits = 8;

struct sizing_options {
  workload data{.events = 600};
  std::vector<double> rates{0.1, 0.4, 0.2, 0.6}; ///< GB/s; two are measured, the others predicted
  double seconds = 8;                            ///< of each
  std::string way = "tcp";
  std::string selection = built_in;
  double within = 0.2;
  bool as_json = false;
};

struct observed {
  double input = 0; ///< bytes a second while they were sent
  double output = 0;
  double processors = 0; ///< of all threads, while they were sent
  rehearsal_result of;
};

class sizing_bench {
public:
  explicit sizing_bench(sizing_options o) : options_(std::move(o)) {
    folder_ =
        std::filesystem::temp_directory_path() / ("koto-l3-sizing-" + std::to_string(getpid()));
    std::filesystem::create_directories(folder_);
  }
  ~sizing_bench() {
    std::error_code ignored;
    if (ok_) std::filesystem::remove_all(folder_, ignored);
  }
  sizing_bench(const sizing_bench&) = delete;
  sizing_bench& operator=(const sizing_bench&) = delete;

  int run() {
    data_ = folder_ / "spill.l2raw";
    simulate(options_.data, data_, folder_ / "simulate.log");
    if (options_.rates.size() < 2)
      throw command_error("--rates: two are measured before others are predicted", exit_usage);
    const observed first = observe(options_.rates[0]);
    const observed second = observe(options_.rates[1]);
    const cost_table table = costs_of(first, second);
    json::array rows;
    bool within = true;
    for (const observed* const o : {&first, &second})
      rows.push_back(row("measured", *o, sum_of(loads_at(table, o->input, o->output))));
    for (std::size_t i = 2; i < options_.rates.size(); ++i) {
      const observed o = observe(options_.rates[i]);
      const double predicted = sum_of(loads_at(table, o.input, o.output));
      rows.push_back(row("predicted", o, predicted));
      within = within && std::abs(predicted / o.processors - 1) <= options_.within;
    }
    for (const auto& p : problems_) print_error("bench: {}\n", text_lines{p});
    ok_ = problems_.empty();
    if (!ok_) print_error("bench: logs and ledgers are in {}\n", folder_.string());
    json::object all = report_of("sizing");
    all["rows"] = std::move(rows);
    if (options_.as_json) {
      all["table"] = to_json(table);
    } else {
      all["threads"] = to_json(table).at("threads");
    }
    all["within"] = options_.within;
    all["holds"] = within;
    return print_report(all, options_.as_json, ok_ && within);
  }

private:
  observed observe(double gigabytes) {
    rehearsal_plan plan;
    plan.data = data_;
    plan.folder = folder_ / fmt::format("at-{}", gigabytes);
    plan.way = options_.way == "udp" ? way_in::udp : way_in::tcp;
    plan.rate = fmt::format("{:.4f}Gb/s", gigabytes * bits);
    const double of_one = static_cast<double>(std::filesystem::file_size(data_)) / gigabyte;
    plan.loops = std::clamp(
        static_cast<std::uint32_t>(std::lround(gigabytes * options_.seconds / of_one)), 1U, 500U);
    plan.backend = options_.data.backend;
    plan.selection = options_.selection;
    plan.verify = false;
    plan.quiet = true;
    observed o;
    o.of = rehearse(plan);
    for (const auto& p : o.of.problems)
      problems_.push_back(fmt::format("at {} GB/s: {}", gigabytes, p));
    std::error_code ignored;
    if (o.of.ok()) std::filesystem::remove_all(plan.folder, ignored);
    o.input = static_cast<double>(o.of.daemon.bytes.in) / o.of.seconds;
    o.output = static_cast<double>(o.of.daemon.bytes.out) / o.of.seconds;
    for (const auto& [name, seconds] : o.of.daemon_threads) o.processors += seconds;
    o.processors /= o.of.seconds;
    return o;
  }

  /// A line through two points, neither end of which is below 0.
  static void fit(thread_cost& c, double x1, double y1, double x2, double y2) {
    const double slope = x2 == x1 ? 0 : (y2 - y1) / (x2 - x1);
    c.seconds_per_gigabyte = std::max(0.0, slope);
    c.idle = slope > 0 ? y1 - slope * x1 : (y1 + y2) / 2;
    if (c.idle >= 0) return;
    c.idle = 0;
    c.seconds_per_gigabyte = x1 + x2 > 0 ? (y1 + y2) / (x1 + x2) : 0;
  }

  cost_table costs_of(const observed& one, const observed& other) const {
    std::array<char, 32> day{};
    const std::time_t now = std::time(nullptr);
    std::tm utc{};
    (void)std::strftime(day.data(), day.size(), "%F", ::gmtime_r(&now, &utc));
    cost_table t;
    t.way = options_.way;
    t.measured =
        fmt::format("{}, {} processors, {}, {}, selection {}", processor_name(),
                    std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN)), day.data(), one.of.backend,
                    options_.selection.empty() ? "none" : options_.selection);
    for (const auto& [name, seconds] : one.of.daemon_threads) {
      thread_cost c = kind_of_thread(name);
      const auto moved = [&](const observed& o) {
        return (c.input ? o.input : o.output) / gigabyte;
      };
      const auto again = other.of.daemon_threads.find(name);
      const double then = again == other.of.daemon_threads.end() ? 0 : again->second;
      fit(c, moved(one), seconds / one.of.seconds, moved(other), then / other.of.seconds);
      t.threads.push_back(std::move(c));
    }
    return t;
  }

  static json::object row(const char* what, const observed& o, double predicted) {
    return {{"what", what},
            {"input_gigabytes_per_second", o.input / gigabyte},
            {"output_gigabytes_per_second", o.output / gigabyte},
            {"predicted_processors", predicted},
            {"busy_processors", o.processors},
            {"predicted_of_busy", predicted / o.processors}};
  }

  sizing_options options_;
  std::filesystem::path folder_;
  std::filesystem::path data_;
  std::vector<std::string> problems_;
  bool ok_ = false; ///< until all is done
};

} // namespace

void add_bench_sizing(CLI::App& program, command_body& run) {
  auto o = std::make_shared<sizing_options>();
  auto* c = program.add_subcommand(
      "sizing", "What a daemon's threads cost at two rates, and whether that predicts others");
  c->footer("Ends with 1 if a prediction is further off than --within. With --json the report is a "
            "table for `koto-l3 plan --measured`.");
  add_workload_options(*c, o->data);
  c->add_option("--rates", o->rates, "GB/s: the first two are measured, the others are predicted")
      ->capture_default_str()
      ->check(CLI::Range(1e-3, 1e3))
      ->delimiter(',');
  c->add_option("--seconds", o->seconds, "Of each rate")
      ->capture_default_str()
      ->check(CLI::Range(1.0, 600.0));
  c->add_option("--way", o->way, "By which it is sent")
      ->capture_default_str()
      ->check(CLI::IsMember({"tcp", "udp"}));
  c->add_option("--selection", o->selection, "Cuts, counters and lines; empty: all is kept")
      ->capture_default_str();
  c->add_option("--within", o->within, "How far off a prediction may be")->capture_default_str();
  c->add_flag("--json", o->as_json, "Report as JSON");
  c->callback([o, &run] { run = [o] { return sizing_bench(*o).run(); }; });
}

} // namespace l3
