// SPDX-License-Identifier: Apache-2.0
// Bounds what the peers of a ZeroMQ socket make it hold. ZeroMQ gathers the frames of a message
// until the last has come, and has no bound for their number: a message without an end takes all
// memory. The watch compares what each TCP connection has brought (tcp_meter) with what has come
// out of it as whole messages, and shuts down a connection of which too much has not. It has a
// thread of its own, so that it also does so while the owner of the socket waits for a disk.
// docs/decisions/0020-a-watch-beside-zeromq.md says why it is done so.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <zmq.hpp>

#include "transport/format/time.hpp"
#include "transport/link/tcp_meter.hpp"
#include "transport/link/watch_limits.hpp"
#include "transport/system/wake_event.hpp"

namespace l3 {

class connection_watch {
public:
  /// What ZeroMQ's monitor tells, in the watch's thread; `what` is among the events asked for.
  using event_function = std::function<void(std::uint16_t what, std::int32_t value)>;
  /// A sentence for a person about a connection that was shut down, in the watch's thread.
  using report_function = std::function<void(const std::string&)>;

  /// Sets the monitor of `socket`, which is not yet bound or connected; `name` is unique in the
  /// context. To be destroyed after the socket: then all that ZeroMQ had to tell of it has been
  /// told. Throws zmq::error_t or std::system_error.
  connection_watch(zmq::context_t& context, zmq::socket_t& socket, const char* name, int events,
                   watch_limits limits, watch_counters& counters, event_function on_event,
                   report_function report);
  ~connection_watch();
  connection_watch(const connection_watch&) = delete;
  connection_watch& operator=(const connection_watch&) = delete;

  // For the thread that owns the socket.

  /// A whole message of so many bytes on the wire was taken from this connection.
  void took(int connection, std::uint64_t bytes);
  /// No message was left.
  void took_all() { ++emptied_; }
  /// It said a hello that is right. A peer has a share of the places of those: beyond, the one of
  /// its connections that was silent longest makes way.
  void trust(int connection, const std::string& peer);
  /// The owner disconnects it, of which ZeroMQ tells nobody.
  void forget(int number) { end(number); }

  /// The connection by which this message came, as took() and trust() know it.
  [[nodiscard]] static int connection_of(const zmq::message_t& message);
  /// Of a frame with so many bytes of content.
  [[nodiscard]] static std::uint64_t bytes_on_the_wire(std::uint64_t content, bool with_keys);

private:
  /// How many connections that are not shut a peer has, of those that are trusted or of others.
  using crowds = std::map<std::pair<bool, std::string>, std::size_t>;
  struct connection {
    tcp_meter meter;
    crowds::iterator crowd;          ///< whose it is
    time_point since{};              ///< its last whole message, or its beginning
    std::uint64_t taken = 0;         ///< by ZeroMQ
    std::uint64_t done_with = 0;     ///< of these: at least so many are not held any more
    std::uint64_t taken_then = 0;    ///< at a look, and
    std::uint64_t emptied_then = 0;  ///< how often the socket had been emptied
    std::uint64_t settled = 0;       ///< a message that comes now ends behind here
    time_point beyond_since = never; ///< its limit, at every look since
    int looks_beyond = 0;            ///< these looks
    bool shut = false;

    [[nodiscard]] bool trusted() const { return crowd->first.first; }
    [[nodiscard]] std::uint64_t held() const { return taken - done_with; }
    void settle(std::uint64_t emptied);
  };
  using table = std::map<int, connection>;

  void run();
  void take_events();
  void begin(int number);
  void end(int number);
  void end_locked(int number);
  void make_way();
  void turn_away();
  void join(connection& c, bool trusted, const std::string& peer);
  void leave(connection& c);
  void keep_to_share(const connection& newest);
  /// False: nothing happened on any connection since the last look.
  [[nodiscard]] bool look(time_point now);
  /// True: it is to be looked at again, also if nothing comes.
  [[nodiscard]] bool look_at(connection& c, time_point now);
  void check_memory(time_point now);
  void shut_down(connection& c, counter& why, const std::string& text);
  void give_memory_back(time_point now);

  watch_limits limits_;
  watch_counters& counters_;
  event_function on_event_;
  report_function report_;
  zmq::socket_t monitor_;
  file_descriptor active_; ///< an epoll instance: of which connections something came
  wake_event stop_;
  std::atomic<bool> stopping_ = false;
  bool all_told_ = false;                  ///< the socket has ended
  std::atomic<std::uint64_t> emptied_ = 0; ///< how often took_all() was called
  std::mutex mutex_;                       ///< guards connections_
  table connections_;                      ///< by ZeroMQ's descriptor
  crowds crowds_;
  std::map<int, std::string> trusted_early_; ///< whose beginning the watch has not yet seen
  std::vector<int> unread_;                  ///< to be looked at again
  time_point look_at_all_at_{};              ///< at each connection
  std::uint64_t tolerated_;                  ///< memory beyond which connections are shut down
  /// When memory is given back once more: a connection that had been shut down ended lately.
  std::atomic<time_point> give_back_at_{never};
  std::chrono::seconds give_back_pause_{0};
  std::thread thread_;
};

} // namespace l3
