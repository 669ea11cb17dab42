// SPDX-License-Identifier: Apache-2.0
#include "transport/input/unattended_ports.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <span>
#include <utility>

#include "transport/building/event_builder.hpp"
#include "transport/system/threads.hpp"

namespace l3 {
namespace {

/// How often the thread checks whether it has to end.
constexpr int patience_milliseconds = 50;
/// Most datagrams read from one port in its turn.
constexpr int burst = 256;

} // namespace

unattended_ports::unattended_ports(const std::vector<udp_socket>& ports, source_list allow,
                                   building_settings building, std::chrono::nanoseconds pause,
                                   bool in_a_spill)
    : ports_(ports), allow_(std::move(allow)), building_(std::move(building)), pause_(pause),
      spill_ended_(!in_a_spill), between_(!in_a_spill) {
  thread_ = std::jthread([this](const std::stop_token& stop) {
    name_this_thread("no run");
    read(stop);
  });
}

std::chrono::nanoseconds unattended_ports::busy_for() const {
  return pauses() ? std::chrono::nanoseconds{} : last_.load() - busy_since_.load();
}

/// With a beam most crates send. Data from only a few crates do not count as beam.
std::vector<std::uint32_t> unattended_ports::silent_for(std::chrono::nanoseconds length) const {
  const time_point last = last_;
  if (last - length < began_) return {};
  std::vector<std::uint32_t> silent;
  for (std::size_t c = 0; c < building_.crates.size(); ++c)
    if (last_of_[c].load() < last - length) silent.push_back(building_.crates.crates[c].number);
  if (2 * silent.size() > building_.crates.size()) silent.clear();
  return silent;
}

std::vector<std::uint32_t> unattended_ports::senders(std::chrono::nanoseconds length) const {
  std::vector<std::uint32_t> sending;
  const time_point since = steady_clock::now() - length;
  for (std::size_t c = 0; c < building_.crates.size(); ++c)
    if (last_of_[c].load() > since) sending.push_back(building_.crates.crates[c].number);
  return sending;
}

void unattended_ports::read(const std::stop_token& stop) {
  std::vector<pollfd> asked;
  for (const udp_socket& p : ports_) asked.push_back({p.descriptor(), POLLIN, 0});
  while (!stop.stop_requested()) {
    const time_point now = steady_clock::now();
    const int found = ::poll(asked.data(), asked.size(), patience_milliseconds);
    if (found == 0) empty_at_ = now;
    if (found <= 0) continue;
    for (std::size_t p = 0; p < ports_.size(); ++p)
      if ((asked[p].revents & POLLIN) != 0) take_some(ports_[p]);
  }
  for (const udp_socket& p : ports_) datagrams_.add(p.take_dropped());
}

void unattended_ports::take_some(const udp_socket& port) {
  const time_point now = steady_clock::now();
  std::array<std::byte, longest_read> memory;
  for (int n = 0; n < burst; ++n) {
    datagram_source from{};
    read_control control;
    iovec part{memory.data(), memory.size()};
    msghdr read{&from, sizeof from, &part, 1, &control, sizeof control, 0};
    const auto bytes = ::recvmsg(port.descriptor(), &read, MSG_DONTWAIT);
    if (bytes < 0) break;
    auto rest = std::span<const std::byte>(memory).first(static_cast<std::size_t>(bytes));
    const std::size_t length = length_of_each(read, rest.size());
    do {
      const auto datagram = rest.first(std::min(length, rest.size()));
      if (may_send(allow_, from) && datagram.size() >= l2::datagram_header_bytes)
        note(l2::read_datagram_header(datagram.data()), datagram.size() - l2::datagram_header_bytes,
             now);
      datagrams_.add();
      rest = rest.subspan(datagram.size());
    } while (!rest.empty());
  }
  datagrams_.add(port.take_dropped());
}

void unattended_ports::note(const l2::datagram_header& h, std::size_t payload, time_point now) {
  l2::fragment_place place;
  if (refusal_of(h, payload, building_, place)) return;
  last_of_[place.crate] = now;
  if (last_.load() == began_ || now - last_.load() >= least_pause()) busy_since_ = now;
  last_ = now;
  if (payload == 0) note_spill(l2::trailer::unpack(h.discriminator));
}

void unattended_ports::note_spill(const l2::trailer& t) {
  if (spill_ != t.spill) {
    ends_are_marked_ = spill_ended_ || !spill_;
    spill_ended_ = false;
    spill_ = t.spill;
  }
  spill_ended_ = spill_ended_ || t.count != 0;
  between_ = spill_ended_ || !ends_are_marked_;
}

} // namespace l3
