// SPDX-License-Identifier: Apache-2.0
// Everything that an engine needs to select, from its files, or from what the stream has recorded
// of them: the detector, its calibration, the settings, and the tables made of them. What is wrong
// with any of them is said here, before an engine is made.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "selection/sequence/program.hpp"
#include "selection/trigger/make_tables.hpp"
#include "selection/trigger/recorded_settings.hpp"
#include "selection/trigger/selection_files.hpp"
#include "transport/format/batch_capacity.hpp"

namespace l3 {

struct loaded_selection {
  detector what;
  selection_settings settings;
  host_tables tables;
  recorded_settings recorded; ///< the texts that it was made of; of no software yet

  /// For make_engine; valid as long as this object is neither moved nor destroyed.
  [[nodiscard]] selection_program program() const;
  /// In the order of their bits.
  [[nodiscard]] std::vector<std::string> line_names() const;
};

/// `crates` is what is read out: a detector file describes what hangs on it, the built-in detector
/// only fits KOTO's. Both throw bad_file (config/toml/complaints.hpp). Without a run, to find
/// mistakes where it is not known yet, the first line of each input of a calibration holds.
[[nodiscard]] detector load_detector(const selection_files& files, const readout& crates);
/// `change`, if given, changes the settings before anything is made of them, and not the recorded
/// texts: a what-if.
[[nodiscard]] loaded_selection
load_selection(const selection_files& files, const readout& crates,
               std::optional<std::uint32_t> run,
               const std::function<void(selection_settings&)>& change = {});
/// `name` stands in messages in the place of the files' names. Throws bad_file.
[[nodiscard]] loaded_selection load_selection(const recorded_settings& recorded,
                                              const std::string& name, std::uint32_t run);

/// Eight hexadecimal digits, the same where the same is selected: ledgers and blocks name it.
[[nodiscard]] std::string hash_of_selection(const selection_files& files, const readout& crates,
                                            std::uint32_t run);

/// The files as text; empty for one that is built in, left out or unreadable.
struct selection_texts {
  std::string lines, detector, calibration;
};
[[nodiscard]] selection_texts texts_of(const selection_files& files);

/// The sequence's steps and its arena, for people; with the steps that make histograms, if any do.
[[nodiscard]] std::string describe_sequence(const selection_settings& settings,
                                            const batch_capacity& capacity, bool histograms);

/// Why a line does not keep an event, for people and metrics: "trigger", "veto", "photons" …
[[nodiscard]] std::string name_of_reason(std::uint8_t reason);

} // namespace l3
