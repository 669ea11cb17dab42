// SPDX-License-Identifier: Apache-2.0
// `koto-l3-bench counts`: what the kernels execute for one batch of simulated events, counted by
// the simulated device. Nearly all their waveforms are quiet, so packing is also counted for
// synthetic waveforms with the N of recordings. Counts are the same on every machine and in every
// run; they are no times.
#include <algorithm>
#include <memory>

#include "bench/counts/device_counts.hpp"
#include "bench/harness/made_up_batch.hpp"
#include "bench/harness/options.hpp"
#include "bench/harness/report.hpp"
#include "bench/selection/select_batch.hpp"
#include "selection/engine/make_engine.hpp"
#include "selection/trigger/load_selection.hpp"
#include "tools/command_line.hpp"

namespace l3 {
namespace {

using namespace bench;
namespace json = boost::json;

struct counts_options {
  std::uint32_t events = 4;
  std::string only;
  bool as_json = false;
};

constexpr std::uint32_t waveforms_of_a_board = 16; // of 64 samples each

double per(std::uint64_t n, std::uint64_t d) {
  return d == 0 ? 0 : static_cast<double>(n) / static_cast<double>(d);
}

json::object row_of(const std::string& what, const device_count& c, std::uint64_t waveforms,
                    std::uint64_t events) {
  json::object row;
  row["what"] = what;
  row["kernel"] = c.kernel;
  row["warp_instructions_per_waveform"] = per(c.warp_instructions, waveforms);
  row["warp_instructions_per_event"] = per(c.warp_instructions, events);
  row["lanes_active"] = per(c.lane_instructions, c.warp_instructions);
  row["sectors_per_request"] = per(c.global_sectors, c.global_requests);
  row["shared_wavefronts_over_least"] = per(c.shared_wavefronts, c.shared_wavefronts_least);
  row["shared_wavefronts_per_waveform"] = per(c.shared_wavefronts, waveforms);
  row["barriers_per_event"] = per(c.barriers, events);
  return row;
}

int run_counts(const counts_options& o) {
  if (take_device_counts == nullptr)
    throw command_error("this program runs kernels without counting: the tests' build has another, "
                        "build/interpreted/koto-l3-bench",
                        exit_missing_resource);
  const detector d = default_detector();
  constexpr std::uint32_t run = 1;
  const loaded_selection selection = load_selection({built_in, built_in, ""}, d.crates(), run);
  const selection_program program = selection.program();
  const loaded_selection suppressing =
      load_selection({built_in, built_in, ""}, d.crates(), run, suppress_all);
  const selection_program suppressed = suppressing.program();
  selection_program counting = program;
  counting.histograms_one_in = 1;
  const select_batch batch(d, o.events);
  const std::uint64_t waveforms = std::uint64_t{waveforms_of_a_board} * batch.boards();

  enum class contents : std::uint8_t { simulated, made_up }; // with equal numbers of boards
  struct way {
    std::string name;
    const selection_program* program;
    codec_id codec = codec_id::koto;
    contents events = contents::simulated;
  };
  json::array rows;
  for (const way& w :
       {way{"keep all", nullptr}, way{"keep all, strong", nullptr, codec_id::strong},
        way{"made up", nullptr, codec_id::koto, contents::made_up}, way{"selection", &program},
        way{"suppressed, strong", &suppressed, codec_id::strong},
        way{"selection, histograms", &counting}}) {
    if (!o.only.empty() && w.name != o.only) continue;
    const bool is_made_up = w.events == contents::made_up;
    engine_limits limits{is_made_up ? made_up_capacity(o.events) : batch.capacity(), 1};
    limits.codec = w.codec;
    const auto e = make_engine({backend::cuda, 0}, limits, w.program);
    frame& f = *e->frames()[0];
    is_made_up ? make_up_batch(f.input) : batch.copy_to(f.input);
    if (f.input.used_boards != batch.boards()) throw command_error("the batches differ in size");
    static_cast<void>(take_device_counts()); // counts of the engine's construction
    e->start(f);
    if (!e->wait(f)) throw command_error(f.error);
    for (const device_count& c : take_device_counts())
      rows.push_back(row_of(w.name, c, waveforms, o.events));
  }
  json::object report = report_of("counts");
  report["events"] = o.events;
  report["waveforms"] = waveforms;
  report["rows"] = std::move(rows);
  return print_report(report, o.as_json, true);
}

} // namespace

void add_bench_counts(command_line program, command_body& run) {
  auto o = std::make_shared<counts_options>();
  const auto c = program.add_subcommand(
      "counts",
      "Count the instructions of each kernel for a batch of events with the PTX interpreter");
  add_count(c, "--events", o->events, "Events in the batch", 1, 64);
  c.add_option("--only", o->only, "Only this batch, such as \"keep all\"");
  c.add_flag("--json", o->as_json, "Report as JSON");
  c.callback([o, &run] { run = [o] { return run_counts(*o); }; });
}

} // namespace l3
