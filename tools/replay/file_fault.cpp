// SPDX-License-Identifier: Apache-2.0
#include "tools/replay/file_fault.hpp"

#include <fmt/format.h>

namespace l3 {

std::string fault_of(const l2raw_reader& file) {
  const auto& damage = *file.damage();
  if (damage.reason == refused::stream_version)
    return fmt::format("has version {} of .l2raw files at offset {}, but this program reads "
                       "version {}: use the koto-l3 that wrote it",
                       damage.version, damage.offset, record_version);
  if (damage.offset == 0) return "is not an .l2raw file"; // it has no valid hello
  if (damage.reason == refused::stream_length)
    return fmt::format("ends within a record, at offset {}", damage.offset);
  return fmt::format("is damaged at offset {}: {}", damage.offset, name_of(damage.reason));
}

bool step_over(l2raw_reader& file, left_out& out) {
  ++out.places;
  const std::uint64_t from = file.damage()->offset;
  const auto bytes = file.step_over_damage();
  out.bytes += bytes ? *bytes : file.size() - from;
  out.to_the_end = out.to_the_end || !bytes;
  return bytes.has_value();
}

std::string text_of(const std::string& file, const left_out& out) {
  return fmt::format("{} is damaged at {} place{}, {} bytes, {} record{}{}, which are left out",
                     file, out.places, out.places == 1 ? "" : "s", out.bytes, out.records,
                     out.records == 1 ? "" : "s", out.to_the_end ? " and everything after it" : "");
}

std::string offer(at_damage what, const l2raw_reader& file) {
  const auto& damage = file.damage();
  const bool is_readable =
      !damage || (damage->offset != 0 && damage->reason != refused::stream_version);
  return what == at_damage::end_and_offer && is_readable ? " (--skip-damaged accepts that)" : "";
}

} // namespace l3
