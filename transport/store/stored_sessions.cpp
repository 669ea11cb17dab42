// SPDX-License-Identifier: Apache-2.0
#include "transport/store/stored_sessions.hpp"

#include "transport/store/block.hpp"

namespace l3 {
const stored_session* stored_sessions::find(std::uint64_t session) const {
  const auto found = sessions_.find(session);
  return found == sessions_.end() ? nullptr : &found->second;
}

stored_session& stored_sessions::add_found(const block_header& block, bool behind_damage) {
  stored_session& s = sessions_[block.session];
  if (behind_damage)
    s.numbers.add_behind_damage(block.sequence);
  else
    s.numbers.add(block.sequence);
  s.run = block.run;
  s.node = block.node;
  ++s.blocks;
  s.events += block.events;
  s.bytes += events_bytes(block);
  s.repeated += block.repeated;
  return s;
}

stored_session& stored_sessions::add(const block_header& block) {
  uncommitted_.try_emplace(block.session, sessions_[block.session]);
  return add_found(block, false);
}

void stored_sessions::take_back() {
  for (const auto& [session, before] : uncommitted_) {
    sessions_[session] = before;
    if (before.blocks == 0 && before.numbers.last() == 0) sessions_.erase(session);
  }
  uncommitted_.clear();
}

} // namespace l3
