// SPDX-License-Identifier: Apache-2.0
#include "tools/replay/udp_replay.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <system_error>

#include <fmt/format.h>
#include <linux/errqueue.h>
#include <sys/socket.h>
#include <time.h>

namespace l3 {

namespace {

[[noreturn]] void fail(const destination& to, int error) {
  throw std::runtime_error(to.text() + ": " + std::generic_category().message(error));
}

} // namespace

datagram_burst::datagram_burst(const destination& to, failure on_failure)
    : to_(to), on_failure_(on_failure) {
  auto address = resolve(to);
  const int family = address.storage.ss_family;
  socket_ = file_descriptor(::socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket_) fail(to, errno);
  for (std::uint16_t p = 0; p < to.ports; ++p) {
    address.set_port(static_cast<std::uint16_t>(to.port + p));
    addresses_.push_back(address);
  }
  const auto set = [&](int level, int option, int value) {
    ::setsockopt(socket_.get(), level, option, &value, sizeof value);
  };
  set(SOL_SOCKET, SO_NO_CHECK, 1); // the electronics send no UDP checksum
  constexpr int send_buffer = 4 << 20;
  set(SOL_SOCKET, SO_SNDBUF, send_buffer);
  // Only a connected socket gets errors about a closed port.
  if (family == AF_INET6) {
    set(IPPROTO_IPV6, IPV6_RECVERR, 1);
  } else {
    set(IPPROTO_IP, IP_RECVERR, 1);
  }
}

std::size_t datagram_burst::turn() {
  const auto port = next_port_;
  next_port_ = (next_port_ + 1) % addresses_.size();
  return port;
}

void datagram_burst::add(const l2::datagram_header& header, std::span<const std::byte> payload) {
  auto& d = datagrams_[used_++];
  l2::write_datagram_header(d.header.data(), header);
  d.payload = payload;
  d.port = turn();
}

void datagram_burst::repeat_last() {
  datagrams_[used_] = datagrams_[used_ - 1];
  ++used_;
}

void datagram_burst::take_errors() {
  for (;;) {
    socket_address to;
    alignas(cmsghdr) std::array<std::byte, 512> control{};
    msghdr m{};
    m.msg_name = &to.storage;
    m.msg_namelen = sizeof to.storage;
    m.msg_control = control.data();
    m.msg_controllen = control.size();
    if (::recvmsg(socket_.get(), &m, MSG_ERRQUEUE | MSG_DONTWAIT) < 0) return;
    for (cmsghdr* c = CMSG_FIRSTHDR(&m); c != nullptr; c = CMSG_NXTHDR(&m, c)) {
      const bool ours = (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_RECVERR) ||
                        (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_RECVERR);
      if (!ours) continue;
      sock_extended_err error;
      std::memcpy(&error, CMSG_DATA(c), sizeof error);
      if (error.ee_errno != ECONNREFUSED) continue;
      ++refused_;
      if (refused_port_ == 0) refused_port_ = to.port();
    }
  }
}

void datagram_burst::send() {
  std::array<mmsghdr, capacity> messages{};
  std::array<iovec, 2 * capacity> parts{};
  for (std::size_t i = 0; i < used_; ++i) {
    auto& d = datagrams_[i];
    // The interface lacks const; it does not write through these pointers.
    parts[2 * i] = {d.header.data(), d.header.size()};
    parts[2 * i + 1] = {const_cast<std::byte*>(d.payload.data()), d.payload.size()};
    auto& m = messages[i].msg_hdr;
    m.msg_name = &addresses_[d.port].storage;
    m.msg_namelen = addresses_[d.port].bytes;
    m.msg_iov = &parts[2 * i];
    m.msg_iovlen = d.payload.empty() ? 1 : 2;
  }
  for (std::size_t sent = 0; sent < used_;) {
    const int n =
        ::sendmmsg(socket_.get(), &messages[sent], static_cast<unsigned>(used_ - sent), 0);
    if (n > 0) {
      for (int i = 0; i < n; ++i) bytes_ += messages[sent + static_cast<std::size_t>(i)].msg_len;
      sent += static_cast<std::size_t>(n);
      continue;
    }
    switch (errno) {
    case EINTR: break;
    case ECONNREFUSED: take_errors(); break; // an earlier datagram's error
    case ENOBUFS:
    case EAGAIN: {
      constexpr timespec moment{0, 50'000};
      ::nanosleep(&moment, nullptr);
      break;
    }
    case EMSGSIZE:
      throw std::runtime_error(fmt::format(
          "{}: a datagram of {} bytes is too long for the network: use a smaller --chunk",
          to_.text(), datagrams_[sent].payload.size()));
    case EHOSTUNREACH:
    case EHOSTDOWN:
    case ENETUNREACH:
      // An error of this or an earlier datagram: the machine or its network is gone.
      if (on_failure_ == failure::throws) fail(to_, errno);
      no_way_ = std::generic_category().message(errno);
      ++refused_;
      ++sent;
      break;
    default: fail(to_, errno);
    }
  }
  used_ = 0;
}

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
