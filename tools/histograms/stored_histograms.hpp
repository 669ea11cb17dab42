// SPDX-License-Identifier: Apache-2.0
// Adds up the histograms in a store, spill by spill.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "transport/histograms/histogram_json.hpp"
#include "transport/store/store_reader.hpp"

namespace l3 {

/// Restricts them; an empty member accepts all.
struct stored_choice {
  std::optional<std::uint32_t> run, node, spill;
};

/// Whether this is a folder, or a file that begins like one of a store.
[[nodiscard]] bool is_stored(const std::filesystem::path& name);

/// Reads a store, a spool, or one of their files. `missed` is called with the reason why some
/// histograms are, or may be, missing from the sum. Throws command_error if there are none, or if
/// they cannot be added.
[[nodiscard]] shown_histograms
read_stored_histograms(const std::filesystem::path& from, const stored_choice& choice,
                       const stop_question& stop,
                       const std::function<void(const std::string&)>& missed);

} // namespace l3
