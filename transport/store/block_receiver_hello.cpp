// SPDX-License-Identifier: Apache-2.0
// A receiver's hellos (docs/protocol.md).
#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "transport/link/link_message.hpp"
#include "transport/store/block_receiver.hpp"

namespace l3 {

void block_receiver::take_hello(const link_header& header, const hello_origin& origin,
                                time_point now) {
  const std::uint64_t session = header.session;
  const bool is_new = peers_.find(session) == nullptr;
  link_peer& from = peers_.greet(session, origin.address, now);
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
  if (is_new) from.last_event = recent_.last_of(session);
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
