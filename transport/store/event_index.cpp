// SPDX-License-Identifier: Apache-2.0
#include "transport/store/event_index.hpp"

#include <algorithm>
#include <utility>

#include "transport/format/crc32c.hpp"
#include "transport/store/block.hpp"

namespace l3 {

event_index::event_index(const std::filesystem::path& folder, stop_question stop) {
  store_reader reader(folder, std::move(stop));
  std::vector<std::byte> payload;
  while (const auto block = reader.next()) {
    if (reader.read_payload(*block, payload)) {
      take_block(*block, payload);
    } else {
      ++damaged_;
    }
  }
  damaged_ += reader.damaged();
  torn_ends_ = reader.torn_ends();
  // Stable: events of equal key stay in their order.
  std::ranges::stable_sort(entries_, {}, &entry::key);
}

void event_index::keep_events_of(const std::set<std::uint32_t>& runs) {
  std::erase_if(entries_, [&](const entry& e) { return !runs.contains(sessions_[e.session].run); });
}

void event_index::take_block(const stored_block& block, std::span<const std::byte> payload) {
  ++blocks_;
  const block_header& h = block.header;
  const auto [known, added] = places_.try_emplace(h.session, sessions_.size());
  if (added) sessions_.push_back({h.session, h.run, 0, 0, 0});
  session& of_session = sessions_[known->second];
  of_session.repeated += block.header.repeated;
  event_walk walk(payload, h);
  while (const auto bytes = walk.next()) {
    const auto event = packed_event_view::parse(*bytes, block.header.codec);
    if (!event) {
      ++damaged_;
      continue;
    }
    entry e;
    e.key = event->key();
    e.bytes = event->header().bytes;
    e.session = static_cast<std::uint32_t>(known->second);
    e.crc = crc32c(*bytes);
    e.file = static_cast<std::uint32_t>(block.file);
    e.offset = block.payload_offset() + static_cast<std::uint64_t>(bytes->data() - payload.data());
    entries_.push_back(e);
    ++of_session.events;
    of_session.bytes += e.bytes;
    bytes_ += e.bytes;
  }
  if (!walk.complete()) ++damaged_;
}

std::span<const event_index::entry> event_index::find(event_key key) const {
  entry wanted;
  wanted.key = key;
  const auto [first, last] =
      std::equal_range(entries_.begin(), entries_.end(), wanted,
                       [](const entry& a, const entry& b) { return a.key < b.key; });
  return {first, last};
}

/// The name at the time of listing. A file renamed since is found with it.
block_file_name event_reader::name_of(std::uint64_t file) {
  if (listed_.empty()) listed_ = block_files_in(folder_, kind_);
  const auto of = std::ranges::lower_bound(listed_, file, {}, &block_file_name::number);
  return of != listed_.end() && of->number == file ? *of : block_file_name{file, std::nullopt};
}

const store_file& event_reader::opened(std::uint64_t file) {
  if (const auto open = files_.find(file); open != files_.end()) return open->second;
  store_file now(folder_, name_of(file), kind_);
  if (files_.size() == most_files) files_.clear();
  return files_.emplace(file, std::move(now)).first->second;
}

std::optional<packed_event_view> event_reader::read(const event_index::entry& at) {
  const store_file& file = opened(at.file);
  bytes_.resize(at.bytes);
  if (!file.read(at.offset, bytes_) || crc32c(bytes_) != at.crc) return std::nullopt;
  return packed_event_view::parse(bytes_);
}

} // namespace l3
