// SPDX-License-Identifier: Apache-2.0
#include "tools/replay/udp_replay.hpp"

#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>

namespace l3 {

udp_replay::udp_replay(const replay_source& source, const udp_replay_settings& settings)
    : source_(source), settings_(settings), changer_(source.crates()),
      schedule_(settings.rate, settings.end_delay) {
  const auto failure =
      settings_.to.size() > 1 ? datagram_burst::failure::counts : datagram_burst::failure::throws;
  for (const destination& to : settings_.to) nodes_.push_back({datagram_burst(to, failure), {}});
  report_.run = source.run();
  report_.to = text_of(settings_.to);
  report_.paced = !schedule_.unlimited();
}

replay_report udp_replay::run(const replay_watch& watch) {
  pace_.start();
  bool whole = true;
  for (std::uint32_t loop = 0; whole && loop < settings_.loops; ++loop)
    for (const auto& spill : source_.spills()) {
      whole = send_spill(spill, loop, watch);
      if (!whole) break;
    }
  finish_report(whole);
  return report_;
}

void udp_replay::finish_report(bool whole) {
  report_.interrupted = !whole;
  for (node& n : nodes_) {
    n.burst.take_errors();
    node_report r;
    r.to = n.burst.to().text();
    r.events = n.events;
    r.bytes = n.burst.bytes_sent();
    r.refused = whole ? n.refused_before_end : n.burst.refused();
    if (r.refused != 0)
      r.trouble = n.burst.refused_port() != 0
                      ? fmt::format("no program listened on port {}", n.burst.refused_port())
                      : n.burst.no_way();
    report_.refused += r.refused;
    report_.refused_ends += n.burst.refused() - r.refused;
    if (report_.trouble.empty() && !r.trouble.empty())
      report_.trouble = (nodes_.size() > 1 ? r.to + ": " : "") + r.trouble;
    report_.add(r);
  }
  report_.finished = whole && report_.refused == 0;
  report_.seconds = in_seconds(pace_.elapsed());
  report_.set_delays(pace_);
}

bool udp_replay::send_spill(const replay_spill& spill, std::uint32_t loop,
                            const replay_watch& watch) {
  const auto number = source_.spill_number(spill, loop);
  const auto begin = schedule_.begin_spill();
  while (!pace_.wait_roughly(begin))
    if (watch.stop()) return false;
  const auto begun = pace_.elapsed();
  const double earlier = report_.sending_seconds;
  report_.spills.push_back({number, 0, 0, spill.events.size()});
  for (node& n : nodes_) n.sent_by_crate.assign(source_.crates().size(), 0);
  if (settings_.share == replay_share::by_spill) next_turn();
  for (std::size_t i = 0; i < spill.events.size(); ++i) {
    auto event = spill.events[i];
    if (number != spill.number) event.body = changer_.change(event.body, spill.number, number);
    // The file was checked when it was read.
    if (parse_event(event.body, source_.crates(), view_)) continue;
    if (settings_.share == replay_share::by_event) next_turn();
    const auto slot = schedule_.next_event(spill, i, line_bytes(view_));
    if (!send_event(event, number, slot, watch)) return false;
    ++node_->events;
    ++report_.spills.back().admitted;
    ++report_.events;
    report_.sending_seconds = earlier + in_seconds(pace_.elapsed() - begun);
    check_refusals();
    watch.tell(report_.events);
  }
  const auto end = schedule_.end_spill(spill, pace_.elapsed());
  while (!pace_.wait_roughly(end))
    if (watch.stop()) return false;
  send_ends_of_spill(number);
  return true;
}

std::size_t udp_replay::line_bytes(const event_view& event) const {
  std::size_t bytes = 0;
  for (const auto& f : event.fragments) {
    const auto chunks = (f.bytes.size() + settings_.chunk_bytes - 1) / settings_.chunk_bytes;
    bytes += f.bytes.size() + (chunks + 1) * l2::datagram_header_bytes;
  }
  return bytes;
}

bool udp_replay::send_event(const replay_event& event, std::uint32_t spill,
                            const schedule::slot& slot, const replay_watch& watch) {
  const auto all = std::max<std::size_t>(1, line_bytes(view_));
  std::size_t begun = 0; // bytes of sent or skipped bursts
  std::size_t collected = 0;
  dropped_from_event_ = false;
  const auto send = [&] {
    const auto due = slot.due + slot.length * begun / all;
    const auto spacing = slot.length * (collected - begun) / all;
    begun = collected;
    return flush(due, spacing, watch);
  };
  const auto crates = source_.crates().size();
  for (const auto& f : view_.fragments) {
    const auto id = l2::fragment_id_of({event.number, f.crate}, crates);
    std::uint32_t chunk = 0;
    for (auto rest = f.bytes; !rest.empty(); ++chunk) {
      const auto n = std::min<std::size_t>(settings_.chunk_bytes, rest.size());
      if (put({id, chunk, 0}, rest.first(n))) ++report_.data_datagrams;
      rest = rest.subspan(n);
      collected += n + l2::datagram_header_bytes;
      if (node_->burst.full() && !send()) return false;
    }
    const l2::trailer trailer{0, spill, source_.crates().crates[f.crate].number};
    if (put({id, chunk, trailer.pack()}, {})) ++report_.trailers;
    collected += l2::datagram_header_bytes;
    ++report_.fragments;
    ++node_->sent_by_crate[f.crate];
    if (node_->burst.full() && !send()) return false;
  }
  if (dropped_from_event_) ++report_.events_dropped_from;
  return node_->burst.empty() || send();
}

bool udp_replay::put(const l2::datagram_header& header, std::span<const std::byte> payload) {
  if (settings_.drop > 0 && random_.chance(settings_.drop)) {
    node_->burst.leave_out();
    ++report_.dropped;
    dropped_from_event_ = true;
    return false;
  }
  node_->burst.add(header, payload);
  if (settings_.duplicate > 0 && !node_->burst.full() && random_.chance(settings_.duplicate)) {
    node_->burst.repeat_last();
    ++report_.duplicated;
  }
  return true;
}

bool udp_replay::flush(std::chrono::nanoseconds due, std::chrono::nanoseconds spacing,
                       const replay_watch& watch) {
  if (watch.stop()) return false;
  if (!schedule_.unlimited())
    while (!pace_.wait(due, spacing))
      if (watch.stop()) return false;
  node_->burst.send();
  return true;
}

void udp_replay::check_refusals() {
  // A closed port on this machine is reported at once: then no datagram of the replay would arrive.
  if (report_.events != 1 || nodes_.size() > 1) return;
  node_->burst.take_errors();
  if (node_->burst.refused() != 0)
    throw std::runtime_error(
        fmt::format("{}: no program listens on port {}", report_.to, node_->burst.refused_port()));
}

std::vector<l2::datagram_header> ends_of_spill(std::uint32_t events, std::uint32_t spill,
                                               std::uint32_t crate) {
  constexpr auto most = l2::max_end_of_spill_count;
  std::vector<l2::datagram_header> all((events + most - 1) / most);
  const auto parts = static_cast<std::uint32_t>(all.size());
  for (std::uint32_t part = 0; part < parts; ++part) {
    const l2::trailer end{std::min(events, most), spill, crate};
    events -= end.count;
    all[part] = {part, parts, end.pack()};
  }
  return all;
}

void udp_replay::send_ends_of_spill(std::uint32_t number) {
  for (node& n : nodes_) {
    node_ = &n;
    n.burst.take_errors();
    n.refused_before_end = n.burst.refused();
    for (std::uint32_t c = 0; c < source_.crates().size(); ++c) {
      const auto crate = source_.crates().crates[c].number;
      for (const auto& header : ends_of_spill(n.sent_by_crate[c], number, crate)) {
        if (put(header, {})) ++report_.ends_of_spill;
        if (n.burst.full()) n.burst.send();
      }
    }
    n.burst.send();
  }
}

} // namespace l3
