// SPDX-License-Identifier: Apache-2.0
#include "receiver/node_presence.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace l3 {
namespace {

using sessions = std::map<std::uint64_t, const link_peer*>;

/// Whether `one` was stored later. Blocks from before the receiver's start have no time.
bool is_later(const link_peer& one, const link_peer& other) {
  if (one.stored_at != other.stored_at) return one.stored_at > other.stored_at;
  if (one.last_event && other.last_event) return is_before(*other.last_event, *one.last_event);
  return one.last_event && !other.last_event;
}

missing_part part_of(std::uint32_t node, const sessions& silent) {
  const auto& [session, last] =
      *std::ranges::max_element(silent, [](const auto& one, const auto& other) {
        return is_later(*other.second, *one.second);
      });
  missing_part part;
  part.node = node;
  part.run = last->run;
  part.session = session;
  part.after = last->last_event;
  for (const auto& [other, peer] : silent) {
    part.silent_since = std::max(part.silent_since, peer->heard_at);
    if (peer->run != part.run) continue;
    part.stored = part.stored || peer->stored;
    if (!last->last_event && peer->last_event &&
        (!part.after || is_before(*part.after, *peer->last_event)))
      part.after = peer->last_event;
  }
  return part;
}

/// Sessions belong to one daemon if their hellos have the same process mark.
bool are_of_several(const sessions& all) {
  std::set<std::uint16_t> processes;
  for (const auto& [session, peer] : all) processes.insert(peer->process);
  return processes.size() > 1;
}

/// The first new session of a restarted process. Sessions that it inherited may contain older
/// events than the missing ones. Returns 0 if there is none yet.
std::uint64_t session_that_follows(const sessions& anew) {
  const auto next = std::ranges::find_if(anew, [](const auto& s) { return !s.second->inherited; });
  return next == anew.end() ? 0 : next->first;
}

std::string peers_of(const sessions& all) {
  constexpr std::size_t most_named = 4;
  std::set<std::string> peers;
  for (const auto& [session, peer] : all)
    if (peers.size() < most_named) peers.insert(peer->in_words);
  return fmt::format("{}", fmt::join(peers, ", "));
}

std::string begun_anew(const missing_part& part) {
  return fmt::format("its events of run {} {} are lost, except events on its disk and events that "
                     "senders over TCP send again",
                     part.run, where_it_breaks_off(part));
}

} // namespace

void node_presence::speakers::add(const node_presence::sessions& all) {
  for (const auto& [session, peer] : all) {
    sessions.insert(session);
    processes.insert(peer->process);
  }
}

/// A restarted daemon may send blocks on disk in a session of the dead process.
bool node_presence::absence::is_of_it(const link_peer& peer) const {
  return own.processes.contains(peer.process);
}

bool node_presence::absence::is_of_its_successor(std::uint64_t session,
                                                 const link_peer& peer) const {
  return !others.sessions.contains(session) && !others.processes.contains(peer.process) &&
         !own.processes.contains(peer.process);
}

std::string where_it_breaks_off(const missing_part& part) {
  if (part.after)
    return fmt::format("after event {} of spill {}", part.after->number, part.after->spill);
  return part.stored ? "after its last stored event" : "since it began";
}

std::vector<missing_part> node_presence::parts() const {
  std::vector<missing_part> all;
  for (const absence& its : past_) all.push_back(its.part);
  for (const auto& [node, its] : absent_) all.push_back(its.part);
  return all;
}

std::map<std::uint32_t, std::string> node_presence::said_by_several() const {
  std::map<std::uint32_t, std::string> all;
  for (const auto& [node, its] : several_)
    if (!its.who.empty()) all[node] = its.who;
  return all;
}

std::vector<std::string> node_presence::look(const link_peers& peers, time_point now) {
  auto nodes = sort(peers, now);
  std::erase_if(several_, [&](const auto& s) { return !nodes.contains(s.first); });
  for (auto& [node, its] : nodes) {
    look_at_absent(node, its, now);
    look_at_number(node, its, now);
    look_at_silent(node, its);
  }
  note_first_events(peers);
  return std::exchange(news_, {});
}

std::map<std::uint32_t, node_presence::node_sessions> node_presence::sort(const link_peers& peers,
                                                                          time_point now) {
  std::map<std::uint32_t, node_sessions> nodes;
  std::erase_if(settled_, [&](std::uint64_t s) { return peers.find(s) == nullptr; });
  for (const auto& [session, peer] : peers) {
    if (peer.gone) {
      nodes[peer.node].ended[session] = &peer;
    } else if (now < peer.heard_at + (peer.is_open ? peer.silence_limit : silence_limit)) {
      settled_.erase(session);
      nodes[peer.node].there[session] = &peer;
    } else if (!settled_.contains(session)) {
      nodes[peer.node].silent[session] = &peer;
    }
  }
  return nodes;
}

/// A dead daemon may still be heard briefly beside its successor, so only a lasting conflict is
/// reported.
void node_presence::look_at_number(std::uint32_t node, const node_sessions& its, time_point now) {
  if (!are_of_several(its.there)) {
    several_.erase(node);
    return;
  }
  several_daemons& all = several_.try_emplace(node, several_daemons{now, {}}).first->second;
  if (now >= all.since + patience_with_several) all.who = peers_of(its.there);
}

void node_presence::look_at_silent(std::uint32_t node, const node_sessions& its) {
  if (its.silent.empty()) return;
  missing_part part = part_of(node, its.silent);
  if (its.there.empty()) {
    if (absent_.size() >= most_parts) return;
    absence begun{part, {}, {}};
    begun.own.add(its.silent);
    begun.others.add(its.ended);
    absent_.emplace(node, std::move(begun));
    return;
  }
  // It came back before its silence was noticed, or another of its sessions speaks.
  absence gone{part, {}, {}};
  gone.own.add(its.silent);
  const auto lives = [&](const auto& s) { return gone.own.processes.contains(s.second->process); };
  if (std::ranges::any_of(its.there, lives)) return;
  sessions anew;
  std::ranges::copy_if(its.there, std::inserter(anew, anew.end()),
                       [&](const auto& s) { return s.second->known_since > part.silent_since; });
  if (anew.empty()) return;
  news_.push_back(
      fmt::format("node {} has restarted without a goodbye: {}", node, begun_anew(part)));
  gone.part.followed_by = session_that_follows(anew);
  gone.part.back_at = std::ranges::min_element(anew, {}, [](const auto& s) {
                        return s.second->known_since;
                      })->second->known_since;
  add_past(gone);
  settle(its.silent);
}

/// Removes silent sessions that are already reported from `its`.
void node_presence::look_at_absent(std::uint32_t node, node_sessions& its, time_point now) {
  auto [at, end] = absent_.equal_range(node);
  while (at != end) {
    const bool over = is_back(at->second, its, now);
    for (const std::uint64_t session : at->second.own.sessions) its.silent.erase(session);
    at = over ? absent_.erase(at) : std::next(at);
  }
}

/// Whether the node is back. Logs it if so.
bool node_presence::is_back(const absence& from, const node_sessions& its, time_point now) {
  const missing_part& part = from.part;
  const auto is_of_it = [&](const auto& s) { return from.is_of_it(*s.second); };
  const auto is_anew = [&](const auto& s) { return from.is_of_its_successor(s.first, *s.second); };
  const auto tell = [&](time_point back, const std::string& how) {
    news_.push_back(fmt::format("node {} is back after {:.1f} s, and {}", part.node,
                                in_seconds(back - part.silent_since), how));
  };
  if (std::ranges::any_of(its.there, is_of_it)) {
    tell(now, "continues where it stopped: nothing is missing");
    return true;
  }
  sessions ended_since = its.ended;
  std::erase_if(ended_since,
                [&](const auto& s) { return s.second->heard_at <= part.silent_since; });
  // A session without a goodbye has blocks on disk.
  const bool left_one = std::ranges::any_of(
      its.silent, [&](const auto& s) { return from.own.sessions.contains(s.first); });
  const auto goodbye = std::ranges::find_if(ended_since, is_of_it);
  if (goodbye != ended_since.end() && !left_one) {
    tell(goodbye->second->heard_at, "has said goodbye: nothing is missing");
    return true;
  }
  sessions anew;
  std::ranges::copy_if(its.there, std::inserter(anew, anew.end()), is_anew);
  std::ranges::copy_if(ended_since, std::inserter(anew, anew.end()), is_anew);
  if (anew.empty()) return false;
  tell(now, "has restarted: " + begun_anew(part));
  absence over = from;
  over.part.followed_by = session_that_follows(anew);
  over.part.back_at = now;
  for (const auto& [session, peer] : its.silent)
    if (from.own.sessions.contains(session)) settled_.insert(session);
  add_past(over);
  return true;
}

void node_presence::add_past(const absence& from) {
  if (past_.size() >= most_parts) past_.pop_front();
  past_.push_back(from);
}

void node_presence::settle(const sessions& silent) {
  for (const auto& [session, peer] : silent) settled_.insert(session);
}

/// Finds the ends of missing parts.
void node_presence::note_first_events(const link_peers& peers) {
  for (absence& its : past_) {
    missing_part& part = its.part;
    if (part.before) continue;
    if (part.followed_by == 0) {
      sessions anew;
      for (const auto& [session, peer] : peers)
        if (peer.node == part.node && peer.known_since > part.silent_since &&
            its.is_of_its_successor(session, peer))
          anew[session] = &peer;
      part.followed_by = session_that_follows(anew);
    }
    if (const link_peer* const next = peers.find(part.followed_by)) part.before = next->first_event;
  }
}

} // namespace l3
