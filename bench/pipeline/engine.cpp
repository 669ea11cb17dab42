// SPDX-License-Identifier: Apache-2.0
// `koto-l3-bench engine`: frames of made-up events through the engine, as many in flight as it has,
// results and packed events back in host memory, with each form of packing and, on a device, by
// each way out. Beside it the limit of the same run: on a device the same buffers copied there and
// nothing computed, on a CPU one core's memcpy of them.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>

#include <boost/json.hpp>

#include "bench/measure/compute_options.hpp"
#include "bench/measure/made_up_batch.hpp"
#include "bench/measure/measure.hpp"
#include "bench/pipeline/arrivals.hpp"
#include "selection/engine/make_engine.hpp"
#include "tools/command.hpp"

namespace l3 {
namespace {

using namespace bench;
namespace json = boost::json;

constexpr double giga = 1e9;
constexpr int poison_byte = 0xa5;

struct engine_options {
  compute_settings compute;
  std::uint32_t frames = 4;
  std::uint32_t events = 64;
  std::uint32_t batches = 32;
  std::uint32_t rounds = 9;
  bool as_json = false;
};

/// One that takes its turn: all batches through an engine, or through what limits it.
struct runner {
  std::string name;
  std::unique_ptr<engine> made; ///< none: it is the limit
  std::function<void()> poison; ///< makes the output of the last run unusable
  std::function<void()> run;
  std::function<bool()> is_right; ///< the output is, after a run
  std::vector<double> seconds;
  bool right = true;
};

class engine_bench {
public:
  explicit engine_bench(const engine_options& o) : options_(o) {
    if (o.compute.where == backend::cuda && !why_no_cuda().empty())
      throw command_error("backend cuda was asked for, but " + why_no_cuda(),
                          exit_missing_resource);
    options_.batches = std::max(o.batches, o.frames); // every frame is looked at
    // The first engine says where it computes; on a device both ways out are measured.
    constexpr auto first_path = output_path::mapped;
    add_engine(first_path, packing_form::two_passes);
    const bool on_device = runners_.front().made->name().starts_with("cuda");
    add_engine(first_path, packing_form::one_pass);
    if (on_device) {
      for (runner& r : runners_) r.name += ", output mapped";
      for (const packing_form packing : {packing_form::two_passes, packing_form::one_pass}) {
        add_engine(output_path::copied, packing);
        runners_.back().name += ", output copied";
      }
    }
    const engine& first = *runners_.front().made;
    bytes_ = fragment_bytes(first.frames()[0]->input);
    for (const frame* f : first.frames())
      inputs_.emplace_back(f->input.bytes.first(f->input.used_bytes));
    add_limit(on_device);
    expect();
  }

  int run() {
    constexpr std::uint32_t warming_rounds = 1;
    for (std::uint32_t round = 0; round < warming_rounds + options_.rounds; ++round) {
      for (runner& r : runners_) {
        r.poison();
        const auto start = std::chrono::steady_clock::now();
        r.run();
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
        if (round >= warming_rounds) r.seconds.push_back(took.count());
        r.right = r.right && r.is_right();
      }
    }
    print();
    for (const runner& r : runners_) {
      if (!r.right) return exit_failure;
    }
    return 0;
  }

private:
  std::unique_ptr<engine> make(compute_settings where, std::uint32_t frames, output_path path,
                               packing_form packing) {
    auto e = make_engine(where, {made_up_capacity(options_.events), frames, 0, path, packing});
    for (frame* f : e->frames()) make_up_batch(f->input);
    return e;
  }

  void add_engine(output_path path, packing_form packing) {
    runner r;
    r.made = make(options_.compute, options_.frames, path, packing);
    r.name = "engine, " + std::string(r.made->name()) +
             (packing == packing_form::one_pass ? ", one pass" : ", two passes");
    r.poison = [e = r.made.get()] { poison(*e); };
    r.run = [this, e = r.made.get()] { through(*e); };
    r.is_right = [this, e = r.made.get()] { return is_right(*e); };
    runners_.push_back(std::move(r));
  }

  void add_limit(bool on_device) {
    const some_arrivals limit = on_device ? cuda_arrivals(inputs_) : memcpy_arrivals(inputs_);
    runner r;
    r.name = on_device ? "the same buffers copied to the device"
                       : "memcpy of the same buffers, one core";
    r.poison = limit.poison;
    r.run = [this, run = limit.run] { run(options_.batches); };
    r.is_right = limit.is_right;
    runners_.insert(runners_.begin(), std::move(r));
  }

  /// Every frame is started again as soon as it was waited for: that is what the daemon does.
  void through(engine& e) const {
    const auto frames = e.frames();
    const auto finish = [&](frame& f) {
      if (!e.wait(f)) throw command_error(f.error);
    };
    for (std::uint32_t i = 0; i < options_.batches; ++i) {
      frame& f = *frames[i % frames.size()];
      if (i >= frames.size()) finish(f);
      e.start(f);
    }
    for (std::uint32_t i = 0; i < frames.size() && i < options_.batches; ++i)
      finish(*frames[(options_.batches + i) % frames.size()]);
  }

  /// What the reference executor makes of the batch.
  void expect() {
    const auto reference =
        make({backend::serial, 0}, 1, output_path::mapped, packing_form::two_passes);
    frame& f = *reference->frames()[0];
    reference->start(f);
    if (!reference->wait(f)) throw command_error(f.error);
    expected_.assign(f.output.begin(), f.output.end());
  }

  static void poison(const engine& e) {
    for (const frame* f : e.frames())
      std::memset(f->output_memory.data(), poison_byte, f->output_memory.size());
  }

  [[nodiscard]] bool is_right(const engine& e) const {
    for (const frame* f : e.frames()) {
      if (!std::equal(f->output.begin(), f->output.end(), expected_.begin(), expected_.end()))
        return false;
    }
    return true;
  }

  void print() const {
    const double bytes = static_cast<double>(bytes_) * options_.batches;
    const double events = static_cast<double>(options_.events) * options_.batches;
    const double limit = summary(runners_.front().seconds).median;
    json::array rows;
    if (!options_.as_json) {
      std::printf("GB/s of fragments: medians, quartiles in brackets, then as a part of the first; "
                  "%u frames of %u events, compressed %.2f : 1; %s\n\n",
                  options_.frames, options_.events,
                  static_cast<double>(bytes_) / static_cast<double>(expected_.size()),
                  processor_name().c_str());
    }
    for (const runner& r : runners_) {
      const timing t = summary(r.seconds);
      rows.push_back(json::object{{"what", r.name},
                                  {"bytes_per_second", bytes / t.median},
                                  {"low_quartile", bytes / t.high},
                                  {"high_quartile", bytes / t.low},
                                  {"events_per_second", events / t.median},
                                  {"of_limit", limit / t.median},
                                  {"right", r.right}});
      if (options_.as_json) continue;
      std::printf("%-56s %7.2f (%7.2f … %7.2f) %5.2f %10.0f events/s%s\n", r.name.c_str(),
                  bytes / t.median / giga, bytes / t.high / giga, bytes / t.low / giga,
                  limit / t.median, events / t.median, r.right ? "" : "  WRONG OUTPUT");
    }
    if (!options_.as_json) return;
    const json::object all{{"bench", "engine"},
                           {"processor", processor_name()},
                           {"frames", options_.frames},
                           {"events", options_.events},
                           {"input_bytes", bytes_},
                           {"output_bytes", expected_.size()},
                           {"rows", rows}};
    std::printf("%s\n", json::serialize(all).c_str());
  }

  engine_options options_;
  std::uint64_t bytes_ = 0; // of the fragments of a batch
  std::vector<std::span<const std::byte>> inputs_;
  std::vector<std::byte> expected_;
  std::vector<runner> runners_; // the first is the limit
};

} // namespace

void add_bench_engine(CLI::App& bench, command_body& run) {
  auto o = std::make_shared<engine_options>();
  auto* c = bench.add_subcommand(
      "engine", "Frames in flight through decoding and packing, beside the bare copy of them");
  add_compute_options(*c, o->compute);
  const auto count = [&](const char* option, std::uint32_t& n, const char* is, std::uint32_t most) {
    c->add_option(option, n, is)->check(CLI::Range(1U, most))->capture_default_str();
  };
  count("--frames", o->frames, "In flight at a time", 16);
  count("--events", o->events, "Of a frame", 1024);
  count("--batches", o->batches, "In one timing; at least one a frame", 100'000);
  count("--rounds", o->rounds, "How often each takes its turn", 10'000);
  c->add_flag("--json", o->as_json, "For machines");
  c->callback([o, &run] { run = [o] { return engine_bench(*o).run(); }; });
}

} // namespace l3
