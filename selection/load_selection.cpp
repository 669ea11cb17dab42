// SPDX-License-Identifier: Apache-2.0
#include "selection/load_selection.hpp"

#include <stdexcept>

#include "selection/algorithms/registry.hpp"
#include "selection/settings_file.hpp"

namespace l3 {
namespace {

std::vector<std::string> names_in(const selection_settings& settings) {
  std::vector<std::string> names;
  for (const auto& name : settings.sequence) names.push_back(name.value);
  return names;
}

void check_sequence(const selection_settings& settings) {
  try {
    const auto registry = algorithms::infos();
    static_cast<void>(plan_sequence(names_in(settings), registry, {}, summaries::name));
  } catch (const std::runtime_error& e) {
    const std::string place =
        settings.sequence.empty() ? settings.source : settings.sequence.front().place;
    throw std::runtime_error(place + ": " + e.what());
  }
}

} // namespace

selection_program loaded_selection::program() const { return {names_in(settings), tables.view()}; }

std::vector<std::string> loaded_selection::line_names() const {
  std::vector<std::string> names;
  for (const line_settings& line : settings.lines) names.push_back(line.name.value);
  return names;
}

loaded_selection load_selection(const selection_files& files, const readout& crates,
                                std::uint32_t run) {
  detector d = files.detector == built_in ? default_detector() : read_detector(files.detector);
  if (!(d.crates() == crates))
    throw std::runtime_error(files.detector + ": describes another readout than the one that is "
                                              "set; selection needs readout.crates as it is there");
  const calibration c =
      files.calibration.empty() ? nominal_calibration(d) : read_calibration(files.calibration, d);
  selection_settings settings =
      files.lines == built_in ? default_selection() : read_selection(files.lines);
  check_sequence(settings);
  host_tables tables = make_tables(d, c, settings, run);
  return {std::move(d), std::move(settings), std::move(tables)};
}

std::string describe_sequence(const selection_settings& settings, const batch_capacity& capacity) {
  const auto registry = algorithms::infos();
  return describe(plan_sequence(names_in(settings), registry, capacity, summaries::name), registry);
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
  default: break;
  }
  const std::uint32_t which = reason - std::uint32_t{line_out_of_range};
  return reason >= line_out_of_range && which < quantities
             ? std::string(name_of(static_cast<quantity>(which)))
             : "?";
}

} // namespace l3
