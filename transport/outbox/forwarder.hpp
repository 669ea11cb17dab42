// SPDX-License-Identifier: Apache-2.0
// Sends the blocks of a source (the outbox, or the spool) to the receiver over the output link
// (docs/formats.md, section 8), in order and at a pace; the source keeps every one of them until
// the receiver says that it is stored. Whatever happens to the connection or to the receiver in
// between, the forwarder says hello again and goes on from the first block that is not stored.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "transport/accounting/counters.hpp"
#include "transport/format/time.hpp"
#include "transport/outbox/link_pace.hpp"
#include "transport/outbox/send_window.hpp"
#include "transport/outbox/settings.hpp"

namespace l3 {

class link_connection;

/// What is wrong with the key files of a daemon, by the names of its settings; empty if nothing is.
[[nodiscard]] std::string wrong_with_keys(const forward_settings& settings);

class forwarder {
public:
  /// For the few things a person should know; called by the forwarder's thread.
  using report_function = send_window::report_function;

  /// Source and pace must outlive the forwarder; forwarders that share the link share its pace.
  /// Throws std::invalid_argument if `to` is not an address.
  forwarder(const forward_settings& settings, block_source& from, link_pace& pace,
            link_pace::share share, report_function report);
  ~forwarder();
  forwarder(const forwarder&) = delete;
  forwarder& operator=(const forwarder&) = delete;

  /// The thread's body. After a stop it goes on until every sealed block is stored or the time
  /// limit is over.
  void run(const std::stop_token& stop, std::chrono::nanoseconds drain_time_limit);

  /// Shortens the time limit to this moment. Any thread, before the stop is requested.
  void drain_until(time_point deadline) { drain_until_ = deadline; }

  /// The receiver has welcomed us and answered within the last seconds. Any thread.
  [[nodiscard]] bool connected() const;
  /// A receiver that answers does not store what it is sent, or does not welcome this daemon, and
  /// has said why, or does not take a block that is sent to it again and again. Any thread.
  [[nodiscard]] bool refused() const { return answers() && window_.is_refused(); }
  /// A receiver that answers claims to have blocks that were never sent. Any thread.
  [[nodiscard]] bool is_wrong() const { return answers() && window_.is_wrong(); }
  /// The receiver, if its name has no address; nothing where it has one, or the receiver answers.
  /// Any thread.
  [[nodiscard]] std::optional<unknown_receiver> unknown() const;
  [[nodiscard]] const forward_counters& counters() const { return window_.counters(); }
  /// Rises every second or more often, whether there is work or not. Any thread.
  [[nodiscard]] std::uint64_t turns() const { return turns_; }

private:
  [[nodiscard]] bool answers() const;
  /// A connection to the receiver.
  struct way;
  void take_news(time_point now);
  void take_news(way& of, time_point now);
  void take(way& from, const link_header& header, std::string_view body, time_point now);
  void not_welcome(way& any_more, bool broke, time_point now);
  void connect_once();
  [[nodiscard]] bool others_are_welcome(const way& than) const;
  [[nodiscard]] way* next_way();
  bool leave_lane(time_point now);
  [[nodiscard]] bool all_stored() const;
  [[nodiscard]] time_point act(time_point now);
  [[nodiscard]] time_point send_blocks(time_point now);
  [[nodiscard]] bool send_block(way& over, time_point now);
  void ask_silent_ways(time_point now);
  void tell_of_other_receivers(time_point now);
  [[nodiscard]] time_point say_hellos(const lane_state& lane, time_point now);
  [[nodiscard]] bool say_hello(way& over, const lane_state& lane, time_point now);
  bool send(way& over, link_message type, const lane_state& lane, std::string_view body,
            time_point now);
  bool send(link_message type, const lane_state& lane, std::string_view body, time_point now);
  void wait_until(time_point due, time_point now);

  forward_settings settings_;
  block_source& source_;
  link_pace& pace_;
  const link_pace::share share_;
  send_window window_;
  std::vector<way> ways_;
  std::size_t last_way_ = 0;   ///< over which a message other than a block went
  std::uint32_t receiver_ = 0; ///< mark of the one that welcomed the lane
  counter turns_;
  mutable std::mutex unknown_mutex_; ///< guards the next one, which changes seldom
  std::optional<unknown_receiver> unknown_;

  time_point last_sent_at_;
  std::atomic<time_point> drain_until_{never};
};

} // namespace l3
