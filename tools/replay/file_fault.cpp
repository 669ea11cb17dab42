// SPDX-License-Identifier: Apache-2.0
#include "tools/replay/file_fault.hpp"

namespace l3 {

std::string fault_of(const l2raw_reader& file) {
  const auto& damage = *file.damage();
  const auto at = std::to_string(damage.offset);
  if (damage.offset == 0) return "is not an .l2raw file"; // it has no good hello
  if (damage.reason == refused::stream_length) return "ends within a record, at offset " + at;
  return "is broken at offset " + at + ": " + std::string(name_of(damage.reason));
}

} // namespace l3
