// SPDX-License-Identifier: Apache-2.0
#include "transport/output/recent_events.hpp"

#include <algorithm>

#include "transport/accounting/crc32c.hpp"
#include "transport/format/block.hpp"
#include "transport/format/endian.hpp"
#include "transport/output/block.hpp"
#include "transport/output/store_reader.hpp"

namespace l3 {

namespace {

std::uint64_t key_of(const recent_events::identity& e) {
  return std::uint64_t{e.spill} << 32 | e.number;
}

/// Of the end of a store, at its restart.
constexpr std::uint64_t recalled_bytes = std::uint64_t{256} << 20;

void recall_block(recent_events& to, const block_header& block,
                  std::span<const std::byte> payload) {
  event_walk walk(payload);
  while (const auto event = walk.next()) {
    const auto head = event->first(std::min(event->size(), recent_events::telling_bytes));
    to.add(block.session, block.run, recent_events::identity_of(head, event->size()));
  }
}

} // namespace

recent_events::identity recent_events::identity_of(std::span<const std::byte> head,
                                                   std::size_t bytes) {
  const auto e = load<packed_event>(head.data());
  return {e.spill, e.number, static_cast<std::uint32_t>(bytes),
          crc32c(head.first(std::min(head.size(), telling_bytes)))};
}

bool recent_events::has_from_another(std::uint64_t session, std::uint32_t run,
                                     const identity& event) const {
  const auto [begin, end] = events_.equal_range(key_of(event));
  return std::any_of(begin, end, [&](const auto& entry) {
    const remembered& r = entry.second;
    return r.session != session && r.event == event && sessions_.at(r.session).run == run;
  });
}

void recent_events::add(std::uint64_t session, std::uint32_t run, const identity& event) {
  auto found = sessions_.find(session);
  if (found == sessions_.end()) {
    if (sessions_.size() == most_sessions_) forget_the_oldest_session();
    found = sessions_.try_emplace(session).first;
    found->second.run = run;
  }
  session_memory& m = found->second;
  m.used_at = ++time_;
  const std::uint64_t key = key_of(event);
  events_.insert({key, {session, event}});
  if (m.first.size() < first_) return m.first.push_back(key);
  m.last.push_back(key);
  if (m.last.size() <= last_) return;
  forget(session, m.last.front());
  m.last.pop_front();
}

void recent_events::take_back(std::uint64_t session, const identity& event) {
  const std::uint64_t key = key_of(event);
  forget(session, key);
  const auto found = sessions_.find(session);
  if (found == sessions_.end()) return;
  session_memory& m = found->second;
  if (!m.last.empty() && m.last.back() == key) {
    m.last.pop_back();
  } else if (!m.first.empty() && m.first.back() == key) {
    m.first.pop_back();
  }
}

/// The oldest of them, if the session had several events of these numbers: the map keeps equal keys
/// in no promised order, but any of them will do.
void recent_events::forget(std::uint64_t session, std::uint64_t key) {
  const auto [begin, end] = events_.equal_range(key);
  const auto found =
      std::find_if(begin, end, [&](const auto& e) { return e.second.session == session; });
  if (found != end) events_.erase(found);
}

void recent_events::forget_the_oldest_session() {
  const auto oldest =
      std::min_element(sessions_.begin(), sessions_.end(), [](const auto& a, const auto& b) {
        return a.second.used_at < b.second.used_at;
      });
  for (const auto key : oldest->second.first) forget(oldest->first, key);
  for (const auto key : oldest->second.last) forget(oldest->first, key);
  sessions_.erase(oldest);
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
      if (block->offset >= skipped && file.read_payload(*block, payload))
        recall_block(to, block->header, payload);
    }
  }
}

} // namespace l3
