// SPDX-License-Identifier: Apache-2.0
// A receiver's hellos: who may speak for a session (docs/protocol.md).
#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "transport/link/link_message.hpp"
#include "transport/store/block_receiver.hpp"

namespace l3 {

std::string block_receiver::no_place_for(std::uint64_t session, const std::string& peer) {
  const auto& stored = store_.sessions();
  if (stored.contains(session)) return {};
  if (stored.size() >= most_stored_sessions)
    return fmt::format("the store has blocks of {} sessions, and takes no more: start the receiver "
                       "with a new folder",
                       most_stored_sessions);
  if (!shares_.may_begin(peer, [&](std::uint64_t s) { return stored.contains(s); }))
    return fmt::format("one peer ({}) has begun {} sessions in the store since the receiver was "
                       "started, which is its share: start the receiver again",
                       peer, shares_.share());
  return {};
}

void block_receiver::refuse(const std::string& address, const std::string& whom,
                            std::uint64_t session, const std::string& why, time_point now) {
  counters_.refused_hellos.add();
  send(address, link_message::refusal, session, 0, why);
  report(refused_hellos_told_, now, "refused " + whom + ": " + why);
}

std::string block_receiver::wrong_with_hello(std::uint64_t session, session_claim claim,
                                             const std::string& peer) {
  const bool is_proven = claim == session_claim::proven;
  const link_peer* const known = peers_.find(session);
  if (claim == session_claim::false_token)
    return fmt::format("this token is not that of session {:016x}, which belongs to another peer",
                       session);
  if (!is_proven && ((known != nullptr && known->proven) || store_.is_proven(session))) {
    return fmt::format("session {:016x} belongs to a daemon that has shown its token, and this "
                       "hello shows none: put tokens.kl3t back into the daemon's spool folder, or "
                       "start the receiver with a new folder",
                       session);
  }
  return no_place_for(session, peer);
}

/// False: it is refused.
bool block_receiver::take_hello(const link_header& header, session_claim claim,
                                const hello_origin& origin, time_point now) {
  const std::uint64_t session = header.session;
  if (const std::string wrong = wrong_with_hello(session, claim, origin.peer); !wrong.empty()) {
    refuse(origin.address, "a hello from " + origin.machine, session, wrong, now);
    return false;
  }
  const bool is_proven = claim == session_claim::proven;
  if (is_proven && store_.claim(session)) {
    report(claims_told_, now,
           fmt::format("session {:016x} has shown its token: what was stored as this session "
                       "without it is another peer's, and does not count as stored",
                       session));
  }
  const link_peer* const known = peers_.find(session);
  const bool is_another = known == nullptr || known->proven != is_proven;
  early_.drop_if([&](std::uint64_t s, std::uint64_t) { return is_another && s == session; });
  link_peer& from = peers_.greet(session, origin.address, origin.peer, is_proven, now);
  const std::uint64_t last = store_.last_stored(session, header.sequence);
  from.first = header.sequence;
  early_.drop_if([&](std::uint64_t s, std::uint64_t number) {
    return s == session && number <= header.sequence;
  });
  from.in_words = origin.in_words;
  from.run = origin.run;
  from.node = origin.node;
  from.take_process(process_of_hello(header), now);
  from.stored = last != 0;
  if (is_another) from.last_event = recent_.last_of({session, is_proven});
  from.welcomes.push_back(origin.address); // what it says to be stored must be committed first
  return true;
}

void block_receiver::report(occasional& kind, time_point now, const std::string& text) {
  const auto times = kind.happened(now);
  if (!times || !report_) return;
  report_(*times == 1 ? text : fmt::format("{} (and {} more of the kind)", text, *times - 1));
}

} // namespace l3
