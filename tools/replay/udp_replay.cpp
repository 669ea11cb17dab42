// SPDX-License-Identifier: Apache-2.0
#include "tools/replay/udp_replay.hpp"

#include <algorithm>
#include <atomic>
#include <barrier>
#include <exception>
#include <memory>
#include <stdexcept>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "selection/detector/random.hpp"
#include "tools/replay/datagram_burst.hpp"

namespace l3 {
namespace {

/// Sends the part of one thread: every nth event of each spill.
class sender {
public:
  sender(const replay_source& source, const udp_replay_settings& settings, std::uint32_t place);

  /// Call it on the thread that sends.
  void start() { pace_.start(); }
  /// These two return false if the replay shall stop.
  [[nodiscard]] bool send_events(const replay_spill& spill, std::uint32_t number,
                                 const replay_watch& watch);
  /// Waits until the spill ends. Then the first sender sends its ends, for all.
  [[nodiscard]] bool end_spill(const replay_spill& spill, std::uint32_t number,
                               const std::vector<std::unique_ptr<sender>>& all,
                               const replay_watch& watch);
  void add_to(replay_report& report, bool whole);
  [[nodiscard]] const pace_keeper& pace() const { return pace_; }

private:
  struct node {
    datagram_burst burst;
    std::vector<std::uint32_t> sent_by_crate{}; ///< events of this spill, by place in the readout
    std::uint64_t events = 0;
    std::uint64_t refused_before_end = 0; ///< before the last sent spill
  };

  bool send_event(const replay_event& event, std::uint32_t spill, const schedule::slot& slot,
                  const replay_watch& watch);
  /// Adds a datagram to the burst once or twice; returns false if it is left out.
  bool put(const l2::datagram_header& header, std::span<const std::byte> payload);
  bool flush(std::chrono::nanoseconds due, std::chrono::nanoseconds spacing,
             const replay_watch& watch);
  [[nodiscard]] std::size_t line_bytes(const event_view& event) const;
  void check_refusals();
  void next_turn() { node_ = &nodes_[turns_++ % nodes_.size()]; }

  const replay_source& source_;
  const udp_replay_settings& settings_;
  std::uint32_t place_;
  spill_changer changer_;
  schedule schedule_;
  pace_keeper pace_;
  std::vector<node> nodes_;
  node* node_ = nullptr; // the node in turn
  std::size_t turns_ = 0;
  random_source random_;
  event_view view_;
  replay_report report_;
  bool dropped_from_event_ = false;
};

sender::sender(const replay_source& source, const udp_replay_settings& settings,
               std::uint32_t place)
    : source_(source), settings_(settings), place_(place), changer_(source.crates()),
      schedule_(settings.rate, settings.end_delay), random_(1 + place) {
  const auto failure =
      settings_.to.size() > 1 ? datagram_burst::failure::counts : datagram_burst::failure::throws;
  const auto style =
      settings_.threads > 1 ? datagram_burst::style::fast : datagram_burst::style::smooth;
  for (const destination& to : settings_.to) nodes_.push_back({datagram_burst(to, failure, style)});
}

void sender::add_to(replay_report& report, bool whole) {
  report.nodes.resize(nodes_.size());
  for (std::size_t n = 0; n < nodes_.size(); ++n) {
    datagram_burst& burst = nodes_[n].burst;
    burst.take_errors();
    node_report& r = report.nodes[n];
    r.to = burst.to().text();
    r.events += nodes_[n].events;
    r.bytes += burst.bytes_sent();
    const std::uint64_t refused = whole ? nodes_[n].refused_before_end : burst.refused();
    r.refused += refused;
    report.refused_ends += burst.refused() - refused;
    if (refused != 0)
      r.trouble = burst.refused_port() != 0
                      ? fmt::format("no program listened on port {}", burst.refused_port())
                      : burst.no_way();
  }
  report.events += report_.events;
  report.fragments += report_.fragments;
  report.data_datagrams += report_.data_datagrams;
  report.trailers += report_.trailers;
  report.ends_of_spill += report_.ends_of_spill;
  report.dropped += report_.dropped;
  report.duplicated += report_.duplicated;
  report.events_dropped_from += report_.events_dropped_from;
  report.sending_seconds = std::max(report.sending_seconds, report_.sending_seconds);
  report.seconds = std::max(report.seconds, in_seconds(pace_.elapsed()));
  if (report.spills.size() < report_.spills.size()) report.spills.resize(report_.spills.size());
  for (std::size_t n = 0; n < report_.spills.size(); ++n) {
    const std::uint64_t admitted = report.spills[n].admitted + report_.spills[n].admitted;
    report.spills[n] = report_.spills[n];
    report.spills[n].admitted = admitted;
  }
}

bool sender::send_events(const replay_spill& spill, std::uint32_t number,
                         const replay_watch& watch) {
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
    // The file was checked when it was read.
    if (parse_event(event.body, source_.crates(), view_)) continue;
    if (settings_.share == replay_share::by_event) next_turn();
    const auto slot = schedule_.next_event(spill, i, line_bytes(view_));
    if (i % settings_.threads != place_) continue;
    if (number != spill.number) {
      event.body = changer_.change(event.body, spill.number, number);
      if (parse_event(event.body, source_.crates(), view_)) continue;
    }
    if (!send_event(event, number, slot, watch)) return false;
    ++node_->events;
    ++report_.spills.back().admitted;
    ++report_.events;
    report_.sending_seconds = earlier + in_seconds(pace_.elapsed() - begun);
    check_refusals();
    watch.tell(1);
  }
  return true;
}

std::size_t sender::line_bytes(const event_view& event) const {
  std::size_t bytes = 0;
  for (const auto& f : event.fragments) {
    const auto chunks = (f.bytes.size() + settings_.chunk_bytes - 1) / settings_.chunk_bytes;
    bytes += f.bytes.size() + (chunks + 1) * l2::datagram_header_bytes;
  }
  return bytes;
}

bool sender::send_event(const replay_event& event, std::uint32_t spill, const schedule::slot& slot,
                        const replay_watch& watch) {
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

bool sender::put(const l2::datagram_header& header, std::span<const std::byte> payload) {
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

bool sender::flush(std::chrono::nanoseconds due, std::chrono::nanoseconds spacing,
                   const replay_watch& watch) {
  if (watch.stop()) return false;
  if (!schedule_.unlimited())
    while (!pace_.wait(due, spacing))
      if (watch.stop()) return false;
  node_->burst.send();
  return true;
}

void sender::check_refusals() {
  // A closed port on this machine is reported at once: then no datagram of the replay would arrive.
  if (report_.events != 1 || nodes_.size() > 1) return;
  node_->burst.take_errors();
  if (node_->burst.refused() != 0)
    throw std::runtime_error(fmt::format("{}: no program listens on port {}", text_of(settings_.to),
                                         node_->burst.refused_port()));
}

bool sender::end_spill(const replay_spill& spill, std::uint32_t number,
                       const std::vector<std::unique_ptr<sender>>& all, const replay_watch& watch) {
  const auto end = schedule_.end_spill(spill, pace_.elapsed());
  for (node& n : nodes_) {
    n.burst.take_errors();
    n.refused_before_end = n.burst.refused();
  }
  if (place_ != 0) return true;
  while (!pace_.wait_roughly(end))
    if (watch.stop()) return false;
  for (std::size_t at = 0; at < nodes_.size(); ++at) {
    node_ = &nodes_[at];
    for (std::uint32_t c = 0; c < source_.crates().size(); ++c) {
      std::uint32_t events = 0;
      for (const auto& one : all) events += one->nodes_[at].sent_by_crate[c];
      for (const auto& header : ends_of_spill(events, number, source_.crates().crates[c].number)) {
        if (put(header, {})) ++report_.ends_of_spill;
        if (node_->burst.full()) node_->burst.send();
      }
    }
    node_->burst.send();
  }
  return true;
}

} // namespace

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

replay_report replay_over_udp(const replay_source& source, const udp_replay_settings& settings,
                              const replay_watch& watch) {
  std::vector<std::unique_ptr<sender>> senders;
  for (std::uint32_t n = 0; n < settings.threads; ++n)
    senders.push_back(std::make_unique<sender>(source, settings, n));
  std::vector<std::exception_ptr> failed(senders.size());
  std::atomic<bool> over = false;
  std::atomic<std::uint64_t> events = 0;
  std::barrier together(static_cast<std::ptrdiff_t>(senders.size()));

  const auto send_all = [&](sender& one, const replay_watch& shared) {
    one.start();
    for (std::uint32_t loop = 0; loop < settings.loops; ++loop)
      for (const replay_spill& spill : source.spills()) {
        const std::uint32_t number = source.spill_number(spill, loop);
        if (!one.send_events(spill, number, shared)) return false;
        together.arrive_and_wait(); // so that its ends come last
        if (over || !one.end_spill(spill, number, senders, shared)) return false;
        together.arrive_and_wait();
      }
    return true;
  };
  const auto run = [&](std::size_t place) {
    const replay_watch shared{[&] { return over || watch.stop(); },
                              [&, place](std::uint64_t n) {
                                events += n;
                                if (place == 0) watch.tell(events);
                              }};
    try {
      if (!send_all(*senders[place], shared)) over = true;
    } catch (...) {
      failed[place] = std::current_exception();
      over = true;
    }
    together.arrive_and_drop();
  };
  {
    std::vector<std::jthread> others;
    for (std::size_t n = 1; n < senders.size(); ++n) others.emplace_back(run, n);
    run(0);
  }
  for (const std::exception_ptr& e : failed)
    if (e) std::rethrow_exception(e);

  replay_report report;
  report.run = source.run();
  report.to = text_of(settings.to);
  report.paced = settings.rate.how != replay_rate::kind::unlimited;
  report.interrupted = over;
  pace_keeper delays;
  for (const auto& one : senders) {
    one->add_to(report, !over);
    delays.add(one->pace());
  }
  report.set_delays(delays);
  for (const node_report& n : report.nodes) {
    report.bytes += n.bytes;
    report.refused += n.refused;
    if (report.trouble.empty() && !n.trouble.empty())
      report.trouble = (report.nodes.size() > 1 ? n.to + ": " : "") + n.trouble;
  }
  report.finished = !over && report.refused == 0;
  return report;
}

} // namespace l3
