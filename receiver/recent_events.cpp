// SPDX-License-Identifier: Apache-2.0
#include "receiver/recent_events.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>
#include <vector>

#include "receiver/link_peers.hpp"
#include "transport/format/block.hpp"
#include "transport/format/crc32c.hpp"
#include "transport/format/endian.hpp"
#include "transport/store/block.hpp"
#include "transport/store/store_reader.hpp"

namespace l3 {

namespace {

/// Shares are sized for at least this many sessions.
constexpr std::size_t fewest_shares = 8;
/// Bytes read from the end of a store at a restart.
constexpr std::uint64_t recalled_bytes = std::uint64_t{256} << 20;

/// A file that cannot be read costs at most an event that is stored twice.
void recall_file(recent_events& to, const held_folder& store, const block_file_name& of,
                 std::uint64_t skipped) {
  std::vector<std::byte> payload;
  try {
    store_file file(store.path(), of, store_kind::store);
    while (const auto block = file.next()) {
      if (block->offset < skipped || !file.read_payload(*block, payload)) continue;
      event_walk walk(payload, block->header);
      while (const auto event = walk.next())
        to.add(block->header.session, block->header.run, recent_events::identity_of(*event));
    }
  } catch (const std::runtime_error&) {
    return;
  }
}

} // namespace

recent_events::identity recent_events::identity_of(std::span<const std::byte> packed) {
  const auto e = load<packed_event>(packed.data());
  return {e.spill, e.number, static_cast<std::uint32_t>(packed.size()), crc32c(packed)};
}

bool recent_events::has_from_another(std::uint64_t session, std::uint32_t run,
                                     const identity& event) const {
  for (auto at = events_.lower_bound({event, run, {}});
       at != events_.end() && at->first.event == event && at->first.run == run; ++at)
    if (at->first.session != session) return true;
  return false;
}

void recent_events::add(std::uint64_t session, std::uint32_t run, const identity& event) {
  const auto found = sessions_.find(session);
  session_memory& m = found != sessions_.end() ? found->second : new_session(session, run);
  m.used_at = ++time_;
  const auto added = events_.try_emplace({event, m.run, session}, 0).first;
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

std::optional<event_key> recent_events::last_of(std::uint64_t session) const {
  const auto found = sessions_.find(session);
  if (found == sessions_.end()) return std::nullopt;
  const session_memory& of = found->second;
  std::optional<event_key> last;
  // Compares event by event, because spill numbers wrap to 0.
  for (const auto& one : of.last.empty() ? of.first : of.last) {
    const event_key name{one->first.event.spill, one->first.event.number};
    if (!last || is_before(*last, name)) last = name;
  }
  return last;
}

void recall(recent_events& to, const held_folder& store) {
  std::vector<block_file_name> newest; // the newest first
  std::uint64_t bytes = 0;
  const std::vector<block_file_name> all = block_files_in(store.path());
  for (auto file = all.rbegin(); file != all.rend() && bytes < recalled_bytes; ++file) {
    newest.push_back(*file);
    bytes += std::filesystem::file_size(store.path() / file->text());
  }
  std::uint64_t skipped = bytes > recalled_bytes ? bytes - recalled_bytes : 0;
  for (auto file = newest.rbegin(); file != newest.rend(); ++file)
    recall_file(to, store, *file, std::exchange(skipped, 0));
}

} // namespace l3
