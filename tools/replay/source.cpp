// SPDX-License-Identifier: Apache-2.0
#include "tools/replay/source.hpp"

#include <stdexcept>

#include <fmt/format.h>

#include "tools/replay/file_fault.hpp"
#include "tools/replay/loop.hpp"
#include "transport/format/endian.hpp"

namespace l3 {

replay_source::replay_source(const std::filesystem::path& file,
                             const std::function<void(std::uint64_t)>& tell)
    : reader_(file, l2raw_keep::all) {
  const auto refuse = [&](std::uint64_t offset, const std::string& what) {
    throw std::runtime_error(
        fmt::format("{} is broken at offset {}: {}", file.string(), offset, what));
  };
  event_view view;
  bool in_spill = false;
  std::uint64_t at = reader_.position();
  for (auto record = reader_.next(); record; record = reader_.next()) {
    const auto& h = record->header;
    switch (h.type) {
    case record_type::begin_of_spill: {
      if (in_spill) refuse(at, "a spill begins before the last one ended");
      in_spill = true;
      const auto body = load<begin_of_spill_body>(record->body.data());
      spills_.push_back({h.spill, std::chrono::nanoseconds(body.beam_on), {}, {}});
      break;
    }
    case record_type::event: {
      if (!in_spill || h.spill != spills_.back().number) refuse(at, "an event outside its spill");
      if (const auto reason = parse_event(record->body, crates(), view))
        refuse(at, std::string(name_of(*reason)));
      spills_.back().events.push_back({record->body, h.body_crc, view.number, view.since_spill});
      ++events_;
      break;
    }
    case record_type::end_of_spill:
      if (!in_spill || h.spill != spills_.back().number)
        refuse(at, "a spill ends that did not begin");
      in_spill = false;
      spills_.back().cycle =
          std::chrono::nanoseconds(load<end_of_spill_body>(record->body.data()).cycle);
      break;
    default: refuse(at, "a record that files do not have");
    }
    at = reader_.position();
    if (tell) tell(at);
  }
  if (reader_.damage()) throw std::runtime_error(file.string() + " " + fault_of(reader_));
  if (in_spill) refuse(at, "the end of the last spill is missing");
  if (events_ == 0) throw std::runtime_error(file.string() + " holds no events");
}

std::uint32_t replay_source::spill_number(const replay_spill& spill, std::uint32_t loop) const {
  return spill_in_loop(spill.number, static_cast<std::uint32_t>(spills_.size()), loop);
}

} // namespace l3
