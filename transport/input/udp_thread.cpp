// SPDX-License-Identifier: Apache-2.0
#include "transport/input/udp_thread.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <limits>
#include <span>
#include <system_error>
#include <utility>

#include <sys/ioctl.h>

#include "transport/input/settings.hpp"
#include "transport/system/threads.hpp"

namespace l3 {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr auto drop_count_period = milliseconds(100);
constexpr auto quiet_drop_count_period = std::chrono::seconds(1);
/// After this silence no chunk waits for its siblings any more.
constexpr auto silence = spill_resolver::patience + milliseconds(20);

/// Rounds over the ports with data before time limits are checked.
constexpr int rounds_per_sweep = 16;
/// Sweeps when the thread ends: it empties the sockets, but a continuing sender cannot block it.
constexpr int sweeps_at_end = 16;

constexpr std::uint32_t stop_number = std::numeric_limits<std::uint32_t>::max();

/// There must be at least one socket.
byte_size smallest_buffer(const std::vector<udp_socket>& sockets) {
  const auto bytes = [](const udp_socket& s) { return s.buffer().bytes; };
  return std::ranges::min_element(sockets, {}, bytes)->buffer();
}

/// How many datagrams the largest buffer holds. It is twice as large as asked for, and the kernel
/// charges at least 768 bytes for each.
std::uint64_t most_datagrams(const std::vector<udp_socket>& sockets) {
  std::uint64_t bytes = 0;
  for (const udp_socket& s : sockets) bytes = std::max(bytes, s.buffer().bytes);
  return 2 * bytes / 768;
}

} // namespace

udp_thread::udp_thread(std::vector<udp_socket> sockets, source_list allow, event_builder& builder)
    : builder_(builder), epoll_(::epoll_create1(EPOLL_CLOEXEC)), nap_(smallest_buffer(sockets)),
      most_full_rounds_(most_datagrams(sockets) / burst + 1), ring_(builder, ring_entries, input_),
      allow_(std::move(allow)) {
  if (!epoll_) throw std::system_error(errno, std::generic_category(), "epoll");
  ports_.reserve(sockets.size());
  for (auto& s : sockets) {
    watch(s.descriptor(), static_cast<std::uint32_t>(ports_.size()));
    ports_.push_back(std::move(s));
  }
  watch(stop_.descriptor(), stop_number);
  ready_.reserve(ports_.size());
  events_.resize(ports_.size() + 1);
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
  request_stop(sockets_hold::what_to_take);
  join();
}

void udp_thread::request_stop(sockets_hold what) {
  left_ = what;
  stop_.wake();
}

void udp_thread::join() {
  if (thread_.joinable()) thread_.join();
}

void udp_thread::watch(int descriptor, std::uint32_t number) const {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u32 = number;
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, descriptor, &event) != 0)
    throw std::system_error(errno, std::generic_category(), "epoll");
}

void udp_thread::run() {
  name_this_thread("udp");
  bool napped = false;
  time_point now = steady_clock::now();
  while (true) {
    const time_point looked_at = now; // later data of a port may be missing in ready_
    look(napped ? nanoseconds(0) : tick_at_ - now);
    if (stopping_) break;
    nanoseconds nap{};
    if (!ready_.empty()) {
      nap = sweep(looked_at);
    } else if (all_empty_) {
      if (!napped) ring_.begin_round(looked_at);
      ring_.end_round(looked_at, true);
      if (napped) builder_.build(looked_at); // otherwise the tick does it
    }
    now = steady_clock::now();
    if (now >= tick_at_) tick(now);
    napped = nap > nanoseconds(0);
    if (!napped) continue;
    std::this_thread::sleep_for(nap);
    now = steady_clock::now();
  }
  if (left_ == sockets_hold::what_to_take) read_what_is_left();
  count_drops();
}

void udp_thread::read_what_is_left() {
  for (int n = 0; n < sweeps_at_end; ++n) {
    look(nanoseconds(0));
    if (ready_.empty()) return;
    (void)sweep(steady_clock::now());
  }
}

/// Finds the ports with data; waits at most `limit` for the first one.
void udp_thread::look(nanoseconds limit) {
  const auto wait = std::chrono::ceil<milliseconds>(std::max(limit, nanoseconds(0)));
  const int found = ::epoll_wait(epoll_.get(), events_.data(), static_cast<int>(events_.size()),
                                 static_cast<int>(wait.count()));
  ready_.clear();
  all_empty_ = found == 0; // and not interrupted
  for (const auto& e : std::span(events_).first(static_cast<std::size_t>(std::max(found, 0)))) {
    if (e.data.u32 == stop_number) {
      stopping_ = true;
    } else {
      ready_.push_back(e.data.u32);
    }
  }
}

/// Reads the ports in ready_ until none has more than a burst left. Returns how long to nap then.
nanoseconds udp_thread::sweep(time_point looked_at) {
  builder_.enter(ring_, looked_at);
  nap_.begin_sweep(looked_at);
  bool more = true;
  for (int round = 0; more && round < rounds_per_sweep; ++round) {
    if (round > 0) look(nanoseconds(0));
    more = false;
    for (const auto p : ready_) more = receive(ports_[p]) || more;
    received_at_ = steady_clock::now();
    builder_.end_round(ring_, received_at_, has_emptied(more));
  }
  builder_.leave(ring_, received_at_);
  tick_at_ = std::min(tick_at_, received_at_ + tick_period);
  return nap_.after_sweep();
}

/// Reads a burst of datagrams from the port, limited by the free entries of the ring. Returns true
/// if it was full.
bool udp_thread::receive(const udp_socket& p) {
  if (ring_.is_half_full()) builder_.take(ring_, steady_clock::now());
  const std::size_t most = std::min(burst, ring_.free());
  for (std::size_t m = 0; m < most; ++m) parts_[m][1].iov_base = ring_.free_entry(m).slot.memory;
  const int n = ::recvmmsg(p.descriptor(), messages_.data(), static_cast<unsigned>(most),
                           MSG_DONTWAIT | MSG_TRUNC, nullptr); // with their full lengths
  if (n <= 0) return false;

  landed_.clear();
  std::uint64_t bytes = 0;
  for (std::size_t m = 0; m < static_cast<std::size_t>(n); ++m) {
    auto& message = messages_[m];
    bytes += message.msg_len;
    datagram& d = landed_.emplace_back();
    const auto why = refusal_of(message);
    if (why) {
      input_.refused.add(*why);
      d.is_refused = true;
    } else {
      d.header = l2::read_datagram_header(headers_[m].data());
      d.bytes = message.msg_len - static_cast<std::uint32_t>(l2::datagram_header_bytes);
    }
    if (!why || why == refused::too_long) note_length(message.msg_len - l2::datagram_header_bytes);
    // The kernel has overwritten the length, which it ignores without a name.
    message.msg_hdr.msg_namelen = sizeof sources_[m];
  }
  nap_.took(landed_.size(), bytes, landed_.size() == most);
  input_.datagrams.add(landed_.size());
  input_.bytes.add(bytes);
  builder_.land(ring_, landed_);
  return landed_.size() == most;
}

/// Whether everything that the ports held when the round began has been read. It also holds after
/// as many rounds as a full buffer needs.
bool udp_thread::has_emptied(bool more) {
  if (more && ++full_rounds_ < most_full_rounds_) return false;
  full_rounds_ = 0;
  return true;
}

std::optional<refused> udp_thread::refusal_of(const mmsghdr& message) const {
  const bool may_send =
      allow_.takes_everybody() ||
      l3::may_send(allow_, *static_cast<const datagram_source*>(message.msg_hdr.msg_name));
  if (!may_send) return refused::source;
  if (message.msg_len < l2::datagram_header_bytes) return refused::too_short;
  if ((message.msg_hdr.msg_flags & MSG_TRUNC) != 0) return refused::too_long;
  return std::nullopt;
}

void udp_thread::note_length(std::uint64_t payload) {
  if (payload > input_.longest) input_.longest.add(payload - input_.longest);
}

void udp_thread::tick(time_point now) {
  builder_.tick(now);
  turns_.add();
  const bool quiet = is_quiet(now);
  if (now - drops_counted_at_ >= (quiet ? quiet_drop_count_period : drop_count_period)) {
    count_drops();
    drops_counted_at_ = now;
  }
  tick_at_ = now + (quiet ? quiet_tick_period : tick_period);
}

/// No open event has a timeout shorter than one second.
bool udp_thread::is_quiet(time_point now) const {
  return now - received_at_ >= silence && builder_.is_quiet();
}

bool udp_thread::has_waiting() const {
  return std::ranges::any_of(ports_, [](const udp_socket& p) {
    int bytes = 0;
    return ::ioctl(p.descriptor(), FIONREAD, &bytes) == 0 && bytes > 0;
  });
}

void udp_thread::count_drops() {
  for (const udp_socket& p : ports_) input_.kernel_drops.add(p.take_dropped());
}

} // namespace l3
