// SPDX-License-Identifier: Apache-2.0
// `koto-l3-bench engine`: frames of synthetic events through the engine, as many in flight as it
// has, with results and packed events in host memory. With --select the events are simulated, and
// rows are added for a selecting engine, as in production. The limit of the same run: on a device
// the same buffers copied without computing, on a CPU one core's memcpy of them.
#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>

#include "bench/harness/made_up_batch.hpp"
#include "bench/harness/options.hpp"
#include "bench/harness/packed_events.hpp"
#include "bench/harness/report.hpp"
#include "bench/pipeline/arrivals.hpp"
#include "bench/selection/select_batch.hpp"
#include "selection/engine/make_engine.hpp"
#include "selection/trigger/load_selection.hpp"
#include "tools/command_line.hpp"

namespace l3 {
namespace {

using namespace bench;
namespace json = boost::json;

struct engine_options {
  compute_settings compute;
  std::uint32_t frames = 4;
  std::uint32_t events = 64;
  std::uint32_t batches = 32;
  bool select = false;
  bool suppressed = false;
  bool strong = false;
  turn_options turns{.rounds = 9};
};

/// The contents of the frames: synthetic events, or simulated ones and their selection.
class frame_contents {
public:
  explicit frame_contents(const engine_options& o) : events_(o.events) {
    if (!o.select) return;
    constexpr std::uint32_t run = 1;
    const detector d = default_detector();
    selection_.emplace(load_selection({built_in, built_in, ""}, d.crates(), run,
                                      o.suppressed ? suppress_all : nullptr));
    program_.emplace(selection_->program());
    simulated_.emplace(d, o.events);
  }

  [[nodiscard]] batch_capacity capacity() const {
    return simulated_ ? simulated_->capacity() : made_up_capacity(events_);
  }
  void fill(input_batch& batch) const {
    simulated_ ? simulated_->copy_to(batch) : make_up_batch(batch);
  }
  /// Null: all events are kept.
  [[nodiscard]] const selection_program* program() const { return program_ ? &*program_ : nullptr; }

private:
  std::uint32_t events_;
  std::optional<loaded_selection> selection_;
  std::optional<selection_program> program_;
  std::optional<select_batch> simulated_;
};

class engine_bench {
public:
  explicit engine_bench(const engine_options& o) : options_(o), contents_(o) {
    const bool device = on_device(o.compute);
    options_.batches = std::max(o.batches, o.frames); // every frame is checked
    expected_ = expect(nullptr);
    if (o.select) expected_selected_ = expect(contents_.program());
    add_engine(nullptr);
    if (o.select) add_engine(contents_.program());
    const engine& first = *engines_.front();
    bytes_ = fragment_bytes(first.frames()[0]->input);
    for (const frame* f : first.frames())
      inputs_.emplace_back(f->input.bytes.first(f->input.used_bytes));
    entrants_.insert(entrants_.begin(), device ? cuda_arrivals(inputs_, options_.batches)
                                               : memcpy_arrivals(inputs_, options_.batches));
  }

  int run() const {
    const std::vector<timing> times =
        measure(entrants_, {options_.turns.rounds, 1, start::in_turn, timer::wall});
    const double bytes = static_cast<double>(bytes_) * options_.batches;
    const double events = static_cast<double>(options_.events) * options_.batches;
    json::object report = report_of("engine");
    report["frames"] = options_.frames;
    report["events"] = options_.events;
    report["input_bytes"] = bytes_;
    report["output_bytes"] = expected_.size();
    if (options_.select) report["selected_bytes"] = expected_selected_.size();
    json::array rows;
    for (std::size_t i = 0; i < times.size(); ++i) {
      json::object row = rated({{"what", entrants_[i].name}}, "bytes_per_second", bytes, times[i]);
      row["events_per_second"] = events / times[i].median;
      row["of_limit"] = times[0].median / times[i].median;
      rows.push_back(std::move(row));
    }
    report["rows"] = std::move(rows);
    return print_report(report, options_.turns.as_json, std::ranges::all_of(times, &timing::right));
  }

private:
  [[nodiscard]] codec_id codec() const {
    return options_.strong ? codec_id::strong : codec_id::koto;
  }

  /// `program`: null keeps all events.
  void add_engine(const selection_program* program) {
    const engine_limits limits{contents_.capacity(), options_.frames, codec()};
    engine* const e = engines_.emplace_back(make_engine(options_.compute, limits, program)).get();
    for (frame* f : e->frames()) contents_.fill(f->input);
    std::string name = "engine, " + std::string(e->name()) +
                       (program != nullptr ? ", selection" : ", every event kept");
    const auto& expected = program != nullptr ? expected_selected_ : expected_;
    entrants_.push_back({std::move(name), [e] { poison(*e); }, [this, e] { through(*e); },
                         [e, &expected] { return is_right(*e, expected); }});
  }

  /// Every frame is restarted as soon as it is done, as in the daemon.
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

  [[nodiscard]] std::vector<std::byte> expect(const selection_program* program) const {
    return packed_on_host(contents_.capacity(), codec(), program,
                          [this](input_batch& to) { contents_.fill(to); });
  }

  static void poison(const engine& e) {
    for (const frame* f : e.frames())
      std::memset(f->output_memory.data(), poison_byte, f->output_memory.size());
  }

  [[nodiscard]] static bool is_right(const engine& e, const std::vector<std::byte>& expected) {
    return std::ranges::all_of(e.frames(), [&](const frame* f) {
      return packed_events(f->results, f->output) == expected;
    });
  }

  engine_options options_;
  frame_contents contents_;
  std::uint64_t bytes_ = 0; // fragment bytes of a batch
  std::vector<std::unique_ptr<engine>> engines_;
  std::vector<std::span<const std::byte>> inputs_;
  std::vector<std::byte> expected_;
  std::vector<std::byte> expected_selected_;
  std::vector<entrant> entrants_; // the first one is the limit
};

} // namespace

void add_bench_engine(command_line program, command_body& run) {
  auto o = std::make_shared<engine_options>();
  const auto c = program.add_subcommand(
      "engine", "Decode and pack frames in flight, beside the bare copy of them");
  add_compute_options(c, o->compute);
  add_count(c, "--frames", o->frames, "Frames in flight at a time", 1, 16);
  add_count(c, "--events", o->events, "Events in a frame", 1, 1024);
  add_count(c, "--batches", o->batches, "Frames in one timing; at least as many as --frames", 1,
            100'000);
  const auto select =
      c.add_flag("--select", o->select, "Use simulated events, and also an engine that selects");
  c.add_flag("--suppressed", o->suppressed, "The selection keeps every event in suppressed form")
      .needs(select);
  c.add_flag("--strong", o->strong, "Pack in the strong codec");
  add_turn_options(c, o->turns);
  c.callback([o, &run] { run = [o] { return engine_bench(*o).run(); }; });
}

} // namespace l3
