// SPDX-License-Identifier: Apache-2.0
#include "bench/building/traffic.hpp"

#include <algorithm>
#include <random>

#include "bench/harness/made_up_batch.hpp"

namespace l3::bench {
namespace {

/// As in the default configuration.
constexpr std::uint32_t ports_of_daemon = 8;
constexpr std::uint32_t lost_one_in = 100;

struct event_datagram {
  sent_datagram what;
  std::uint32_t event = 0; ///< index
};

/// The chunks of each fragment, followed by its trailer.
std::vector<event_datagram> datagrams_of(const input_batch& batch, std::uint32_t event,
                                         const readout& crates) {
  std::vector<event_datagram> all;
  const event_entry& e = batch.events[event];
  for (const fragment_entry& f : batch.fragments.subspan(e.first_fragment, e.fragments)) {
    const std::uint32_t id = l2::fragment_id_of({e.number, f.crate}, crates.size());
    std::uint32_t chunk = 0;
    for (std::uint32_t at = 0; at < f.bytes; at += f.piece_bytes, ++chunk) {
      const std::uint32_t bytes = std::min(f.piece_bytes, f.bytes - at);
      all.push_back(
          {{{id, chunk, 0}, byte_of(batch.bytes.data(), batch.pieces.data(), f, at), bytes},
           event});
    }
    const l2::trailer end{0, e.spill, crates.crates[f.crate].number};
    all.push_back({{{id, chunk, end.pack()}, nullptr, 0}, event});
  }
  return all;
}

/// In the order of sending: one event at a time or, with several spills, several events in turn.
/// The first event comes alone, because a spill must have begun before another can.
std::vector<event_datagram> sent_in_turn(const input_batch& batch, std::uint32_t at_a_time) {
  const readout crates = readout::koto();
  std::vector<event_datagram> sent;
  const std::uint32_t events = batch.used_events;
  for (std::uint32_t first = 0, next = 1; first < events; first = next, next += at_a_time) {
    std::vector<std::vector<event_datagram>> group;
    for (std::uint32_t e = first; e < std::min(next, events); ++e)
      group.push_back(datagrams_of(batch, e, crates));
    for (std::size_t i = 0; i < group.front().size(); ++i) {
      for (const auto& one : group) sent.push_back(one[i]);
    }
  }
  return sent;
}

} // namespace

made_up_events::made_up_events(std::uint32_t events, std::uint32_t spills)
    : held_batch(readout::koto(), events) {
  make_up_batch(batch_, spills);
}

std::string_view name_of(arrival a) {
  switch (a) {
  case arrival::in_order: return "in order";
  case arrival::mixed: return "mixed over 8 ports";
  case arrival::with_loss: return "mixed, 1 % lost";
  case arrival::two_spills: return "mixed, two spills";
  }
  return "";
}

traffic make_traffic(const made_up_events& events, arrival a, std::uint32_t threads) {
  const input_batch& batch = events.batch();
  const auto sent = sent_in_turn(batch, spills_of(a));
  traffic t;
  t.ports.resize(a == arrival::in_order ? threads : ports_of_daemon);
  std::vector<bool> broken(batch.used_events);
  std::minstd_rand random(1); // a fixed seed
  for (std::size_t i = 0; i < sent.size(); ++i) {
    const auto& [what, event] = sent[i];
    if (a == arrival::with_loss && random() % lost_one_in == 0) {
      if (what.bytes != 0) broken[event] = true; // an event may lack a trailer
      continue;
    }
    t.ports[i % t.ports.size()].push_back(what);
    t.payload_bytes += what.bytes;
  }
  t.whole_events = static_cast<std::uint32_t>(std::ranges::count(broken, false));
  return t;
}

} // namespace l3::bench
