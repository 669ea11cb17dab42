// SPDX-License-Identifier: Apache-2.0
// What the sidecar of a complete file of a store says (docs/formats.md, section 9), held against
// the file. Nothing is added to a complete file any more, so one that is shorter was cut: its end
// is no torn end of a file that is being written.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include <boost/json/object.hpp>

namespace l3 {

struct sidecar {
  std::uint64_t bytes = 0; ///< of the file
  std::uint64_t blocks = 0;
  std::uint64_t events = 0;
  std::optional<std::uint32_t> crc; ///< CRC-32C of all bytes; nothing: it says none
};
/// What is not there, or no number, is 0.
[[nodiscard]] sidecar sidecar_of(const boost::json::object& from);
/// Follows its name: "says nothing of …"; empty: it can be held against its file.
[[nodiscard]] std::string fault_of_sidecar(const boost::json::object& from);

struct sidecar_look {
  std::optional<sidecar> said; ///< nothing: there is none, or it cannot be read
  std::string fault;           ///< a sentence on a sidecar that is there and says nothing
};
/// Of a complete file of a store.
[[nodiscard]] sidecar_look read_sidecar(const std::filesystem::path& file);

/// A sentence on a file that is not there, or not as long as its sidecar says; else empty.
[[nodiscard]] std::string length_fault(const std::filesystem::path& file, const sidecar& said);
/// A sentence on a file that is complete by its name, and has no sidecar although it is not marked
/// as one that is taken away on purpose; else empty. A receiver gives no file that name before its
/// sidecar is there, so a hand has removed it.
[[nodiscard]] std::string missing_sidecar(const std::filesystem::path& file);
/// A sentence on a file that is complete by its name, and whose sidecar is not there, is none or
/// says another length; else empty. Reads the sidecar only.
[[nodiscard]] std::string sidecar_fault(const std::filesystem::path& file);

} // namespace l3
