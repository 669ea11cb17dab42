// SPDX-License-Identifier: Apache-2.0
// Everything that an engine needs to select, from its files, or from their record in the stream:
// the detector, its calibration, the settings, and the tables made from them. All mistakes are
// reported here, before an engine is created.
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
  recorded_settings recorded; ///< its texts; without software so far

  /// For make_engine; valid until this object is moved or destroyed.
  [[nodiscard]] selection_program program() const;
  /// In the order of their bits.
  [[nodiscard]] std::vector<std::string> line_names() const;
};

/// `crates`: the readout. A detector file describes its channels; the built-in detector fits only
/// KOTO's. Both throw bad_file (config/toml/complaints.hpp). If the run is not known yet, the first
/// line of each input of a calibration is used, so that mistakes are found.
[[nodiscard]] detector load_detector(const selection_files& files, const readout& crates);
/// `change`, if given, changes the settings before anything is made from them, but not the recorded
/// texts: a what-if.
[[nodiscard]] loaded_selection
load_selection(const selection_files& files, const readout& crates,
               std::optional<std::uint32_t> run,
               const std::function<void(selection_settings&)>& change = {});
/// `name` replaces the files' names in messages. Throws bad_file.
[[nodiscard]] loaded_selection load_selection(const recorded_settings& recorded,
                                              const std::string& name, std::uint32_t run);

/// Eight hexadecimal digits, the same for equal selections; used in ledgers and blocks.
[[nodiscard]] std::string hash_of_selection(const selection_files& files, const readout& crates,
                                            std::uint32_t run);

/// The files as text; empty for a built-in, unset or unreadable file.
struct selection_texts {
  std::string lines, detector, calibration;
};
[[nodiscard]] selection_texts texts_of(const selection_files& files);

/// The name of a reason why a line does not keep an event: "trigger", "veto", "photons" …
[[nodiscard]] std::string name_of_reason(std::uint8_t reason);

} // namespace l3
