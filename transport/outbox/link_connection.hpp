// SPDX-License-Identifier: Apache-2.0
// A forwarder's connection to the receiver, as ZeroMQ has it: messages of the output link go out
// and come in whole, and what happens to the connection is told. Nothing here waits but wait(), and
// nothing queues up for a connection that is not there.
#pragma once

#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
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

  /// The first time; does nothing then. Throws zmq::error_t if the address is none.
  void connect_once();
  /// The connection is there, and both ends know each other's keys.
  [[nodiscard]] bool is_up() const { return up_; }
  /// Its receiver, if the name of that had no address when it was looked up last; nothing while
  /// the connection is there.
  [[nodiscard]] const std::optional<unknown_receiver>& unknown() const { return unknown_; }
  /// What has happened to it since the last call.
  struct news {
    bool any = false;  ///< it came, broke, or was refused
    bool down = false; ///< it broke or was refused, even if it came again since
  };
  [[nodiscard]] news take_events(const report_function& report);

  struct message {
    link_header header;
    zmq::message_t body;
  };
  /// The next that came, if it is one of the output link; nothing if none is left. What is no
  /// message of the link is passed over.
  [[nodiscard]] std::optional<message> receive();

  /// False: ZeroMQ takes nothing now.
  bool send(const link_header& head, std::string_view body);
  /// Sends from the block's own memory, and holds it until it has left.
  bool send(const link_header& head, const held_block& block);

  /// Until there is something to do on one of them: a message or an event, room for a message if
  /// there was none, or the descriptor can be read. True: it can.
  [[nodiscard]] static bool wait(std::span<link_connection* const> all, int descriptor,
                                 std::chrono::milliseconds limit);

private:
  /// Ends a connection of this socket if it is one to itself, and tries again.
  void leave_itself(int socket, const report_function& report);

  void leave_broken(time_point now);
  void try_other_addresses(time_point now);
  void look_up_name(time_point now, const report_function& report);
  void connect_again_if_given_up(time_point now);

  forward_settings settings_;
  std::string from_;     ///< the way's local address; empty: the system chooses
  std::string key_;      ///< in which its receiver stands
  std::string endpoint_; ///< as ZeroMQ has to be told it
  bool by_name_;         ///< the receiver's machine
  zmq::context_t context_{1};
  zmq::socket_t monitor_{context_, zmq::socket_type::pair}; ///< tells of the next one
  zmq::socket_t socket_{context_, zmq::socket_type::dealer};
  bool connecting_ = false;
  bool up_ = false;
  std::optional<time_point> connect_at_; ///< the last one broke, and the next is begun then
  time_point other_addresses_at_{};
  std::future<found_addresses> looked_up_; ///< valid: the receiver's name is being looked up
  bool was_up_since_ = false;              ///< that began: what it finds is of another time
  time_point look_up_at_{};                ///< again
  std::optional<unknown_receiver> unknown_;
  time_point last_event_at_{}; ///< when ZeroMQ told of one, or was told to connect
  bool blocked_ = false;       ///< ZeroMQ had no room for a message
};

} // namespace l3
