// SPDX-License-Identifier: Apache-2.0
#include "transport/input/udp_thread.hpp"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <chrono>
#include <utility>

#include "transport/system/thread_name.hpp"

namespace l3 {
namespace {

namespace asio = boost::asio;

constexpr auto tick_period = std::chrono::milliseconds(2);
constexpr unsigned ticks_per_drop_count = 50;

/// Rounds over all ports before timers get their turn.
constexpr int rounds_per_sweep = 16;
/// Rounds when the thread ends: it empties the sockets, but a sender that goes on cannot hold it
/// up.
constexpr int rounds_at_end = 256;

} // namespace

udp_thread::udp_thread(std::vector<udp_socket> sockets, source_list allow, event_builder& builder)
    : builder_(builder), tick_(context_), strip_(burst, builder.settings().chunk_bytes),
      allow_(std::move(allow)) {
  ports_.reserve(sockets.size());
  for (auto& s : sockets) ports_.emplace_back(context_, s.release());
  landed_.reserve(burst);
  for (std::size_t m = 0; m < burst; ++m) {
    parts_[m][0] = {headers_[m].data(), headers_[m].size()};
    parts_[m][1] = {nullptr, builder.settings().chunk_bytes};
    messages_[m].msg_hdr.msg_iov = parts_[m].data();
    messages_[m].msg_hdr.msg_iovlen = parts_[m].size();
    if (allow_.takes_everybody()) continue;
    messages_[m].msg_hdr.msg_name = &sources_[m];
    messages_[m].msg_hdr.msg_namelen = sizeof sources_[m];
  }
  thread_ = std::thread([this] { run(); });
}

udp_thread::~udp_thread() {
  request_stop();
  join();
}

void udp_thread::request_stop() { context_.stop(); }

void udp_thread::join() {
  if (thread_.joinable()) thread_.join();
}

void udp_thread::run() {
  name_this_thread("udp");
  wait();
  wait_for_tick();
  context_.run(); // until request_stop()
  builder_.enter(strip_, steady_clock::now());
  place_exchanged();
  for (int round = 0; round < rounds_at_end; ++round) {
    std::size_t received = 0;
    for (auto& p : ports_) received += receive(p);
    if (received == 0) break;
  }
  builder_.leave(strip_);
  count_drops();
}

void udp_thread::wait() {
  for (auto& p : ports_) {
    if (p.waiting) continue;
    p.waiting = true;
    p.socket.async_wait(asio::posix::stream_descriptor::wait_read,
                        [this, &p](const boost::system::error_code&) {
                          p.waiting = false;
                          if (sweep_is_due_) return;
                          sweep_is_due_ = true;
                          asio::post(context_, [this] { sweep(); });
                        });
  }
}

void udp_thread::wait_for_tick() {
  tick_.expires_after(tick_period);
  tick_.async_wait([this](const boost::system::error_code&) {
    builder_.tick(steady_clock::now());
    turns_.add();
    if (++ticks_ % ticks_per_drop_count == 0) count_drops();
    wait_for_tick();
  });
}

void udp_thread::sweep() {
  sweep_is_due_ = false;
  builder_.enter(strip_, steady_clock::now());
  place_exchanged();
  std::size_t received = 1;
  for (int round = 0; round < rounds_per_sweep && received != 0; ++round) {
    received = 0;
    for (auto& p : ports_) received += receive(p);
    builder_.end_round(strip_, steady_clock::now());
  }
  builder_.leave(strip_);
  wait(); // a port that still has data is ready at once
}

/// Takes at most a burst of datagrams from the port; returns how many.
std::size_t udp_thread::receive(port& p) {
  const int n = ::recvmmsg(p.socket.native_handle(), messages_.data(),
                           static_cast<unsigned>(strip_.slots().size()), MSG_DONTWAIT, nullptr);
  if (n <= 0) return 0;

  landed_.clear();
  std::uint64_t bytes = 0;
  for (std::uint32_t m = 0; m < static_cast<std::uint32_t>(n); ++m) {
    auto& message = messages_[m];
    bytes += message.msg_len;
    if (!may_send(message)) {
      input_.refused.add(refused::source);
    } else if (message.msg_len < l2::datagram_header_bytes) {
      input_.refused.add(refused::too_short);
    } else if ((message.msg_hdr.msg_flags & MSG_TRUNC) != 0) {
      input_.refused.add(refused::too_long);
    } else {
      landed_.push_back({l2::read_datagram_header(headers_[m].data()), m,
                         static_cast<std::uint32_t>(message.msg_len - l2::datagram_header_bytes)});
    }
    // The kernel has overwritten the length; it ignores it without a name.
    message.msg_hdr.msg_namelen = sizeof sources_[m];
  }
  input_.datagrams.add(static_cast<std::uint64_t>(n));
  input_.bytes.add(bytes);
  builder_.take(strip_, landed_, input_, steady_clock::now());
  place_exchanged();
  return static_cast<std::size_t>(n);
}

/// Tells the kernel of slots that the strip has replaced.
void udp_thread::place_exchanged() {
  for (const auto slot : strip_.exchanged()) parts_[slot][1].iov_base = strip_.slots()[slot].memory;
}

bool udp_thread::may_send(const mmsghdr& message) const {
  if (allow_.takes_everybody()) return true;
  const auto& from = *static_cast<const sockaddr_in*>(message.msg_hdr.msg_name);
  return from.sin_family == AF_INET && allow_.takes(ntohl(from.sin_addr.s_addr));
}

void udp_thread::count_drops() {
  for (auto& p : ports_) {
    const auto dropped = dropped_datagrams(p.socket.native_handle());
    input_.kernel_drops.add(dropped - p.dropped); // wraps as the kernel's counter does
    p.dropped = dropped;
  }
}

} // namespace l3
