// SPDX-License-Identifier: Apache-2.0
#include "tools/evaluate/stress.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <thread>

#include <fmt/format.h>

#include "config/toml/complaints.hpp"
#include "tools/command_line.hpp"
#include "tools/evaluate/evaluation.hpp"
#include "tools/pending_file.hpp"
#include "tools/simulation/simulation.hpp"

namespace l3 {

simulated_effects stress_row::sizes() const {
  simulated_effects all;
  for (const auto& effect : effects)
    for (const auto& option : effect_options)
      if (option.name == effect.first) all.*option.size = effect.second;
  return all;
}

bool stress_row::same_particles() const {
  const simulated_effects e = sizes();
  const simulated_effects none;
  return e.accidentals == none.accidentals && e.beam_pile_up == none.beam_pile_up &&
         e.beam_tail == none.beam_tail && e.veto_inefficiency == none.veto_inefficiency &&
         e.backsplash == none.backsplash;
}

const std::vector<stress_row>& stress_rows() {
  static const std::vector<stress_row> rows{
      {"as_simulated", {}, 0.99},
      {"noise_board_2", {{"noise-board", 2}}},
      {"noise_board_5", {{"noise-board", 5}}},
      {"noise_crate_2", {{"noise-crate", 2}}},
      {"noise_crate_5", {{"noise-crate", 5}}},
      {"noise_white_3", {{"noise-white", 3}}},
      {"noise_white_6", {{"noise-white", 6}}},
      {"noise_filtered_3", {{"noise-filtered", 3}}},
      {"noise_filtered_6", {{"noise-filtered", 6}}},
      {"noise_x2", {{"noise-factor", 2}}},
      {"noise_x4", {{"noise-factor", 4}}, 0.90, 0.30},
      {"slope_5", {{"slope", 5}}},
      {"slope_20", {{"slope", 20}}},
      {"wander_5", {{"wander", 5}}},
      {"wander_20", {{"wander", 20}}},
      {"recovering_2", {{"recovering", 0.02}}},
      {"recovering_20", {{"recovering", 0.2}}, 0.90},
      {"undershoot_2", {{"undershoot", 0.02}}},
      {"tail_2", {{"undershoot", -0.02}}},
      {"early_16", {{"event-shift", -16}}},
      {"late_16", {{"event-shift", 16}}},
      {"event_jitter_1", {{"event-jitter", 1}}},
      {"event_jitter_3", {{"event-jitter", 3}}},
      {"crate_jitter_1", {{"crate-jitter", 1}}},
      {"crate_jitter_2", {{"crate-jitter", 2}}, 0.90}, // beyond the windows
      {"times_5", {{"time-spread", 5}}},
      {"times_10", {{"time-spread", 10}}},
      {"counter_times_2", {{"counter-time-spread", 2}}},
      {"counter_times_5", {{"counter-time-spread", 5}}},
      {"gains_10", {{"gain-spread", 0.1}, {"dead", 0.01}}},
      {"gains_20", {{"gain-spread", 0.2}, {"dead", 0.03}}},
      {"pulse_form_5", {{"pulse-spread", 0.05}}},
      {"pulse_form_10", {{"pulse-spread", 0.1}}},
      {"hot_0.2", {{"hot", 0.002}}, 0}, // hot inputs are not masked
      {"hot_1", {{"hot", 0.01}}, 0},
      {"stuck_0.2", {{"stuck", 0.002}}},
      {"stuck_1", {{"stuck", 0.01}}},
      {"saturation_8000", {{"saturation", 8000}}},
      {"saturation_4000", {{"saturation", 4000}}},
      {"full_scale_98", {{"full-scale", 0.977}}}, // 16000 counts
      {"full_scale_25", {{"full-scale", 0.25}}},
      {"accidentals_x5", {{"accidentals", 5}}},
      {"accidentals_x10", {{"accidentals", 10}}, 0.93},
      {"beam_x2", {{"beam-pile-up", 2}, {"beam-tail", 0.02}}},
      {"beam_x3", {{"beam-pile-up", 3}, {"beam-tail", 0.05}}},
      {"inefficient_1", {{"veto-inefficiency", 0.01}}},
      {"inefficient_5", {{"veto-inefficiency", 0.05}}},
      {"backsplash_0.3", {{"backsplash", 0.3}}},
      {"backsplash_1", {{"backsplash", 1}}},
  };
  return rows;
}

namespace {

namespace json = boost::json;

constexpr double percent = 100;
constexpr std::uint64_t mixture_seed = 1000; // gives other events than the signal's seed

/// Removes the folder of a row's files, unless they are wanted.
class row_folder {
public:
  explicit row_folder(const std::string& wanted) : path_(wanted), stays_(!wanted.empty()) {
    if (stays_) {
      std::error_code error;
      std::filesystem::create_directory(path_, error);
      return;
    }
    path_ = new_scratch_folder("koto-l3-stress");
  }
  ~row_folder() {
    std::error_code error;
    if (!stays_) std::filesystem::remove_all(path_, error);
  }
  row_folder(const row_folder&) = delete;
  row_folder& operator=(const row_folder&) = delete;

  [[nodiscard]] std::string file(const std::string& name) const { return (path_ / name).string(); }

private:
  std::filesystem::path path_;
  bool stays_;
};

void simulate(const std::string& file, const detector& d, const simulation_settings& settings) {
  auto data = opened([&] { return std::make_unique<l2raw_writer>(file, 1U, d.crates()); });
  whole_file truth(file + ".truth.jsonl");
  simulation(d, settings).run(*data, truth, [](std::uint64_t) {});
  data->close();
  truth.finish();
}

evaluation evaluate_and_tell(const std::string& file, const selection_options& options,
                             const std::string& signal_line, interrupt& signals,
                             const std::function<void(const evaluated_event&)>& tell = {}) {
  selection_options run = options;
  run.in = file;
  file_batches in(file);
  return evaluate_file(run, file + ".truth.jsonl", signal_line, in, signals, tell).result;
}

std::string part(const proportion& p) {
  if (p.all == 0) return "none";
  return fmt::format("{:.2f} +{:.2f} -{:.2f}", percent * p.value(),
                     percent * std::max(p.upper() - p.value(), 0.0),
                     percent * std::max(p.value() - p.lower(), 0.0));
}

} // namespace

bool stress_result::holds() const {
  return signal.signal.value() >= row->least_signal &&
         mixture.kept().value() <= row->most_mixture &&
         mixture.calibration_kept().some == mixture.calibration_kept().all;
}

std::vector<const stress_row*> chosen_rows(const std::vector<std::string>& names) {
  std::vector<const stress_row*> chosen;
  std::vector<std::string_view> known;
  for (const auto& row : stress_rows()) {
    known.push_back(row.name);
    if (names.empty()) chosen.push_back(&row);
  }
  for (const auto& name : names) {
    const auto found = std::find(known.begin(), known.end(), name);
    if (found == known.end())
      throw command_error(fmt::format("--rows: there is no row {}; {}", name, suggest(name, known)),
                          exit_usage);
    chosen.push_back(&stress_rows()[static_cast<std::size_t>(found - known.begin())]);
  }
  return chosen;
}

stress_result run_stress_row(const stress_row& row, const stress_settings& settings,
                             const selection_options& run, const std::string& signal_line,
                             interrupt& signals) {
  const detector d =
      run.files.detector == built_in ? default_detector() : read_detector(run.files.detector);
  const row_folder folder(settings.out);
  simulation_settings made;
  made.threads = std::max(1U, std::thread::hardware_concurrency());
  made.seed = settings.seed;
  made.effects = row.sizes();

  stress_result result;
  result.row = &row;
  const std::string signal = folder.file(std::string(row.name) + ".l2raw");
  made.events = settings.signal_events;
  made.only = event_type::pi0nunu;
  // Effects that add hits change the offline decision, so only events that pass it are used.
  made.wanted = [&d, all = !row.same_particles()](const true_event& e) {
    const auto judged = judge_offline(e, d);
    return all ? judged.passes() : judged.photons;
  };
  simulate(signal, d, made);
  std::ofstream decisions;
  if (!settings.out.empty())
    decisions.open(folder.file(std::string(row.name) + ".decisions.jsonl"));
  result.signal =
      evaluate_and_tell(signal, run, signal_line, signals, [&](const evaluated_event& e) {
        if (!decisions.is_open()) return;
        decisions << json::serialize(
                         json::object{{"spill", e.decided.event.spill},
                                      {"event", e.decided.event.number},
                                      {"truth_passes", judge_offline(e.truth, d).passes()},
                                      {"kept", e.kept_as_signal}})
                  << '\n';
      });

  if (settings.mixture_events == 0) return result;
  const std::string mixture = folder.file(std::string(row.name) + ".mixture.l2raw");
  made.events = settings.mixture_events;
  made.only.reset();
  made.wanted = {};
  made.seed = settings.seed + mixture_seed;
  simulate(mixture, d, made);
  result.mixture = evaluate_and_tell(mixture, run, signal_line, signals);
  std::remove(mixture.c_str());
  std::remove((mixture + ".truth.jsonl").c_str());
  return result;
}

std::string stress_head() {
  return fmt::format("{:16} {:>22} {:>10} {:>22} {:>10} {:>22} {:>10}  {}\n", "row",
                     "signal kept/%", "at least", "mixture kept/%", "at most", "calibration/%",
                     "reduction", "holds");
}

std::string stress_line(const stress_result& r) {
  return fmt::format("{:16} {:>22} {:10.0f} {:>22} {:10.0f} {:>22} {:10.1f}  {}\n", r.row->name,
                     part(r.signal.signal), percent * r.row->least_signal, part(r.mixture.kept()),
                     percent * r.row->most_mixture, part(r.mixture.calibration_kept()),
                     r.mixture.reduction(), r.holds() ? "yes" : "NO");
}

json::object stress_json(const stress_row& row) {
  json::object effects;
  for (const auto& [name, size] : row.effects) effects[name] = size;
  return {{"row", row.name},
          {"effects", effects},
          {"same_particles", row.same_particles()},
          {"least_signal", row.least_signal},
          {"most_mixture", row.most_mixture}};
}

json::object stress_json(const stress_result& r) {
  json::object all = stress_json(*r.row);
  all["signal"] = to_json(r.signal.signal);
  all["mixture"] = to_json(r.mixture.kept());
  all["calibration"] = to_json(r.mixture.calibration_kept());
  all["not_judged"] = r.mixture.sum.not_judged;
  all["reduction"] = r.mixture.reduction();
  all["holds"] = r.holds();
  return all;
}

} // namespace l3
