// SPDX-License-Identifier: Apache-2.0
#include "tools/evaluate/selection_run.hpp"

#include <map>

#include "tools/command.hpp"
#include "tools/progress.hpp"
#include "transport/store/event_view.hpp"

namespace l3 {
namespace {

std::uint64_t bytes_of(const input_batch& in, const event_entry& event) {
  std::uint64_t bytes = 0;
  for (std::uint32_t k = 0; k < event.fragments; ++k)
    bytes += in.fragments[event.first_fragment + k].bytes;
  return bytes;
}

} // namespace

void add_backend_option(command_line command, compute_settings& o) {
  static const std::map<std::string, backend> backends{
      {"auto", backend::automatic}, {"serial", backend::serial}, {"pool", backend::pool},
      {"cuda", backend::cuda},      {"hip", backend::hip},       {"sycl", backend::sycl}};
  command
      .add_option_function(
          "--backend", [&](const std::string& name) { o.where = backends.at(name); },
          "where the kernels run; every backend gives the same results")
      .check(one_of(backends))
      .default_str(o.where == backend::serial ? "serial" : "auto");
}

void add_selecting_options(command_line command, selection_options& o) {
  command.add_option("--detector", o.files.detector, "description of the detector")
      .capture_default_str();
  command.add_option("--calibration", o.files.calibration,
                     "table of the channels that differ from the description");
  add_backend_option(command, o.compute);
  command.add_option("--threads", o.compute.threads, "threads of the pool; 0: one per processor")
      .capture_default_str();
  constexpr std::uint32_t most_events = 4096;
  command.add_option("--batch", o.batch, "events computed together")
      .check(in_range(1U, most_events))
      .capture_default_str();
}

void add_selection_options(command_line command, selection_options& o) {
  command.add_option("in", o.in, "a .l2raw file, a store or a spool").required();
  add_selecting_options(command, o);
}

option add_record_flag(command_line command, selection_files& files) {
  return command.add_flag_function(
      "--record", [&files] { files.mode = selection_mode::record; },
      "keep every event, as with selection.mode = \"record\"");
}

loaded_selection load_selection(const selection_options& o, const readout& crates,
                                std::optional<std::uint32_t> run) {
  check_built_in_or_readable(o.files.lines);
  check_built_in_or_readable(o.files.detector);
  if (!o.files.calibration.empty()) check_readable(o.files.calibration);
  try {
    return load_selection(o.files, crates, run);
  } catch (const std::runtime_error& e) {
    throw command_error(e, exit_bad_configuration);
  }
}

loaded_selection load_recorded(const recorded_settings& recorded, const std::string& name,
                               std::uint32_t run) {
  try {
    return load_selection(recorded, name, run);
  } catch (const std::runtime_error& e) {
    throw command_error(e, exit_bad_configuration);
  }
}

std::vector<std::byte> summary_of(const decided_event& e) {
  const auto view = packed_event_view::parse(e.packed);
  if (!view) throw command_error("the engine made a damaged packed event");
  return {view->summary().begin(), view->summary().end()};
}

std::unique_ptr<engine> make_selecting_engine(const selection_options& o,
                                              const batch_capacity& capacity,
                                              const loaded_selection& selection, codec_id codec) {
  const selection_program program = selection.program();
  engine_limits limits{capacity, 1};
  limits.codec = codec;
  return opened([&] { return make_engine(o.compute, limits, &program); });
}

void decide_batch(engine& compute, frame& one, const std::function<void(decided_event)>& f) {
  compute.start(one);
  if (!compute.wait(one)) throw command_error("the engine failed: " + one.error);
  for (std::uint32_t e = 0; e < one.input.used_events; ++e) {
    const event_result& r = one.results[e];
    f({one.input.events[e],
       r,
       one.summaries[e],
       r.kept ? one.output.subspan(r.offset, r.bytes) : std::span<const std::byte>(),
       bytes_of(one.input, one.input.events[e]),
       {}});
  }
}

void for_each_decided(file_batches& in, engine& compute,
                      const std::function<void(decided_event)>& f, const char* label,
                      interrupt& signals) {
  frame& one = *compute.frames()[0];
  progress line(label, in.size() >> 20, "MiB");
  while (in.fill(one.input)) {
    signals.check();
    decide_batch(compute, one, [&](decided_event e) {
      const auto place = static_cast<std::size_t>(&e.event - one.input.events.data());
      e.since_spill = in.since_spill(place);
      f(e);
    });
    line.update(in.position() >> 20);
  }
}

} // namespace l3
