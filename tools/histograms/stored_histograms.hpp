// SPDX-License-Identifier: Apache-2.0
// The histograms that lie in a store beside its events, spill by spill, added up.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "transport/histograms/histogram_json.hpp"
#include "transport/store/store_reader.hpp"

namespace l3 {

/// Which of them; nothing: all.
struct stored_choice {
  std::optional<std::uint32_t> run, node, spill;
};

/// Whether this is a folder, or begins like a file of a store.
[[nodiscard]] bool is_stored(const std::filesystem::path& name);

/// Of a store or a spool, or of one file of one; `missed` is told why some of them are not in the
/// sum, or may not be. Throws command_error if none are there, or if what is there cannot be added
/// up.
[[nodiscard]] shown_histograms
read_stored_histograms(const std::filesystem::path& from, const stored_choice& choice,
                       const stop_question& stop,
                       const std::function<void(const std::string&)>& missed);

} // namespace l3
