// SPDX-License-Identifier: Apache-2.0
#include "tools/evaluate/selection_run.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "gpu/codec/decode_all.hpp"
#include "tools/command_error.hpp"
#include "tools/command_line.hpp"
#include "tools/print.hpp"
#include "tools/progress.hpp"
#include "tools/verify/payload_tally.hpp"
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
       r.kept != 0 ? one.output.subspan(r.offset, r.bytes) : std::span<const std::byte>(),
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

block_selector::block_selector(const selection_options& how, const readout& crates,
                               std::uint32_t run, codec_id codec)
    : block_selector(how, load_selection(how, crates, run), crates, run, codec) {}

block_selector::block_selector(const selection_options& how, loaded_selection selection,
                               const readout& crates, std::uint32_t run, codec_id codec)
    : filler_(crates), run_(run), codec_(codec), selection_(std::move(selection)),
      kernels_(make_selecting_engine(how, filler_.capacity(how.batch), selection_, codec)),
      one_(*kernels_->frames()[0]) {
  one_.input.clear();
}

/// A stored event does not have the readout, only whether a crate or a board was missing.
bool block_selector::add(const packed_event_view& event) {
  if (!event.is_whole())
    throw command_error(fmt::format("event {} of spill {} {}, so it cannot be decided again",
                                    event.key().number, event.key().spill, why_not_whole(event)),
                        exit_bad_configuration);
  const std::uint32_t n = event.fragments();
  if (fragments_.size() < n) fragments_.resize(n);
  views_.clear();
  std::uint32_t raw = 0;
  const auto wrong = [&](const std::string& why) {
    return command_error(
        fmt::format("event {} of spill {} has a different readout than its settings: {}",
                    event.key().number, event.key().spill, why),
        exit_bad_configuration);
  };
  for (std::uint32_t i = 0; i < n; ++i) {
    const packed_fragment f = event.fragment(i);
    if (f.crate >= filler_.crates().size())
      throw wrong(fmt::format("it has a fragment for crate place {}, but the readout has {} crates",
                              f.crate, filler_.crates().size()));
    raw += f.form == fragment_form::raw ? 1U : 0U;
    if (!rebuild_fragment(event, i, fragments_[i], strong::decode_all)) return false;
    views_.push_back({f.crate, fragments_[i]});
  }
  input_batch& batch = one_.input;
  event_entry& entry = filler_.add(batch, event.key(), views_);
  const auto added = batch.fragments.subspan(entry.first_fragment, entry.fragments);
  if (std::ranges::count(added, 1, &fragment_entry::raw) != raw)
    throw wrong("its crates have different boards than the readout");
  entry.flags = event.header().flags & std::uint32_t{event_incomplete};
  entry.reference_time = event.header().reference_time;
  return true;
}

void block_selector::decide(const std::function<void(decided_event)>& f) {
  if (one_.input.used_events == 0) return;
  decide_batch(*kernels_, one_, f);
  one_.input.clear();
}

void decision_totals::add(const event_summary& s) {
  ++events;
  kept += s.kept;
  not_judged += (s.status & l3::not_judged) != 0 ? 1 : 0;
  for (std::uint32_t n = 0; n < s.lines; ++n) {
    lines[n].fired += s.fired >> n & 1;
    lines[n].kept += s.kept_by >> n & 1;
    ++lines[n].reasons[s.reason[n]];
  }
}

std::vector<std::pair<std::uint64_t, std::string>>
reasons_by_frequency(std::span<const std::uint64_t> events) {
  std::vector<std::pair<std::uint64_t, std::string>> all;
  for (std::size_t r = 0; r < events.size(); ++r)
    if (r != line_fired && events[r] != 0)
      all.emplace_back(events[r], name_of_reason(static_cast<std::uint8_t>(r)));
  std::ranges::stable_sort(all, [](const auto& a, const auto& b) { return a.first > b.first; });
  return all;
}

boost::json::object reasons_to_json(std::span<const std::uint64_t> events) {
  boost::json::object all;
  for (std::size_t r = 0; r < events.size(); ++r)
    if (r != line_fired && events[r] != 0)
      all[name_of_reason(static_cast<std::uint8_t>(r))] = events[r];
  return all;
}

boost::json::array lines_to_json(const decision_totals& t, const loaded_selection& selection) {
  boost::json::array list;
  const auto names = selection.line_names();
  for (std::size_t n = 0; n < t.lines.size(); ++n) {
    list.push_back(boost::json::object{{"line", names[n]},
                                       {"id", selection.tables.lines[n].id},
                                       {"prescale", selection.tables.lines[n].prescale},
                                       {"fired", t.lines[n].fired},
                                       {"kept", t.lines[n].kept},
                                       {"refused", reasons_to_json(t.lines[n].reasons)}});
  }
  return list;
}

void print_totals(const decision_totals& t, const loaded_selection& selection) {
  const auto names = selection.line_names();
  print_plain("{:<16} {:>9} {:>10} {:>10}   reasons of refusal, most frequent first\n", "line",
              "prescale", "fired", "kept");
  for (std::size_t n = 0; n < t.lines.size(); ++n) {
    const line_total& line = t.lines[n];
    std::vector<std::string> texts;
    for (const auto& [count, what] : reasons_by_frequency(line.reasons))
      texts.push_back(fmt::format("{} {}", what, count));
    print_plain("{:<16} {:9} {:10} {:10}   {}\n", names[n], selection.tables.lines[n].prescale,
                line.fired, line.kept, fmt::join(texts, ", "));
  }
  print_plain("{} of {} events kept ({:.2f} %)", t.kept, t.events,
              t.events == 0 ? 0.0
                            : 100.0 * static_cast<double>(t.kept) / static_cast<double>(t.events));
  if (t.not_judged != 0) print_plain("; {} overfull", t.not_judged);
  print_plain("\n");
}

} // namespace l3
