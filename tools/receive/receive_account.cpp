// SPDX-License-Identifier: Apache-2.0
#include "tools/receive/receive_account.hpp"

namespace l3 {

ledger account_of(const store_writer& store, const receive_counters& c, receiver_is now) {
  ledger l;
  l.program = "receive";
  l.run = store.last_run();
  l.ended = now != receiver_is::running;
  l.clean = now == receiver_is::ended;
  for (const auto& [session, s] : store.sessions()) {
    l.sessions.push_back(session);
    l.events.admitted += s.events;
    l.bytes.out += s.bytes;
  }
  l.events.forwarded = l.events.admitted;
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
