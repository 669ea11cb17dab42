// SPDX-License-Identifier: Apache-2.0
#include "transport/input/udp_thread.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
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

/// How many datagrams the largest buffer holds. It is twice as large as asked for, and the kernel
/// charges at least 768 bytes for each.
std::uint64_t most_datagrams(const std::vector<udp_socket>& sockets) {
  std::uint64_t bytes = 0;
  for (const udp_socket& s : sockets) bytes = std::max(bytes, s.buffer().bytes);
  return 2 * bytes / 768;
}

} // namespace

byte_size smallest_buffer(const std::vector<udp_socket>& sockets) {
  const auto bytes = [](const udp_socket& s) { return s.buffer().bytes; };
  return std::ranges::min_element(sockets, {}, bytes)->buffer();
}

nanoseconds nap_after_sweep(byte_size smallest_buffer, bool left_behind) {
  constexpr std::uint64_t link_bytes_per_microsecond = 1250;
  constexpr std::uint64_t longest = 500; // microseconds, which it adds to the latency of an event
  constexpr std::uint64_t shortest = 40; // shorter naps cost more than they save
  const auto nap = std::min(smallest_buffer.bytes / 2 / link_bytes_per_microsecond, longest);
  return std::chrono::microseconds(left_behind || nap < shortest ? 0 : nap);
}

udp_thread::udp_thread(std::vector<udp_socket> sockets, source_list allow, event_builder& builder)
    : builder_(builder), epoll_(::epoll_create1(EPOLL_CLOEXEC)),
      smallest_buffer_(smallest_buffer(sockets)), most_full_reads_(most_datagrams(sockets) + burst),
      ring_(builder, ring_entries, input_),
      full_bytes_(l2::datagram_header_bytes + builder.settings().chunk_bytes),
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
  landed_.reserve(ring_entries);
  for (std::size_t m = 0; m < burst; ++m) {
    reads_[m].msg_hdr.msg_iov = parts_[m].data();
    reads_[m].msg_hdr.msg_control = &controls_[m];
    if (!allow_.takes_everybody()) reads_[m].msg_hdr.msg_name = &sources_[m];
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
  int rounds = 0;
  for (bool more = true; more && rounds < rounds_per_sweep; ++rounds) {
    if (rounds > 0) look(nanoseconds(0));
    more = false;
    fewest_reads_ = burst;
    for (const auto p : ready_) more = receive(ports_[p]) || more;
    received_at_ = steady_clock::now();
    builder_.end_round(ring_, received_at_, has_emptied(more));
  }
  builder_.leave(ring_, received_at_);
  tick_at_ = std::min(tick_at_, received_at_ + tick_period);
  return nap_after_sweep(smallest_buffer_, rounds > 1);
}

/// Reads a burst from the port, limited by the free entries of the ring. Returns true if more may
/// be there.
bool udp_thread::receive(const udp_socket& p) {
  if (ring_.is_half_full()) builder_.take(ring_, steady_clock::now());
  const std::size_t most = prepare_reads();
  const int n =
      ::recvmmsg(p.descriptor(), reads_.data(), static_cast<unsigned>(most), MSG_DONTWAIT, nullptr);
  if (n <= 0) return false;

  landed_.clear();
  to_copy_.clear();
  gathered_ = false;
  std::uint64_t bytes = 0;
  std::uint64_t datagrams = 0;
  for (std::size_t m = 0; m < static_cast<std::size_t>(n); ++m) {
    bytes += reads_[m].msg_len;
    datagrams += take_read(m);
  }
  const bool full = static_cast<std::size_t>(n) == most;
  if (full) fewest_reads_ = std::min(fewest_reads_, most);
  input_.datagrams.add(datagrams);
  input_.bytes.add(bytes);
  builder_.land(ring_, landed_);
  for (const auto& [d, payload] : to_copy_) { // the other slots are free now
    if (ring_.free() == 0) builder_.take(ring_, steady_clock::now());
    std::memcpy(ring_.free_entry(0).slot.memory, payload, d.bytes);
    builder_.land(ring_, {&d, 1});
  }
  return full;
}

/// Prepares as many reads as the ring has free entries for, and returns their number.
std::size_t udp_thread::prepare_reads() {
  // The kernel takes longer to read into a long vector.
  in_place_ = gathered_ ? std::min({most_in_place, longest_read / full_bytes_, ring_.free()}) : 1;
  const std::size_t in_slots = in_place_ * full_bytes_;
  const std::size_t reads = std::min(burst, ring_.free() / in_place_);
  for (std::size_t m = 0; m < reads; ++m) {
    auto part = parts_[m].begin();
    for (std::size_t e = m * in_place_; e < (m + 1) * in_place_; ++e) {
      *part++ = {headers_[e].data(), headers_[e].size()};
      *part++ = {ring_.free_entry(e).slot.memory, full_bytes_ - headers_[e].size()};
    }
    *part = {beside_slots_.data() + m * longest_read + in_slots, longest_read - in_slots};
    msghdr& read = reads_[m].msg_hdr;
    read.msg_iovlen = 2 * in_place_ + 1;
    read.msg_controllen = sizeof controls_[m];
    read.msg_namelen = sizeof sources_[m]; // ignored without a name
  }
  return reads;
}

/// Finds the datagrams of a read, refuses bad ones, and returns the number of all datagrams.
std::size_t udp_thread::take_read(std::size_t m) {
  const std::size_t bytes = reads_[m].msg_len;
  const std::size_t length = length_of_each(reads_[m].msg_hdr, bytes);
  gathered_ = gathered_ || length != bytes;
  std::size_t in_slots = in_place_ * full_bytes_;
  std::byte* const beside_slots = beside_slots_.data() + m * longest_read;
  if (length != full_bytes_ && length != bytes) { // later ones do not begin at their slots
    std::byte* to = beside_slots;
    const std::byte* const end = to + std::min(bytes, std::exchange(in_slots, 0));
    for (const iovec& part : parts_[m])
      to = std::copy_n(static_cast<const std::byte*>(part.iov_base),
                       std::min(part.iov_len, static_cast<std::size_t>(end - to)), to);
  }
  const bool may_send = l3::may_send(allow_, sources_[m]);
  std::size_t n = 0;
  for (std::size_t at = 0; n == 0 || at < bytes; at += length, ++n) {
    const std::size_t one = std::min(length, bytes - at);
    if (const auto why = refusal_of(may_send, one)) {
      input_.refused.add(*why);
      continue;
    }
    const std::size_t entry = m * in_place_ + n;
    const std::byte* header = at < in_slots ? headers_[entry].data() : beside_slots + at;
    const datagram d{l2::read_datagram_header(header),
                     static_cast<std::uint32_t>(one - l2::datagram_header_bytes)};
    if (at < in_slots) {
      ring_.exchange(landed_.size(), entry);
      landed_.push_back(d);
    } else {
      to_copy_.emplace_back(d, header + l2::datagram_header_bytes);
    }
  }
  return n;
}

/// Whether everything that the ports held when the round began has been read. It also holds after
/// as many rounds as a full buffer needs.
bool udp_thread::has_emptied(bool more) {
  if (more && (full_reads_ += fewest_reads_) < most_full_reads_) return false;
  full_reads_ = 0;
  return true;
}

/// Why a datagram of so many bytes is refused; notes the longest payload.
std::optional<refused> udp_thread::refusal_of(bool may_send, std::size_t bytes) {
  if (!may_send) return refused::source;
  if (bytes < l2::datagram_header_bytes) return refused::too_short;
  const std::uint64_t payload = bytes - l2::datagram_header_bytes;
  if (payload > input_.longest) input_.longest.add(payload - input_.longest);
  if (bytes > full_bytes_) return refused::too_long;
  return std::nullopt;
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
