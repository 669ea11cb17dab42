// SPDX-License-Identifier: Apache-2.0
#include "transport/store/stored_sessions.hpp"

#include <algorithm>

#include "transport/store/block.hpp"

namespace l3 {
namespace {

void become_proven(stored_session& s) {
  s.proven = true;
  s.numbers = {};
  s.settings_file = 0;
}

} // namespace

const stored_session* stored_sessions::find(std::uint64_t session) const {
  const auto found = sessions_.find(session);
  return found == sessions_.end() ? nullptr : &found->second;
}

void stored_sessions::add_number(const block_header& block, bool behind_damage) {
  auto& s = sessions_[block.session];
  const bool proven = (block.flags & block_proven) != 0;
  if (proven && !s.proven) become_proven(s);
  if (proven == s.proven) {
    if (behind_damage) {
      s.numbers.add_behind_damage(block.sequence);
    } else {
      s.numbers.add(block.sequence);
    }
  }
}

void stored_sessions::add_events(const block_header& block) {
  auto& s = sessions_[block.session];
  s.run = block.run;
  s.node = block.node;
  s.events += block.events;
  s.bytes += events_bytes(block);
  s.repeated += block.repeated;
}

stored_session& stored_sessions::add(const block_header& block) {
  stored_session& s = sessions_[block.session];
  uncommitted_.try_emplace(block.session, s);
  add_number(block, false);
  ++s.blocks;
  add_events(block);
  return s;
}

void stored_sessions::take_back() {
  for (const auto& [session, before] : uncommitted_) {
    sessions_[session] = before;
    if (before.blocks == 0 && before.numbers.last() == 0) sessions_.erase(session);
  }
  uncommitted_.clear();
}

bool stored_sessions::claim(std::uint64_t session) {
  const auto found = sessions_.find(session);
  if (found == sessions_.end() || found->second.proven) return false;
  become_proven(found->second);
  // A commit that fails brings back the session as it was before its new blocks.
  if (const auto before = uncommitted_.find(session); before != uncommitted_.end())
    become_proven(before->second);
  return true;
}

void stored_sessions::leave_out(const session_tallies& gone) {
  for (const auto& [session, blocks] : gone) {
    stored_session& s = sessions_[session];
    s.blocks -= blocks.blocks;
    s.events -= blocks.events;
    s.bytes -= blocks.bytes;
    s.repeated -= blocks.repeated;
    s.gone.blocks += blocks.blocks;
    s.gone.events += blocks.events;
    s.gone.bytes += blocks.bytes;
  }
}

void stored_sessions::take_up(const listed_blocks& back) {
  stored_session& s = sessions_[back.session];
  s.blocks += back.blocks.blocks;
  s.events += back.blocks.events;
  s.bytes += back.blocks.bytes;
  s.repeated += back.blocks.repeated;
  const auto settle = [](std::uint64_t& gone, std::uint64_t& found, std::uint64_t is_back) {
    const std::uint64_t lately = std::min(gone, is_back);
    gone -= lately;
    found += is_back - lately;
  };
  settle(s.gone.blocks, s.found.blocks, back.blocks.blocks);
  settle(s.gone.events, s.found.events, back.blocks.events);
  settle(s.gone.bytes, s.found.bytes, back.blocks.bytes);
}

} // namespace l3
