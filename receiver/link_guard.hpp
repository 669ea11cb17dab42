// SPDX-License-Identifier: Apache-2.0
// Decides which peers the receiver accepts. With keys, ZeroMQ asks the guard about each key that a
// peer has proven to hold (ZAP, https://rfc.zeromq.org/spec/27); only keys of the allow-list are
// accepted. With or without keys, the guard counts refused connections. It runs on the receiver's
// thread: while that thread writes to disk, newcomers wait and accepted peers are not affected.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include <zmq.hpp>

#include "transport/accounting/occasional.hpp"
#include "transport/format/time.hpp"
#include "transport/link/link_keys.hpp"

namespace l3 {

struct receive_settings;
struct connection_counters;

class link_guard {
public:
  using report_function = std::function<void(std::string_view)>;

  /// Call it before `socket` is bound. Throws std::runtime_error if a key file is invalid.
  link_guard(zmq::context_t& context, const receive_settings& settings,
             connection_counters& counters, const report_function& report);

  /// Call it before `socket` is bound.
  void guard(zmq::socket_t& socket);

  /// Handles waiting questions and events, up to a limit.
  void attend(time_point now);

  /// Readable when there is something to handle.
  [[nodiscard]] std::array<zmq_pollitem_t, 2> to_poll() {
    return {{{questions_.handle(), 0, ZMQ_POLLIN, 0}, {events_.handle(), 0, ZMQ_POLLIN, 0}}};
  }

private:
  [[nodiscard]] bool answer_question(time_point now);
  [[nodiscard]] bool take_event(time_point now);
  void report(occasional& kind, time_point now, const std::string& text);

  bool with_keys_;
  link_key secret_{};
  std::string allow_file_;
  std::map<link_key, std::string> allowed_;
  connection_counters& counters_;
  const report_function& report_;
  zmq::socket_t questions_;
  zmq::socket_t events_; ///< monitor of the guarded socket
  occasional unknown_keys_told_{std::chrono::seconds(10)};
  occasional mechanisms_told_{std::chrono::seconds(10)};
  occasional sealed_for_another_told_{std::chrono::seconds(10)};
};

} // namespace l3
