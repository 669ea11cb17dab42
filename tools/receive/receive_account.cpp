// SPDX-License-Identifier: Apache-2.0
#include "tools/receive/receive_account.hpp"

#include <algorithm>

namespace l3 {

ledger account_of(const store_writer& store, const receive_counters& c, receiver_is now) {
  ledger l;
  l.program = "receive";
  l.run = store.last_run();
  l.unseen = std::min<std::uint64_t>(c.unseen, most_counted);
  l.not_compared = store.not_compared();
  l.ended = now != receiver_is::running;
  l.clean = now == receiver_is::ended_with_a_whole_store && l.unseen == 0 && l.not_compared == 0;
  for (const auto& [session, s] : store.sessions()) {
    l.sessions.push_back(session);
    l.events.admitted += s.events;
    l.bytes.out += s.bytes;
  }
  l.events.forwarded = l.events.admitted;
  std::uint64_t vanished = 0;
  for (const auto& [session, lost] : store.lost()) {
    l.lost.push_back({session, lost.first, lost.last, lost.blocks, lost.events});
    vanished += lost.events;
  }
  l.events.shed["vanished"] = vanished;
  l.events.admitted += vanished;
  l.bytes.in = c.bytes;
  auto& d = l.datagrams;
  d.received = c.messages;
  d.data = c.blocks;
  d.duplicate = c.duplicates;
  d.malformed = counts_of(c.damaged);
  d.malformed.erase(std::string(name_of(block_fault::none)));
  d.malformed["garbage"] = c.garbage;
  d.malformed["gap"] = c.gaps;
  d.malformed["stranger"] = c.strangers;
  d.malformed["unknown_key"] = c.connections.unknown_key;
  d.malformed["mechanism"] = c.connections.mechanism;
  d.malformed["handshake"] = c.connections.handshake();
  return l;
}

} // namespace l3
