// SPDX-License-Identifier: Apache-2.0
#include "daemon/reload.hpp"

#include <algorithm>
#include <exception>
#include <fstream>
#include <span>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <utility>

#include <spdlog/spdlog.h>

#include "config/key.hpp"
#include "selection/trigger/load_selection.hpp"
#include "transport/output/link_security.hpp"

namespace l3 {
namespace {

constexpr std::size_t most_lines = 10;        // of one file's mistakes, in the log
constexpr std::size_t longest_mistake = 1000; // bytes: one may quote a value of any length

std::string content_of(const std::string& file) {
  if (file.empty() || file == built_in) return {};
  std::ostringstream text;
  text << std::ifstream(file, std::ios::binary).rdbuf();
  return text.str();
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text.append(text.empty() ? "" : ", ").append(word);
  return text;
}

/// A line for each mistake in the selection's files.
std::vector<std::string> wrong_with_selection(const daemon_settings& settings) {
  std::vector<std::string> lines;
  if (settings.selection.lines.empty()) return lines;
  try {
    static_cast<void>(
        load_selection(settings.selection, settings.building.crates, settings.run.number));
  } catch (const std::runtime_error& e) {
    std::istringstream text(e.what());
    for (std::string line; std::getline(text, line);) lines.push_back(line);
  }
  return lines;
}

} // namespace

std::vector<std::string> mistakes_in(const loaded_config& config) {
  std::vector<std::string> mistakes;
  for (const config_error& e : config.errors) mistakes.push_back(to_string(e));
  if (!mistakes.empty()) return mistakes;
  mistakes = wrong_with_selection(config.settings);
  if (std::string wrong = wrong_with_keys(config.settings.forward); !wrong.empty())
    mistakes.push_back(std::move(wrong));
  return mistakes;
}

configuration_change difference(const daemon_settings& running, const daemon_settings& wanted) {
  configuration_change change;
  for (const key& k : keys()) {
    const std::string value = k.show(wanted);
    if (value == k.show(running)) continue;
    if (k.live) {
      change.live.push_back(std::string(k.path) + " = " + value);
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

reloader::selection_texts reloader::texts_of(const selection_files& files) {
  if (files.lines.empty()) return {};
  return {content_of(files.lines), content_of(files.detector), content_of(files.calibration)};
}

void reloader::reload() {
  if (file_.empty()) {
    spdlog::warn("reload: there is no configuration file to read again (--config)");
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
    spdlog::info("reload: {}", change.live.empty() ? "nothing changes in the running daemon"
                                                   : "now " + joined(change.live));
    if (!change.at_restart.empty())
      spdlog::warn("reload: needs a restart: {}", joined(change.at_restart));
  } catch (const std::exception& e) {
    refuse({e.what()});
  }
}

void reloader::refuse(const std::vector<std::string>& mistakes) {
  ++refused_;
  for (const std::string& mistake :
       std::span(mistakes).first(std::min(mistakes.size(), most_lines)))
    spdlog::error("reload: {}", std::string_view(mistake).substr(0, longest_mistake));
  if (mistakes.size() > most_lines)
    spdlog::error("reload: and {} more mistakes", mistakes.size() - most_lines);
  spdlog::error("reload: {} is not taken, the settings stay as they are", file_);
}

void reloader::note_changed_files(std::vector<std::string>& at_restart) const {
  const selection_texts now = texts_of(running_.selection);
  const auto note = [&](const char* path, const std::string& was, const std::string& is) {
    if (was != is) at_restart.push_back(std::string(path) + " (the file has changed)");
  };
  note("selection.lines", selection_.lines, now.lines);
  note("selection.detector", selection_.detector, now.detector);
  note("selection.calibration", selection_.calibration, now.calibration);
}

} // namespace l3
