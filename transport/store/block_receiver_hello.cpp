// SPDX-License-Identifier: Apache-2.0
// A receiver's hellos (docs/protocol.md).
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
  from.welcomes.push_back(origin.address); // what it says to be stored must be committed first
}

void block_receiver::report(occasional& kind, time_point now, const std::string& text) {
  const auto times = kind.happened(now);
  if (!times || !report_) return;
  report_(*times == 1 ? text : fmt::format("{} (and {} more of the kind)", text, *times - 1));
}

} // namespace l3
