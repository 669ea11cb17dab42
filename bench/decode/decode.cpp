// SPDX-License-Identifier: Apache-2.0
// `koto-l3-bench decode`: events per second of the decoder, as one technique after the other is
// added, beside a copy of the same bytes in the same memory in the same run.
#include <chrono>
#include <cstdio>
#include <memory>

#include <boost/json.hpp>

#include "bench/decode/decode_stand.hpp"
#include "bench/measure/compute_options.hpp"
#include "bench/measure/measure.hpp"
#include "gpu/executors/pool.hpp"
#include "gpu/executors/serial.hpp"
#include "selection/engine/make_engine.hpp"
#include "tools/command.hpp"

namespace l3 {
namespace {

using namespace bench;
namespace json = boost::json;

constexpr double giga = 1e9;

struct decode_options {
  compute_settings compute;
  std::uint32_t events = 0;
  std::uint32_t opaque = 5;
  std::uint32_t threshold = 100;
  std::uint32_t rounds = 15;
  bool as_json = false;
};

/// So many that no cache holds them.
constexpr std::uint32_t events_on_cpu = 128;
constexpr std::uint32_t events_on_device = 2048;
/// In one timing: waking a sleeping host is then no part of it. A CPU's threads are awake.
constexpr std::uint32_t passes_on_device = 16;

struct decode_row {
  std::string name;
  std::vector<double> seconds;
  bool right = true;
};

class decode_bench {
public:
  explicit decode_bench(const decode_options& o)
      : options_(o), cuda_(o.compute.where == backend::cuda ||
                           (o.compute.where == backend::automatic && why_no_cuda().empty())),
        events_(o.events != 0 ? o.events
                : cuda_       ? events_on_device
                              : events_on_cpu),
        passes_(cuda_ ? passes_on_device : 1), batch_(events_, o.opaque), runner_(make_runner()) {
    rows_.push_back(
        {cuda_ ? "copy of the same bytes within the device" : "memcpy of the same bytes, one core",
         {}});
    for (const decode_step& s : decode_steps) rows_.push_back({s.name, {}});
  }

  int run() {
    constexpr std::uint32_t warming_rounds = 1;
    for (std::uint32_t round = 0; round < warming_rounds + options_.rounds; ++round) {
      for (std::size_t i = 0; i < rows_.size(); ++i) {
        runner_.poison();
        const auto begin = std::chrono::steady_clock::now();
        i == 0 ? runner_.copy(passes_) : runner_.step(i - 1, passes_);
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
        const bool right = i == 0 ? runner_.copy_is_right() : runner_.step_is_right();
        rows_[i].right = rows_[i].right && right;
        if (round >= warming_rounds) rows_[i].seconds.push_back(took.count() / passes_);
      }
    }
    options_.as_json ? print_json() : print_table();
    for (const decode_row& r : rows_) {
      if (!r.right) return exit_failure;
    }
    return 0;
  }

private:
  decode_runner make_runner() {
    if (cuda_) {
      if (const std::string why_not = why_no_cuda(); !why_not.empty())
        throw command_error(why_not, exit_missing_resource);
      return make_cuda_decode_runner(batch_, options_.threshold);
    }
    if (options_.compute.where == backend::serial)
      return make_decode_runner("serial", serial_queue(), 1, batch_, options_.threshold);
    pool_ = std::make_unique<thread_pool>(options_.compute.threads);
    return make_decode_runner("pool (" + std::to_string(pool_->threads()) + " threads)",
                              pool_queue(*pool_), pool_->threads(), batch_, options_.threshold);
  }

  [[nodiscard]] double events_per_second(double seconds) const { return events_ / seconds; }
  [[nodiscard]] double bytes_per_second(double seconds) const {
    return static_cast<double>(batch_.fragment_bytes()) / seconds;
  }

  void print_table() const {
    std::printf("decode on %s, %s: %u events of %.0f bytes, %u %% of the boards opaque\n"
                "Medians, quartiles in brackets; what a step adds is of the row above\n\n"
                "%-42s %31s %8s %8s %8s\n",
                runner_.where.c_str(), processor_name().c_str(), events_,
                static_cast<double>(batch_.fragment_bytes()) / events_, options_.opaque, "",
                "events/s", "GB/s", "of copy", "adds");
    const double copy = summary(rows_[0].seconds).median;
    double before = 0;
    for (const decode_row& r : rows_) {
      const timing t = summary(r.seconds);
      std::printf("%-42s %9.0f (%8.0f … %8.0f) %8.2f %8.2f ", r.name.c_str(),
                  events_per_second(t.median), events_per_second(t.high), events_per_second(t.low),
                  bytes_per_second(t.median) / giga, copy / t.median);
      if (before != 0) std::printf("%+7.1f %%", 100 * (before / t.median - 1));
      std::printf("%s\n", r.right ? "" : "  WRONG OUTPUT");
      before = &r == rows_.data() ? 0 : t.median;
    }
  }

  void print_json() const {
    const double copy = summary(rows_[0].seconds).median;
    json::array rows;
    for (const decode_row& r : rows_) {
      const timing t = summary(r.seconds);
      rows.push_back(json::object{{"what", r.name},
                                  {"events_per_second", events_per_second(t.median)},
                                  {"low_quartile", events_per_second(t.high)},
                                  {"high_quartile", events_per_second(t.low)},
                                  {"bytes_per_second", bytes_per_second(t.median)},
                                  {"of_copy", copy / t.median},
                                  {"right", r.right}});
    }
    const json::object all{{"bench", "decode"},
                           {"backend", runner_.where},
                           {"processor", processor_name()},
                           {"events", events_},
                           {"fragment_bytes", batch_.fragment_bytes()},
                           {"percent_opaque", options_.opaque},
                           {"rows", rows}};
    std::printf("%s\n", json::serialize(all).c_str());
  }

  decode_options options_;
  bool cuda_;
  std::uint32_t events_;
  std::uint32_t passes_;
  decode_batch batch_;
  std::unique_ptr<thread_pool> pool_;
  decode_runner runner_;
  std::vector<decode_row> rows_; // the first is the copy
};

} // namespace

void add_bench_decode(CLI::App& bench, command_body& run) {
  auto o = std::make_shared<decode_options>();
  auto* c = bench.add_subcommand(
      "decode", "Board packets to waveforms, one technique added after the other, beside a copy");
  add_compute_options(*c, o->compute);
  const auto count = [&](const char* option, std::uint32_t& n, const char* is, std::uint32_t least,
                         std::uint32_t most) {
    c->add_option(option, n, is)->check(CLI::Range(least, most))->capture_default_str();
  };
  count("--events", o->events, "In the batch; 0: more than caches hold", 0, 4096);
  count("--opaque", o->opaque, "Per cent of the boards that have nothing to decode", 0, 100);
  count("--threshold", o->threshold, "Of the pulses that are listed, in counts", 0, 0x3fff);
  count("--rounds", o->rounds, "How often each takes its turn", 1, 10'000);
  c->add_flag("--json", o->as_json, "For machines");
  c->callback([o, &run] { run = [o] { return decode_bench(*o).run(); }; });
}

} // namespace l3
