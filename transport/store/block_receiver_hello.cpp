// SPDX-License-Identifier: Apache-2.0
// A receiver's hellos: who may speak for a session (docs/protocol.md).
#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "transport/link/link_message.hpp"
#include "transport/store/block_receiver.hpp"

namespace l3 {

void block_receiver::refuse(const std::string& address, const std::string& whom,
                            std::uint64_t session, const std::string& why, time_point now) {
  counters_.refused_hellos.add();
  send(address, link_message::refusal, session, 0, why);
  report(refused_hellos_told_, now, "refused " + whom + ": " + why);
}

std::string block_receiver::wrong_with_hello(std::uint64_t session, session_claim claim) const {
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
  return {};
}

void block_receiver::take_hello(const link_header& header, session_claim claim,
                                const hello_origin& origin, time_point now) {
  const std::uint64_t session = header.session;
  if (const std::string wrong = wrong_with_hello(session, claim); !wrong.empty()) {
    refuse(origin.address, "a hello from " + origin.in_words, session, wrong, now);
    return;
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
  link_peer& from = peers_.greet(session, origin.address, is_proven, now);
  const std::uint64_t last = store_.last_stored(session, header.sequence);
  const std::uint64_t expected =
      std::max({last + 1, from.first, store_.last_archived(session) + 1});
  if (header.sequence > expected) tell_unseen(session, expected, header.sequence, now);
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
  answers_from_older_files_ = true;
  from.welcomes.push_back(origin.address); // what it says to be stored must be committed first
}

/// Only the session's own daemon says so: it was told that they are stored.
void block_receiver::tell_unseen(std::uint64_t session, std::uint64_t expected, std::uint64_t first,
                                 time_point now) {
  const std::uint64_t most = UINT64_MAX - counters_.unseen; // a peer may say any number
  counters_.unseen.add(std::min(first - expected, most));
  report(unseen_told_, now,
         fmt::format("session {:016x} goes on with block {}: blocks {} to {} were never seen here; "
                     "another receiver has stored them, they were archived long ago, or they are "
                     "lost",
                     session, first, expected, first - 1));
}

void block_receiver::report(occasional& kind, time_point now, const std::string& text) {
  const auto times = kind.happened(now);
  if (!times || !report_) return;
  report_(*times == 1 ? text : fmt::format("{} (and {} more of the kind)", text, *times - 1));
}

} // namespace l3
