// SPDX-License-Identifier: Apache-2.0
#include "transport/store/file_contents.hpp"

#include <algorithm>
#include <ctime>
#include <stdexcept>
#include <vector>

#include <fmt/chrono.h>

#include "transport/accounting/ledger.hpp"
#include "transport/format/crc32c.hpp"
#include "transport/format/endian.hpp"
#include "transport/store/block.hpp"
#include "transport/store/event_view.hpp"

namespace l3 {
namespace {

/// Text of a time in ns since 1970, for programs.
std::string time_text(std::uint64_t time) {
  return fmt::format("{:%FT%TZ}", fmt::gmtime(static_cast<std::time_t>(time / 1'000'000'000)));
}

} // namespace

file_contents::file_contents(std::span<const std::byte> head)
    : bytes_(head.size()), crc_(crc32c(head)) {}

void file_contents::block_tally::add(const block_header& block) {
  first = blocks == 0 ? block.sequence : std::min(first, block.sequence);
  last = std::max(last, block.sequence);
  ++blocks;
  events += block.events;
  bytes += events_bytes(block);
  repeated += block.repeated;
}

void file_contents::add(std::span<const std::byte> block, const block_header& header) {
  if (is_empty()) sealed_first_ = header.sealed_at;
  owner_ = {header.run, header.node};
  bytes_ += block.size();
  crc_ = crc32c(block, crc_);
  blocks_.add(header);
  sessions_[header.session].add(header);
  sealed_first_ = std::min(sealed_first_, header.sealed_at);
  sealed_last_ = std::max(sealed_last_, header.sealed_at);
  event_walk walk(block.subspan(sizeof header, events_bytes(header)), header);
  while (const auto event = walk.next()) {
    ++spills_[load<packed_event>(event->data()).spill];
    if (const auto summary = summary_head(*event)) settings_.insert(summary->settings);
  }
}

std::string file_contents::sidecar(std::uint64_t number, const std::string& software) const {
  std::string sessions;
  for (const auto& [session, s] : sessions_)
    sessions += fmt::format(R"({}
    {{"session": "{}", "first": {}, "last": {}, "blocks": {}, "events": {}}})",
                            sessions.empty() ? "" : ",", session_text(session), s.first, s.last,
                            s.blocks, s.events);
  std::string spills;
  for (const auto& [spill, events] : spills_)
    spills += fmt::format(R"({}{{"spill": {}, "events": {}}})", spills.empty() ? "" : ", ", spill,
                          events);
  std::string settings;
  for (const std::uint32_t hash : settings_)
    settings += fmt::format(R"({}"{:08x}")", settings.empty() ? "" : ", ", hash);
  return fmt::format(R"({{
  "sidecar": 1,
  "file": "{}",
  "number": {},
  "run": {},
  "node": {},
  "bytes": {},
  "crc32c": "{:08x}",
  "blocks": {},
  "events": {},
  "events_left_out": {},
  "packed_bytes": {},
  "spills": [{}],
  "settings": [{}],
  "sealed_first": "{}",
  "sealed_last": "{}",
  "sessions": [{}],
  "software": "{}"
}}
)",
                     complete_file_name(number, owner_), number, owner_.run, owner_.node, bytes_,
                     crc_, blocks_.blocks, blocks_.events, blocks_.repeated, blocks_.bytes, spills,
                     settings, time_text(sealed_first_), time_text(sealed_last_), sessions,
                     software);
}

std::optional<file_contents> read_contents(const held_folder& folder, const block_file_name& name,
                                           const stop_question& stop) {
  try {
    store_file file(folder.path(), name, store_kind::store, stop);
    std::vector<std::byte> bytes(sizeof(store_file_header));
    if (!file.read(0, bytes)) return std::nullopt;
    file_contents found(bytes);
    while (const auto block = file.next()) {
      block_header header;
      bytes.resize(block->end() - block->offset);
      if (block->offset != found.bytes() || !file.read(block->offset, bytes) ||
          check_block(bytes, header) != block_fault::none)
        return std::nullopt;
      found.add(bytes, header);
    }
    return found.bytes() == file.size() ? std::optional(std::move(found)) : std::nullopt;
  } catch (const std::runtime_error&) { // it cannot be read
    return std::nullopt;
  }
}

} // namespace l3
