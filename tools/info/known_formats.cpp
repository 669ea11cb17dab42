// SPDX-License-Identifier: Apache-2.0
#include "tools/info/known_formats.hpp"

#include <algorithm>
#include <array>

#include "transport/format/spool.hpp"
#include "transport/store/block_file.hpp"

namespace l3 {
namespace {

constexpr auto formats = std::to_array<known_format>({
    {stored_format::level2, "level2", "a file of level-2 data (.l2raw)", "KL3R", 4},
    {stored_format::store_file, "store_file", "a file of a store or a spool", "KL3S", 4, 2},
    {stored_format::block, "block", "bare output blocks, as they are set aside", "KL3B", 4, 2},
    {stored_format::strong_waveforms, "strong_waveforms", "waveforms of the strong codec (`pack`)",
     "KL3W", 4},
    {stored_format::releases, "releases", "what a spool has noted of its lanes", "KL3R", 4},
    {stored_format::kept_batch, "kept_batch", "a kept batch (.l3batch)", "KL3D", 4},
    {stored_format::run_record, "run_record", "the record of a run (LEDGER.live)", "KL3L", 6},
    {stored_format::ledger, "ledger", "a ledger", "{", 0},
});

const known_format* of(stored_format f) {
  return &*std::ranges::find(formats, f, &known_format::format);
}

} // namespace

std::optional<recognised> recognise(std::string_view first_bytes, std::string_view name) {
  constexpr std::size_t type_at = 5; // of a record; reserved in a release entry
  const auto found = std::ranges::find_if(
      formats, [&](const known_format& f) { return first_bytes.starts_with(f.magic); });
  if (found == formats.end()) {
    if (is_sidecar_name(std::string(name)) && !first_bytes.empty())
      return recognised{of(stored_format::ledger), 1}; // damaged
    // A spool's release file may have only free entries.
    if (name != spool_releases_name || first_bytes.find_first_not_of('\0') != first_bytes.npos)
      return std::nullopt;
    return recognised{of(stored_format::releases), 1};
  }
  const known_format* format = &*found;
  if (format->format == stored_format::level2 && first_bytes.size() > type_at &&
      first_bytes[type_at] == 0)
    format = of(stored_format::releases);
  const auto version = first_bytes.size() > format->version_at && format->version_at > 0
                           ? static_cast<unsigned char>(first_bytes[format->version_at])
                           : 1U;
  return recognised{format, version};
}

} // namespace l3
