// SPDX-License-Identifier: Apache-2.0
#include "transport/store/recent_events.hpp"

#include <algorithm>

#include "transport/format/block.hpp"
#include "transport/format/crc32c.hpp"
#include "transport/format/endian.hpp"
#include "transport/store/block.hpp"
#include "transport/store/store_reader.hpp"

namespace l3 {

namespace {

/// Fewer sessions leave room for more.
constexpr std::size_t fewest_shares = 8;

/// Of the end of a store, at its restart.
constexpr std::uint64_t recalled_bytes = std::uint64_t{256} << 20;

} // namespace

recent_events::identity recent_events::identity_of(std::span<const std::byte> packed) {
  const auto e = load<packed_event>(packed.data());
  return {e.spill, e.number, static_cast<std::uint32_t>(packed.size()), crc32c(packed)};
}

bool recent_events::has_from_another(std::uint64_t session, std::uint32_t run,
                                     const identity& event) const {
  for (auto at = events_.lower_bound({event, run, 0});
       at != events_.end() && at->first.event == event && at->first.run == run; ++at)
    if (at->first.session != session) return true; // the first or the second
  return false;
}

void recent_events::add(std::uint64_t session, std::uint32_t run, const identity& event) {
  const auto found = sessions_.find(session);
  session_memory& m = found != sessions_.end() ? found->second : new_session(session, run);
  m.used_at = ++time_;
  const auto added = events_.try_emplace({event, m.run, session}).first;
  ++added->second;
  if (m.last.empty() && m.first.size() < share_) return m.first.push_back(added);
  m.last.push_back(added);
  shorten(m, share_);
}

recent_events::session_memory& recent_events::new_session(std::uint64_t session,
                                                          std::uint32_t run) {
  if (sessions_.size() == most_sessions_) {
    const auto used_at = [](const auto& s) { return s.second.used_at; };
    const auto oldest = std::ranges::min_element(sessions_, {}, used_at);
    shorten(oldest->second, 0);
    sessions_.erase(oldest);
  }
  session_memory& made = sessions_[session];
  made.run = run;
  share_ = most_events_ / std::max(sessions_.size(), fewest_shares) / 2;
  for (auto& [other, m] : sessions_) shorten(m, share_);
  return made;
}

void recent_events::shorten(session_memory& of, std::size_t share) {
  for (; of.first.size() > share; of.first.pop_back()) forget(of.first.back());
  for (; of.last.size() > share; of.last.pop_front()) forget(of.last.front());
}

void recent_events::forget(memory::iterator event) {
  if (--event->second == 0) events_.erase(event);
}

void recent_events::take_back(std::uint64_t session, const identity& event) {
  const auto found = sessions_.find(session);
  if (found == sessions_.end()) return;
  auto& of = found->second.last.empty() ? found->second.first : found->second.last;
  if (of.empty() || of.back()->first.event != event) return;
  forget(of.back());
  of.pop_back();
}

void recall(recent_events& to, const std::filesystem::path& store) {
  const auto numbers = store_file_numbers(store);
  std::uint64_t bytes = 0;
  auto from = numbers.end();
  while (from != numbers.begin() && bytes < recalled_bytes)
    bytes += store_file(store, *--from).size();
  std::uint64_t skipped = bytes > recalled_bytes ? bytes - recalled_bytes : 0;
  std::vector<std::byte> payload;
  for (; from != numbers.end(); ++from, skipped = 0) {
    store_file file(store, *from);
    while (const auto block = file.next()) {
      if (block->offset < skipped || !file.read_payload(*block, payload)) continue;
      event_walk walk(payload);
      while (const auto event = walk.next())
        to.add(block->header.session, block->header.run, recent_events::identity_of(*event));
    }
  }
}

} // namespace l3
