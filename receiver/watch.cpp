// SPDX-License-Identifier: Apache-2.0
#include "receiver/watch.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include <sys/statvfs.h>

#include "monitor/log.hpp"
#include "monitor/version.hpp"
#include "transport/format/time.hpp"

namespace l3 {
namespace {

using namespace std::chrono_literals;

constexpr auto interval = 500ms;
/// After such a pause, for example at a slow disk, the receiver reads messages before it judges.
constexpr auto own_pause = 500ms;
} // namespace

receive_watch::receive_watch(const std::optional<internet_address>& at,
                             const receive_settings& settings, const store_writer& store,
                             const block_receiver& receiver, service_manager manager,
                             http_pages more, std::chrono::nanoseconds patience)
    : settings_(settings), store_(store), receiver_(receiver), manager_(std::move(manager)),
      patience_(patience), started_at_(static_cast<double>(nanoseconds_since_1970()) / 1e9) {
  look(started_);
  if (at) {
    more.merge(receive_pages([this] { return latest(); }, [this] { return is_stuck(); }));
    http_ = std::make_unique<http_server>(at->host, at->port, std::move(more));
    address_ = "http://" + text_of(internet_address{at->host, http_->port()}) + "/";
  }
  manager_.ready();
}

void receive_watch::look(time_point now, const std::string& ledger_error) {
  if (now < next_look_) return;
  if (now >= next_look_ + own_pause) judges_from_ = now + node_presence::silence_limit;
  next_look_ = now + interval;
  if (now >= judges_from_)
    for (const std::string& text : presence_.look(receiver_.peers(), now)) log_warning("{}", text);
  receive_snapshot s = snapshot(now, ledger_error);
  board_.look(receive_troubles(), latest_, s, s.counters.blocks != latest_.counters.blocks, now,
              static_cast<double>(nanoseconds_since_1970()) / 1e9);
  for (const trouble_board::line& l : board_.news()) log_line(l.level, l.text);
  s.troubles = board_.list();
  manager_.alive();
  manager_.status(s.state_text());
  looked_at_ = now.time_since_epoch().count();
  const std::lock_guard lock(mutex_);
  latest_ = std::move(s);
}

receive_snapshot receive_watch::latest() const {
  const std::lock_guard lock(mutex_);
  return latest_;
}

bool receive_watch::is_stuck() const {
  return steady_clock::now() > time_point(std::chrono::nanoseconds(looked_at_)) + patience_;
}

receive_snapshot receive_watch::snapshot(time_point now, const std::string& ledger_error) {
  receive_snapshot s;
  s.version = version();
  s.commit = commit();
  s.endpoint = receiver_.endpoint();
  s.folder = store_.folder().path().string();
  s.started = started_at_;
  s.uptime = in_seconds(now - started_);
  s.memory_planned = block_receiver::memory_plan(settings_).bytes;
  s.log_lines_left_out = log_lines_left_out();
  s.process = usage_of_this_process();
  s.counters = receiver_.counters();
  s.sessions = store_.sessions().size();
  if (receiver_.publisher() != nullptr) s.published = receiver_.publisher()->published();
  if (const auto error = receiver_.store_error()) s.store_error = error.message();
  s.ledger_error = ledger_error;
  add_daemons(s, now);
  add_missing(s, now);
  s.disk = look_at_disk(s.stored_bytes, now);
  return s;
}

/// Nodes in the store, or heard since the receiver's start.
std::map<std::uint32_t, daemon_snapshot> receive_watch::find_nodes(receive_snapshot& s,
                                                                   time_point now) const {
  std::map<std::uint32_t, daemon_snapshot> nodes;
  const link_peers& peers = receiver_.peers();
  const auto hear = [&](daemon_snapshot& d, const link_peer& peer, std::uint32_t run) {
    const double silent = in_seconds(now - peer.heard_at);
    d.connected = d.connected || peer.is_there(now);
    if (peer.stored_at) {
      const double ago = in_seconds(now - *peer.stored_at);
      if (!d.last_block || ago < *d.last_block) {
        d.last_block = ago;
        if (peer.last_event) d.last_event = peer.last_event;
        d.lag = peer.lag ? std::optional(in_seconds(*peer.lag)) : std::nullopt;
      }
    } else if (!d.last_block && peer.last_event &&
               (!d.last_event || is_before(*d.last_event, *peer.last_event))) {
      d.last_event = peer.last_event;
    }
    if (d.silent && *d.silent <= silent) return;
    d.silent = silent;
    d.run = run;
    d.name = peer.in_words;
    d.state = peer.gone ? node_state::ended : node_state::idle;
  };
  for (const auto& [session, stored] : store_.sessions()) {
    daemon_snapshot& d = nodes[stored.node];
    d.node = stored.node;
    d.in_store.blocks += stored.blocks;
    d.in_store.events += stored.events;
    d.in_store.bytes += stored.bytes;
    s.stored_events += stored.events;
    s.stored_bytes += stored.bytes;
    if (const link_peer* const peer = peers.find(session))
      hear(d, *peer, stored.run);
    else if (!d.silent)
      d.run = stored.run;
  }
  for (const auto& [session, peer] : peers) {
    if (store_.sessions().contains(session)) continue;
    daemon_snapshot& d = nodes[peer.node];
    d.node = peer.node;
    hear(d, peer, peer.run);
  }
  return nodes;
}

void receive_watch::add_daemons(receive_snapshot& s, time_point now) {
  auto nodes = find_nodes(s, now);
  if (!at_start_) {
    at_start_.emplace();
    for (const auto& [node, d] : nodes) at_start_->emplace(node, d.in_store);
  }
  for (auto& [node, d] : nodes) s.daemons.push_back(std::move(d));
  if (s.daemons.size() > receive_snapshot::most_daemons) {
    s.daemons_left_out = s.daemons.size() - receive_snapshot::most_daemons;
    std::ranges::sort(s.daemons, {}, [](const daemon_snapshot& d) {
      return std::tuple(d.in_store.blocks == 0, !d.silent.has_value(), d.silent.value_or(0));
    });
    s.daemons.resize(receive_snapshot::most_daemons);
    std::ranges::sort(s.daemons, {}, &daemon_snapshot::node);
  }
  std::erase_if(counts_, [&](const auto& c) {
    return std::ranges::find(s.daemons, c.first, &daemon_snapshot::node) == s.daemons.end();
  });
  for (daemon_snapshot& d : s.daemons) {
    node_counts& counts = counts_[d.node];
    const auto before = at_start_->find(d.node);
    counts.stored.rise_to(d.in_store,
                          before == at_start_->end() ? stored_counts() : before->second);
    d.stored = counts.stored;
    counts.events.note(d.stored.events, now);
    counts.bytes.note(d.stored.bytes, now);
    d.events_per_second = counts.events.per_second();
    d.bytes_per_second = counts.bytes.per_second();
    if (presence_.is_missing(d.node)) {
      d.state = node_state::missing;
      d.connected = false;
    } else if (d.state == node_state::idle && d.events_per_second > 0) {
      d.state = node_state::sending;
    }
  }
}

void receive_watch::add_missing(receive_snapshot& s, time_point now) {
  s.same_nodes = presence_.said_by_several();
  for (const missing_part& p : presence_.parts())
    s.missing.push_back(
        {p.node, p.run, p.after, p.before, in_seconds(now - p.silent_since),
         p.back_at ? std::optional(in_seconds(*p.back_at - p.silent_since)) : std::nullopt,
         p.stored});
}

std::optional<disk_snapshot> receive_watch::look_at_disk(std::uint64_t stored_bytes,
                                                         time_point now) {
  written_.note(stored_bytes, now);
  struct statvfs found {};
  if (::statvfs(store_.folder().path().c_str(), &found) != 0) return std::nullopt;
  disk_snapshot d;
  d.bytes = std::uint64_t{found.f_blocks} * found.f_frsize;
  d.free = std::uint64_t{found.f_bavail} * found.f_frsize;
  if (const double rate = written_.per_second(); rate > 0)
    d.seconds_left = static_cast<double>(d.free) / rate;
  return d;
}

} // namespace l3
