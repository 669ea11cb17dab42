// SPDX-License-Identifier: Apache-2.0
#include "selection/trigger/load_selection.hpp"

#include <algorithm>
#include <span>
#include <stdexcept>

#include <fmt/format.h>

#include "config/toml/complaints.hpp"
#include "config/toml/value.hpp"
#include "selection/algorithms/registry.hpp"
#include "selection/sequence/plan.hpp"
#include "selection/trigger/parse_selection.hpp"
#include "transport/format/block.hpp"

namespace l3 {
namespace {

std::vector<std::string> names_in(const selection_settings& settings) {
  std::vector<std::string> names;
  for (const auto& name : settings.sequence) names.push_back(name.value);
  return names;
}

using step_names = std::span<const std::string>;

/// Why these steps cannot run in this order; empty if they can.
std::string why_not(step_names names) {
  try {
    static_cast<void>(plan_sequence(names, algorithms::infos(), {}, summaries::name));
    return {};
  } catch (const std::runtime_error& e) {
    return e.what();
  }
}

/// Finds the first step with which planning fails like the whole sequence.
std::size_t step_to_blame(step_names names, const std::string& why) {
  std::size_t step = 0;
  while (step + 1 < names.size() && why_not(names.first(step + 1)) != why) ++step;
  return step;
}

void check_sequence(const selection_settings& settings) {
  const auto names = names_in(settings);
  const auto refuse = [&](std::size_t step, const std::string& why) {
    throw bad_file(names.empty() ? source_place{settings.source} : settings.sequence[step].place,
                   "{}", why);
  };
  if (const std::string why = why_not(names); !why.empty()) refuse(step_to_blame(names, why), why);
  for (std::size_t step = 0; step < names.size(); ++step)
    if (std::ranges::count(step_names(names).first(step), names[step]) != 0)
      refuse(step, fmt::format("sequence: `{}` is listed twice; remove one", names[step]));
  if (std::ranges::count(names, decide::name) == 0)
    refuse(names.size() - 1,
           fmt::format("sequence: nothing decides which events are kept; end it with `{}`",
                       decide::name));
  const auto keeps = std::ranges::find(names, keep_waveforms::name);
  for (const line_settings& line : settings.lines)
    if (line.payload.value != event_payload::all && keeps == names.end())
      throw bad_file(line.payload.place,
                     "no algorithm applies the payload of line {}; end the sequence with `{}`",
                     quote(line.name.value), keep_waveforms::name);
  // Packing reads the pulses after the last step.
  if (keeps != names.end() && keeps + 1 != names.end())
    refuse(
        static_cast<std::size_t>(keeps - names.begin()),
        fmt::format("sequence: `{}` must be the last; move it to the end", keep_waveforms::name));
}

constexpr const char* built_in_detector = "built-in detector.toml";

bool is_built_in(const std::string& detector) { return detector.empty() || detector == built_in; }

/// For the built-in detector.
void check_readout(const readout& crates) {
  if (!(crates == readout::koto()))
    throw bad_file({built_in_detector},
                   "describes KOTO's readout, not the configured one; name a detector file for the "
                   "configured readout (selection.detector, or --detector)");
}

/// Reads a menu. If it is missing, and its name has the letters of "built-in", the complaint asks
/// whether that was meant.
std::string menu_text(const std::string& file) {
  try {
    return read_text(file);
  } catch (const bad_file& e) {
    complaint first = e.all().front();
    first.text += built_in_hint(file);
    throw bad_file({std::move(first)});
  }
}

} // namespace

detector load_detector(const selection_files& files, const readout& crates) {
  if (!is_built_in(files.detector)) return read_detector(files.detector, crates);
  check_readout(crates);
  return default_detector();
}

selection_program loaded_selection::program() const { return {names_in(settings), tables.view()}; }

std::vector<std::string> loaded_selection::line_names() const {
  std::vector<std::string> names;
  for (const line_settings& line : settings.lines) names.push_back(line.name.value);
  return names;
}

namespace {

/// The names of the texts, for messages.
struct text_names {
  std::string lines, detector, calibration;
};

loaded_selection load(recorded_settings texts, const text_names& names,
                      std::optional<std::uint32_t> run,
                      const std::function<void(selection_settings&)>& change = {}) {
  detector d = parse_detector(texts.detector, names.detector, texts.crates);
  calibration c = nominal_calibration(d);
  if (!texts.calibration.empty()) {
    run_calibration of_run = calibration_of_run(texts.calibration, names.calibration, d, run);
    c = std::move(of_run.inputs);
    texts.calibration = std::move(of_run.in_force);
  }
  selection_settings settings = parse_selection(texts.lines, names.lines);
  if (change) change(settings);
  check_sequence(settings);
  complaints wrong;
  wrong.hear({names.detector}, [&] { check_fits(d, c); });
  wrong.raise();
  host_tables tables = make_tables(d, c, settings, run.value_or(0), texts.mode);
  return {std::move(d), std::move(settings), std::move(tables), std::move(texts)};
}

} // namespace

loaded_selection load_selection(const selection_files& files, const readout& crates,
                                std::optional<std::uint32_t> run,
                                const std::function<void(selection_settings&)>& change) {
  const bool own_detector = is_built_in(files.detector);
  recorded_settings texts;
  texts.crates = crates;
  texts.mode = files.mode;
  texts.lines =
      files.lines == built_in ? std::string(default_selection_text()) : menu_text(files.lines);
  if (own_detector) check_readout(crates);
  texts.detector =
      own_detector ? std::string(default_detector_text()) : detector_text(files.detector);
  if (!files.calibration.empty()) {
    texts.calibration = read_text(files.calibration);
    if (texts.calibration.empty()) texts.calibration = "\n"; // a file without a table is refused
  }
  const std::string lines = files.lines == built_in ? "built-in selection.toml" : files.lines;
  loaded_selection all = load(
      std::move(texts),
      {lines, own_detector ? built_in_detector : files.detector, files.calibration}, run, change);
  constexpr std::size_t name_of_the_program = 1024;
  if (const std::size_t bytes = encode(all.recorded).size() + name_of_the_program;
      bytes > max_settings_bytes)
    throw bad_file({lines},
                   "lines, detector and calibration together have {} bytes; a store has room for "
                   "{}; make them shorter",
                   bytes, max_settings_bytes);
  return all;
}

loaded_selection load_selection(const recorded_settings& recorded, const std::string& name,
                                std::uint32_t run) {
  return load(recorded, {name + ", selection", name + ", detector", name + ", calibration"}, run);
}

std::string hash_of_selection(const selection_files& files, const readout& crates,
                              std::uint32_t run) {
  return fmt::format("{:08x}", load_selection(files, crates, run).tables.constants.settings);
}

selection_texts texts_of(const selection_files& files) {
  const auto text_of = [](const std::string& file, auto read) -> std::string {
    if (file.empty() || file == built_in) return {};
    try {
      return read(file);
    } catch (const bad_file&) {
      return {};
    }
  };
  if (files.lines.empty()) return {};
  const auto plain = [](const std::string& file) { return read_text(file); };
  return {text_of(files.lines, plain),
          text_of(files.detector, [](const std::string& file) { return detector_text(file); }),
          text_of(files.calibration, plain)};
}

std::string name_of_reason(std::uint8_t reason) {
  switch (reason) {
  case line_fired: return "fired";
  case line_trigger: return "trigger";
  case line_veto: return "veto";
  case line_veto_missing: return "veto_missing";
  case line_unknown: return "unknown";
  case line_prescale: return "prescale";
  case line_decodable: return "decodable";
  case line_not_judged: return "not_judged";
  case line_not_overfull: return "not_overfull";
  default: break;
  }
  const std::uint32_t which = reason - std::uint32_t{line_out_of_range};
  return reason >= line_out_of_range && which < quantities
             ? std::string(name_of(static_cast<quantity>(which)))
             : "?";
}

} // namespace l3
