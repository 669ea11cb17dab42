// SPDX-License-Identifier: Apache-2.0
#include "transport/link/connection_watch.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <limits>
#include <span>
#include <system_error>
#include <tuple>
#include <utility>

#include <fcntl.h>
#include <malloc.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "transport/format/endian.hpp"
#include "transport/link/link_door.hpp"
#include "transport/link/link_places.hpp"
#include "transport/system/thread_name.hpp"

namespace l3 {
namespace {

using namespace std::chrono_literals;

/// Between two looks: ZeroMQ takes some megabytes in this time.
constexpr auto pause_between_looks = 3ms;
/// Or as many times longer than a look takes, so that the watch takes little of a processor, but
/// not so long that much comes meanwhile.
constexpr int pause_per_look = 10;
constexpr auto longest_pause = 10ms;
/// While ZeroMQ reads from a connection what came before.
constexpr auto pause_for_unread = 20ms;
/// epoll tells nothing of bytes that ZeroMQ takes before the watch wakes: all connections are
/// looked at after so long.
constexpr auto pause_between_looks_at_all = 1s;
/// ZeroMQ may have so much of a connection in its hands that it has not yet looked at.
constexpr std::uint64_t in_its_hands = 8192;
/// What ZeroMQ needs at most for a byte on the wire: an empty frame has two, and takes 64.
constexpr std::uint64_t most_memory_per_byte = 32;
/// Memory of a message comes back after its connection was shut down, but not at once.
constexpr std::uint64_t until_it_comes_back = std::uint64_t{8} << 20;
/// Beyond, ZeroMQ waits with the next connection until these have been counted.
constexpr int most_events_waiting = 10'000;
constexpr int most_active_at_a_look = 256;
/// From the end of the socket until ZeroMQ tells no more; longer than any linger.
constexpr auto longest_end = 1s;
/// What was taken before a look settles with a message that comes two looks later: heartbeats of a
/// moment in which the watch, the owner of the socket or the peer got no processor are no message,
/// nor are those before a pause of the whole process. It does not wait where more comes than they
/// could be; ZeroMQ takes as much between two looks.
constexpr auto until_settled = 1s;
constexpr int looks_until_settled = 4;
constexpr std::uint64_t more_than_heartbeats = std::uint64_t{256} << 10;
/// ZeroMQ lets go of it a while after the connection has ended: on a busy machine it takes long to
/// free millions of frames. The pause doubles.
constexpr auto first_pause_for_memory = 1s;
constexpr auto longest_pause_for_memory = 64s;

constexpr std::uint64_t short_frame_header = 2, long_frame_header = 9, longest_short_frame = 255;
constexpr std::uint64_t sealed_frame_head = 33; // https://rfc.zeromq.org/spec/26, MESSAGE

std::uint64_t resident_memory() {
  const file_descriptor file(::open("/proc/self/statm", O_RDONLY | O_CLOEXEC));
  std::array<char, 128> text{};
  std::uint64_t pages = 0;
  const auto got = ::read(file.get(), text.data(), text.size() - 1);
  const char* const second = got > 0 ? std::strchr(text.data(), ' ') : nullptr;
  if (second != nullptr) (void)std::from_chars(second + 1, text.data() + got, pages);
  return pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

/// Of what is resident, the program may have freed a part. Takes milliseconds if that is in many
/// pieces.
std::uint64_t memory_in_use() {
  const struct mallinfo2 all = ::mallinfo2();
  return all.uordblks + all.hblkhd;
}

} // namespace

connection_watch::connection_watch(zmq::context_t& context, zmq::socket_t& socket, const char* name,
                                   int events, watch_limits limits, watch_counters& counters,
                                   event_function on_event, report_function report)
    : limits_(limits), counters_(counters), on_event_(std::move(on_event)),
      report_(std::move(report)), monitor_(context, zmq::socket_type::pair),
      active_(::epoll_create1(EPOLL_CLOEXEC)), tolerated_(limits.memory.bytes) {
  if (!active_) throw std::system_error(errno, std::generic_category(), "epoll");
  events |= ZMQ_EVENT_ACCEPTED | ZMQ_EVENT_ACCEPT_FAILED | ZMQ_EVENT_CONNECTED |
            ZMQ_EVENT_DISCONNECTED | ZMQ_EVENT_MONITOR_STOPPED;
  if (zmq_socket_monitor(socket.handle(), name, events) != 0) throw zmq::error_t();
  monitor_.set(zmq::sockopt::linger, 0);
  monitor_.set(zmq::sockopt::rcvhwm, most_events_waiting);
  monitor_.connect(name);
  thread_ = std::thread([this] { run(); });
}

connection_watch::~connection_watch() {
  stopping_ = true;
  stop_.wake();
  thread_.join();
}

int connection_watch::connection_of(const zmq::message_t& message) {
  return zmq_msg_get(message.handle(), ZMQ_SRCFD);
}

std::uint64_t connection_watch::bytes_on_the_wire(std::uint64_t content, bool with_keys) {
  const std::uint64_t whole = content + (with_keys ? sealed_frame_head : 0);
  return whole + (whole > longest_short_frame ? long_frame_header : short_frame_header);
}

/// Once the socket was emptied after a look, all messages are out whose ends ZeroMQ had seen at it.
/// Emptied twice, because the first time may have begun before the look.
void connection_watch::connection::settle(std::uint64_t emptied) {
  if (emptied < emptied_then + 2) return;
  settled = taken_then - std::min(taken_then, in_its_hands);
  taken_then = taken;
  emptied_then = emptied;
}

/// All before the end of this message is not held any more. Where it ended follows from the message
/// before it, or, as ZeroMQ's own heartbeats come between them, from an earlier look.
void connection_watch::took(int number, std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  const auto found = connections_.find(number);
  if (found == connections_.end()) return;
  connection& c = found->second;
  c.done_with = std::max(c.done_with + bytes, c.settled);
  c.since = steady_clock::now();
}

void connection_watch::trust(int number, const std::string& peer) {
  const std::lock_guard lock(mutex_);
  const auto found = connections_.find(number);
  if (found == connections_.end()) {
    if (number >= 0 && trusted_early_.size() < limits_.connections) trusted_early_[number] = peer;
    return;
  }
  if (found->second.shut || found->second.trusted()) return;
  leave(found->second);
  join(found->second, true, peer);
  keep_to_share(found->second);
}

void connection_watch::join(connection& c, bool trusted, const std::string& peer) {
  c.crowd = crowds_.try_emplace({trusted, peer}, 0).first;
  ++c.crowd->second;
}

/// Once, when it ends or is shut down.
void connection_watch::leave(connection& c) {
  if (--c.crowd->second == 0) crowds_.erase(c.crowd);
}

void connection_watch::keep_to_share(const connection& newest) {
  if (newest.crowd->second <= limits_.of_a_peer) return;
  connection* oldest = nullptr;
  for (auto& [number, c] : connections_)
    if (!c.shut && &c != &newest && c.crowd == newest.crowd &&
        (oldest == nullptr || c.since < oldest->since))
      oldest = &c;
  if (oldest == nullptr) return;
  shut_down(*oldest, counters_.crowded,
            "it made way, because one peer (" + newest.crowd->first.second + ") has at most " +
                std::to_string(limits_.of_a_peer) + " connections");
}

void connection_watch::run() {
  name_this_thread("link-watch");
  std::array<zmq_pollitem_t, 3> items{{{monitor_.handle(), 0, ZMQ_POLLIN, 0},
                                       {nullptr, active_.get(), ZMQ_POLLIN, 0},
                                       {nullptr, stop_.descriptor(), ZMQ_POLLIN, 0}}};
  const auto wait = [&](std::span<zmq_pollitem_t> for_these, steady_clock::duration limit) {
    const auto ms = std::chrono::ceil<std::chrono::milliseconds>(limit).count();
    (void)zmq_poll(for_these.data(), static_cast<int>(for_these.size()), ms);
  };
  while (!stopping_) {
    steady_clock::duration limit = pause_for_unread;
    if (unread_.empty()) {
      const auto at = std::min(give_back_at_.load(), look_at_all_at_);
      limit = std::max<steady_clock::duration>(at - steady_clock::now(), 0ms);
    }
    wait(items, limit);
    const time_point now = steady_clock::now();
    take_events();
    give_memory_back(now);
    if (!look(now)) continue;
    wait(std::span(items).last(1),
         std::clamp<steady_clock::duration>((steady_clock::now() - now) * pause_per_look,
                                            pause_between_looks, longest_pause));
  }
  const time_point until = steady_clock::now() + longest_end;
  for (take_events(); !all_told_ && steady_clock::now() < until; take_events())
    wait(std::span(items).first(1), until - steady_clock::now());
}

/// The system gets back what a connection made the program hold.
void connection_watch::give_memory_back(time_point now) {
  {
    const std::lock_guard lock(mutex_);
    if (now < give_back_at_.load()) return;
    give_back_pause_ *= 2;
    give_back_at_ = give_back_pause_ > longest_pause_for_memory ? never : now + give_back_pause_;
  }
  ::malloc_trim(0);
}

void connection_watch::take_events() {
  zmq::message_t event;
  zmq::message_t address;
  while (monitor_.recv(event, zmq::recv_flags::dontwait)) {
    if (event.more()) (void)monitor_.recv(address);
    if (event.size() < sizeof(std::uint16_t) + sizeof(std::int32_t)) continue;
    const auto what = load<std::uint16_t>(event.data<std::byte>());
    const auto value = load<std::int32_t>(event.data<std::byte>() + sizeof what);
    if (what == ZMQ_EVENT_ACCEPTED || what == ZMQ_EVENT_CONNECTED) begin(value);
    if (what == ZMQ_EVENT_DISCONNECTED) end(value);
    if (what == ZMQ_EVENT_ACCEPT_FAILED && value == no_place_left) turn_away();
    if (what == ZMQ_EVENT_MONITOR_STOPPED) all_told_ = true;
    on_event_(what, value);
  }
}

void connection_watch::begin(int number) {
  // A limit that was lowered since holds for these, too.
  const int first = std::min(limits_.first_descriptor,
                             link_places::of(link_places::descriptors()).first_of_watch);
  errno = 0;
  auto meter = tcp_meter::of(number, first);
  if (!meter) { // it has ended since, of which ZeroMQ will tell, or nothing could bound it
    if (errno == EMFILE || errno == EINVAL) (void)::shutdown(number, SHUT_RDWR);
    return;
  }
  const std::lock_guard lock(mutex_);
  end_locked(number);
  if (connections_.size() >= limits_.connections) make_way();
  epoll_event event{EPOLLIN | EPOLLET, {.fd = number}};
  if (::epoll_ctl(active_.get(), EPOLL_CTL_ADD, meter->descriptor(), &event) != 0)
    return meter->shut_down();
  const auto early = trusted_early_.extract(number);
  const std::string peer = early ? early.mapped() : meter->machine();
  auto& c =
      connections_.emplace(number, connection{std::move(*meter), crowds_.end()}).first->second;
  c.since = steady_clock::now();
  join(c, !early.empty(), peer);
  if (c.trusted()) keep_to_share(c);
}

void connection_watch::end(int number) {
  const std::lock_guard lock(mutex_);
  end_locked(number);
}

void connection_watch::end_locked(int number) {
  const auto found = connections_.find(number);
  if (found == connections_.end()) return;
  // ZeroMQ may not have closed its own descriptor yet, and epoll goes by both.
  (void)::epoll_ctl(active_.get(), EPOLL_CTL_DEL, found->second.meter.descriptor(), nullptr);
  if (!found->second.shut) {
    leave(found->second);
  } else {
    give_back_pause_ = first_pause_for_memory;
    give_back_at_ = std::min(give_back_at_.load(), steady_clock::now() + give_back_pause_);
  }
  connections_.erase(found);
}

/// The oldest of those that are not trusted, of the machine that has most of them: so that a daemon
/// finds a place among strangers.
void connection_watch::make_way() {
  const auto order = [](const table::value_type& e) {
    const connection& c = e.second;
    if (c.shut) return std::tuple(true, false, std::size_t{0}, c.since);
    const std::size_t fewer = std::numeric_limits<std::size_t>::max() - c.crowd->second;
    return std::tuple(false, c.trusted(), fewer, c.since);
  };
  shut_down(std::ranges::min_element(connections_, {}, order)->second, counters_.crowded,
            "it made way for another, because there are too many");
}

/// The door has ended a connection for which there was no place: the next one finds one. As long as
/// another that made way has not gone, nothing more has to.
void connection_watch::turn_away() {
  const std::lock_guard lock(mutex_);
  counters_.crowded.add();
  connection* oldest = nullptr;
  for (auto& [number, c] : connections_) {
    if (c.shut) return;
    if (!c.trusted() && (oldest == nullptr || c.since < oldest->since)) oldest = &c;
  }
  if (oldest != nullptr)
    shut_down(*oldest, counters_.crowded, "it made way for others, because there are too many");
}

bool connection_watch::look(time_point now) {
  std::array<epoll_event, most_active_at_a_look> events;
  const int active = ::epoll_wait(active_.get(), events.data(), most_active_at_a_look, 0);
  const bool at_all = now >= look_at_all_at_;
  if (active <= 0 && unread_.empty() && !at_all) return false;
  const std::lock_guard lock(mutex_);
  std::vector<int> numbers = std::exchange(unread_, {});
  for (int i = 0; i < active; ++i) numbers.push_back(events[static_cast<std::size_t>(i)].data.fd);
  if (at_all) {
    look_at_all_at_ = now + pause_between_looks_at_all;
    numbers.clear();
    for (const auto& [number, c] : connections_) numbers.push_back(number);
  }
  for (const int number : numbers) {
    const auto found = connections_.find(number);
    if (found != connections_.end() && look_at(found->second, now)) unread_.push_back(number);
  }
  if (limits_.memory.bytes > 0) check_memory(now);
  return true;
}

bool connection_watch::look_at(connection& c, time_point now) {
  const auto read = c.meter.read();
  c.taken = std::max(c.taken, read.taken);
  c.done_with = std::min(c.done_with, c.taken);
  c.settle(emptied_);
  const std::uint64_t limit = (!c.shut && c.trusted() ? limits_.trusted : limits_.stranger).bytes;
  c.beyond_since = c.held() > limit ? std::min(c.beyond_since, now) : never;
  c.looks_beyond = c.beyond_since != never ? c.looks_beyond + 1 : 0;
  const bool stays = c.looks_beyond >= looks_until_settled && now - c.beyond_since >= until_settled;
  if (stays || c.held() > limit + more_than_heartbeats)
    shut_down(c, counters_.oversized, "more than a whole message has come");
  return (read.more || c.beyond_since != never) && !c.shut;
}

/// Where the bytes alone are no bound, because they are very many small frames, the memory is one.
/// The watch cannot see which connection has it: an unfinished message that has been large for long
/// is more likely to be without an end than one that has just begun.
void connection_watch::check_memory(time_point now) {
  std::uint64_t held = 0;
  for (const auto& [number, c] : connections_) held += c.held();
  if (held * most_memory_per_byte < limits_.memory.bytes / 2) return;
  if (resident_memory() <= limits_.memory.bytes) {
    tolerated_ = limits_.memory.bytes;
    return;
  }
  const std::uint64_t in_use = memory_in_use();
  if (in_use <= limits_.memory.bytes) {
    tolerated_ = limits_.memory.bytes;
    ::malloc_trim(0);
    return;
  }
  if (in_use <= tolerated_) return;
  tolerated_ = in_use + until_it_comes_back;
  const auto weight = [&](const connection& c) {
    const std::chrono::duration<double> age = now - c.since + 1ms;
    return c.shut ? 0 : static_cast<double>(c.held()) * age.count();
  };
  double all = 0;
  std::size_t count = 0;
  for (const auto& [number, c] : connections_) {
    all += weight(c);
    count += weight(c) > 0 ? 1 : 0;
  }
  if (count == 0) return;
  for (auto& [number, c] : connections_) {
    if (const double its = weight(c); its > 0 && its >= all / static_cast<double>(count))
      shut_down(c, counters_.oversized, "messages that have not come whole take too much memory");
  }
}

void connection_watch::shut_down(connection& c, counter& why, const std::string& text) {
  if (std::exchange(c.shut, true)) return;
  leave(c);
  c.meter.shut_down();
  why.add();
  report_("shut down the connection with " + c.meter.peer() + " (" + std::to_string(c.held()) +
          " bytes are in no whole message): " + text);
}

} // namespace l3
