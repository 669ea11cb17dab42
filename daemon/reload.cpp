// SPDX-License-Identifier: Apache-2.0
#include "daemon/reload.hpp"

#include <algorithm>
#include <exception>
#include <span>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "config/key.hpp"
#include "config/toml/value.hpp"
#include "monitor/log.hpp"
#include "transport/histograms/histogram_json.hpp"
#include "transport/link/link_keys.hpp"
#include "transport/outbox/forwarder.hpp"
#include "transport/system/reason_of.hpp"

namespace l3 {
namespace {

constexpr std::size_t most_lines = 10;        // mistakes of one file in the log
constexpr std::size_t longest_mistake = 1000; // bytes; a mistake may quote a value of any length

/// Describes the mistake in the value of a key, and where the key was set.
std::string mistake_at(const loaded_config& config, std::string_view path, std::string text) {
  const auto origin = config.origins.find(path);
  return to_string(
      complaint{origin == config.origins.end() ? source_place{std::string(path)} : origin->second,
                std::move(text)});
}

/// Reports a file of the selection that cannot be read with the key that names it.
void look_at_selection_files(const loaded_config& config, std::vector<std::string>& mistakes) {
  const selection_files& files = config.settings.selection;
  if (files.lines.empty()) return;
  for (const auto& [path, file] :
       {std::pair{"selection.lines", files.lines}, std::pair{"selection.detector", files.detector},
        std::pair{"selection.calibration", files.calibration},
        std::pair{"selection.shadow", files.shadow}}) {
    if (file.empty() || file == built_in) continue;
    try {
      static_cast<void>(read_text(file));
    } catch (const bad_file& e) {
      mistakes.push_back(mistake_at(config, path,
                                    fmt::format("{} = {}: the file {}{}", path, quote(file),
                                                e.all().front().text, built_in_hint(file))));
    }
  }
}

/// A daemon starts without the reference, so this only warns.
void look_at_reference(const std::string& file) {
  const std::string wrong = file.empty() ? "" : wrong_with_histogram_file(file);
  if (!wrong.empty())
    log_warning(
        "reload: histograms.reference: {}; the next run would not be compared with a reference",
        wrong);
}

} // namespace

std::vector<std::string> mistakes_in(const loaded_config& config) {
  std::vector<std::string> mistakes;
  const auto tell = [&](const std::vector<complaint>& all) {
    for (const complaint& c : all) mistakes.push_back(to_string(c));
  };
  tell(config.errors);
  if (!mistakes.empty()) return mistakes;
  const daemon_settings& s = config.settings;
  look_at_selection_files(config, mistakes);
  const bool readable = mistakes.empty();
  try {
    // With run control the next run's number is not known yet.
    const auto run = s.run.control.empty() ? std::optional(s.run.number) : std::nullopt;
    if (readable && !s.selection.lines.empty())
      static_cast<void>(load_selection(s.selection, s.building.crates, run));
    if (readable && !s.selection.shadow.empty() && !s.selection.lines.empty())
      static_cast<void>(load_selection(shadow_of(s.selection), s.building.crates, run));
  } catch (const bad_file& e) {
    tell(e.all());
  }
  if (!s.run.control.empty() && !s.run.ledger.ends_with('/'))
    mistakes.push_back(fmt::format(
        "run.ledger = \"{}\" is not a folder: with run.control it must be one, with \"/\" at its "
        "end; each run has its ledger there, and the daemon finds the used run numbers there",
        s.run.ledger));
  try {
    if (!s.farm.password.empty()) static_cast<void>(read_secret_line(s.farm.password));
  } catch (const std::runtime_error& e) {
    mistakes.push_back(
        mistake_at(config, "farm.password", fmt::format("farm.password: {}", reason_of(e))));
  }
  if (const std::string wrong = wrong_with_keys(s.forward); !wrong.empty())
    mistakes.push_back(mistake_at(config, wrong.substr(0, wrong.find(':')), wrong));
  return mistakes;
}

configuration_change difference(const daemon_settings& running, const daemon_settings& wanted) {
  configuration_change change;
  for (const key& k : keys()) {
    const std::string value = k.show(wanted);
    if (value == k.show(running)) continue;
    if (k.live) {
      change.live.push_back(fmt::format("{} = {}", k.path, value));
    } else {
      change.at_restart.emplace_back(k.path);
    }
  }
  return change;
}

void adopt_live(const daemon_settings& wanted, daemon_settings& running) {
  running.forward.rate = wanted.forward.rate;
  running.log.level = wanted.log.level;
}

reloader::reloader(std::string file, daemon_settings running,
                   std::function<void(const daemon_settings&)> apply)
    : file_(std::move(file)), running_(std::move(running)),
      selection_(texts_of(running_.selection)), apply_(std::move(apply)) {}

void reloader::reload() {
  if (file_.empty()) {
    log_warning("reload: there is no configuration file to read again (--config)");
    return;
  }
  try {
    const loaded_config read = load_config(file_);
    if (const auto mistakes = mistakes_in(read); !mistakes.empty()) {
      refuse(mistakes);
      return;
    }
    configuration_change change = difference(running_, read.settings);
    note_changed_files(change.at_restart);
    adopt_live(read.settings, running_);
    apply_(running_);
    ++applied_;
    last_refused_ = false;
    log_info("reload: {}", change.live.empty()
                               ? "nothing changes in the running daemon"
                               : fmt::format("now {}", fmt::join(change.live, ", ")));
    if (!change.at_restart.empty())
      log_warning("reload: needs a restart: {}", fmt::join(change.at_restart, ", "));
    look_at_reference(read.settings.histograms.reference);
  } catch (const std::exception& e) {
    refuse({reason_of(e)});
  }
}

void reloader::refuse(const std::vector<std::string>& mistakes) {
  ++refused_;
  last_refused_ = true;
  for (const std::string& mistake :
       std::span(mistakes).first(std::min(mistakes.size(), most_lines)))
    log_error("reload: {}", std::string_view(mistake).substr(0, longest_mistake));
  if (mistakes.size() > most_lines)
    log_error("reload: and {} more mistakes", mistakes.size() - most_lines);
  log_error("reload: {} is refused; the settings stay as they are", file_);
}

void reloader::note_changed_files(std::vector<std::string>& at_restart) const {
  const selection_texts now = texts_of(running_.selection);
  const auto note = [&](std::string_view path, std::string_view was, std::string_view is) {
    if (was != is) at_restart.push_back(fmt::format("{} (the file has changed)", path));
  };
  note("selection.lines", selection_.lines, now.lines);
  note("selection.detector", selection_.detector, now.detector);
  note("selection.calibration", selection_.calibration, now.calibration);
}

} // namespace l3
