// SPDX-License-Identifier: Apache-2.0
// Texts about the damage of an .l2raw file, and about skipped parts.
#pragma once

#include <cstdint>
#include <string>

#include "tools/command_error.hpp"
#include "tools/command_line.hpp"
#include "tools/print.hpp"
#include "transport/file/l2raw.hpp"

namespace l3 {

/// For a reader with damage(): "is not an .l2raw file", "ends within a record, at offset 4096", "is
/// damaged at offset 4096: stream_checksum".
[[nodiscard]] std::string fault_of(const l2raw_reader& file);

/// A reader's behaviour at damage.
enum class at_damage : std::uint8_t {
  end,           ///< throws
  end_and_offer, ///< throws, and names --skip-damaged
  go_on,         ///< skips damage and counts it
};

/// Damage that was skipped and reported, and is no error.
struct left_out {
  std::uint64_t places = 0;  ///< of the .l2raw file
  std::uint64_t bytes = 0;   ///< in these
  std::uint64_t records = 0; ///< missing according to the other records' numbers
  bool to_the_end = false;   ///< nothing valid follows the last place, so any number may be missing
};

/// Skips the damage and counts its bytes; returns false if nothing valid follows. The reader counts
/// missing records.
[[nodiscard]] bool step_over(l2raw_reader& file, left_out& out);

/// "sent.l2raw is damaged at 1 place, 4096 bytes, 2 records, which are left out"
[[nodiscard]] std::string text_of(const std::string& file, const left_out& out);

/// For damage that ends the reading: " (--skip-damaged accepts that)" where the option exists and
/// would help.
[[nodiscard]] std::string offer(at_damage what, const l2raw_reader& file);

// --skip-damaged: damaged data are skipped and reported without an error.

inline option add_skip_damaged_flag(command_line command, bool& skips) {
  return command.add_flag("--skip-damaged", skips,
                          "exit with 0 even if damaged data were skipped, and report how much");
}

[[nodiscard]] constexpr at_damage with_flag(bool skips) {
  return skips ? at_damage::go_on : at_damage::end_and_offer;
}

/// Reports skipped parts on standard error, if there are any.
inline void tell(const std::string& file, const left_out& out) {
  if (out.places > 0) print_error("{}\n", text_of(file, out));
}

} // namespace l3
