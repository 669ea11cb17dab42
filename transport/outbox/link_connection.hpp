// SPDX-License-Identifier: Apache-2.0
// A forwarder's connection to the receiver through ZeroMQ: it sends and receives whole messages of
// the output link, and reports changes of the connection. Only wait() blocks, and nothing is queued
// for a missing connection.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <future>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <zmq.hpp>

#include "transport/format/block.hpp"
#include "transport/format/time.hpp"
#include "transport/outbox/block_source.hpp"
#include "transport/outbox/settings.hpp"
#include "transport/system/name_lookup.hpp"

namespace l3 {

class link_connection {
public:
  using report_function = std::function<void(std::string)>;

  /// Does not connect yet. Throws zmq::error_t.
  link_connection(const forward_settings& settings, const link_way& way);

  /// Connects in the first call only. Throws zmq::error_t for an invalid address.
  void connect_once();
  /// Whether the connection exists and both ends know each other's keys.
  [[nodiscard]] bool is_up() const { return up_; }
  /// The receiver, if the last look-up of its name found no address; nothing while the connection
  /// exists.
  [[nodiscard]] const std::optional<unknown_receiver>& unknown() const { return unknown_; }
  /// Changes of the connection since the last call.
  struct news {
    bool any = false;  ///< it was established, broken or refused
    bool down = false; ///< it was broken or refused, even if it is up again
  };
  [[nodiscard]] news take_events(const report_function& report);

  struct message {
    link_header header;
    zmq::message_t body;
  };
  /// The next message of the output link; nothing if none is left. Skips other messages.
  [[nodiscard]] std::optional<message> receive();

  /// Returns false if ZeroMQ accepts nothing now.
  bool send(const link_header& head, std::string_view body);
  /// Sends from the block's memory, and holds the block until it has been sent.
  bool send(const link_header& head, const held_block& block);

  struct line_state {
    bool flows = false;    ///< the peer's system has taken bytes since the last call; more wait
    bool is_empty = false; ///< the peer's system has taken all bytes
  };
  [[nodiscard]] line_state look_at_line();

  /// Waits until one of them has work (a message, an event, or room for a blocked message) or the
  /// descriptor is readable. Returns true if it is readable.
  [[nodiscard]] static bool wait(std::span<link_connection* const> all, int descriptor,
                                 std::chrono::milliseconds limit);

private:
  /// Closes this socket's connection if it is connected to itself, and tries again.
  void leave_itself(int socket, const report_function& report);

  void leave_broken(time_point now);
  void connect();
  void disconnect();
  void try_next_address(time_point now);
  void take_addresses(std::vector<std::string> found);
  void look_up_name(time_point now, const report_function& report);
  void connect_again_if_given_up(time_point now);

  forward_settings settings_;
  std::string from_;                 ///< local address; empty: chosen by the system
  std::string key_;                  ///< configuration key of its receiver
  bool by_name_;                     ///< the receiver is a machine's name
  std::vector<std::string> numbers_; ///< endpoints of the receiver, with numeric addresses
  std::size_t number_ = 0;           ///< of the one in use, which counts on beyond the last
  std::string endpoint_;             ///< in ZeroMQ's form; empty: ZeroMQ connects to none
  zmq::context_t context_{1};
  zmq::socket_t monitor_{context_, zmq::socket_type::pair}; ///< reports events of the next one
  zmq::socket_t socket_{context_, zmq::socket_type::dealer};
  bool connecting_ = false;
  bool up_ = false;
  int descriptor_ = -1;                  ///< ZeroMQ's TCP socket
  std::uint64_t bytes_taken_ = 0;        ///< by the peer's system
  std::optional<time_point> connect_at_; ///< set after a break: when to connect again
  time_point next_address_at_{};
  std::future<found_addresses> looked_up_; ///< valid: the receiver's name is being looked up
  bool was_up_since_ = false;              ///< since that began, so its result is stale
  time_point look_up_at_{};                ///< when that began, or the next one is due
  std::optional<unknown_receiver> unknown_;
  time_point last_event_at_{}; ///< of ZeroMQ, or when it was told to connect
  bool blocked_ = false;       ///< ZeroMQ had no room for a message
};

} // namespace l3
