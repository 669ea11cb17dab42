// SPDX-License-Identifier: Apache-2.0
#include "tools/replay/file_fault.hpp"

#include <fmt/format.h>

namespace l3 {

std::string fault_of(const l2raw_reader& file) {
  const auto& damage = *file.damage();
  if (damage.reason == refused::stream_version)
    return fmt::format("is of version {} of .l2raw files at offset {}, and this program reads "
                       "version {}: use the koto-l3 that wrote it",
                       damage.version, damage.offset, record_version);
  if (damage.offset == 0) return "is not an .l2raw file"; // it has no good hello
  if (damage.reason == refused::stream_length)
    return fmt::format("ends within a record, at offset {}", damage.offset);
  return fmt::format("is broken at offset {}: {}", damage.offset, name_of(damage.reason));
}

} // namespace l3
