// SPDX-License-Identifier: Apache-2.0
// The fault of an .l2raw file, in words for its user, and what is left out where it is stepped
// over.
#pragma once

#include <cstdint>
#include <string>

#include "transport/file/l2raw.hpp"

namespace l3 {

/// For a reader with damage(): "is not an .l2raw file", "ends within a record, at offset 4096", "is
/// broken at offset 4096: stream_checksum".
[[nodiscard]] std::string fault_of(const l2raw_reader& file);

/// What a reader does at damage.
enum class at_damage : std::uint8_t {
  end,           ///< throws
  end_and_offer, ///< throws, and names --skip-damaged
  go_on,         ///< leaves out what is damaged, and counts it
};

/// Damage that was stepped over, told and no fault.
struct left_out {
  std::uint64_t places = 0;  ///< of the .l2raw file
  std::uint64_t bytes = 0;   ///< in these
  std::uint64_t records = 0; ///< that the numbers of the others show to be missing
  bool to_the_end = false;   ///< nothing whole lies behind the last place: it may be any number
};

/// Goes on behind the damage, and counts what lies between; false: nothing whole follows. Records
/// that the numbers of the others show are the reader's to count.
[[nodiscard]] bool step_over(l2raw_reader& file, left_out& out);

/// "sent.l2raw is damaged at 1 place, 4096 bytes, 2 records, which are left out"
[[nodiscard]] std::string text_of(const std::string& file, const left_out& out);

/// For damage that ends a reading: " (--skip-damaged accepts that)" where that is offered, and
/// where there is something to read.
[[nodiscard]] std::string offer(at_damage what, const l2raw_reader& file);

} // namespace l3
