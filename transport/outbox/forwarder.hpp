// SPDX-License-Identifier: Apache-2.0
// Sends the blocks of a source (the outbox or the spool) to the receiver over the output link
// (docs/formats.md, section 8), in order and at a pace. The source keeps every block until the
// receiver has stored it. After any failure of the connection or the receiver, the forwarder says
// hello again and continues with the first block that is not stored.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
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

/// Names the faulty key file of a daemon and its setting; empty if the files are valid.
[[nodiscard]] std::string wrong_with_keys(const forward_settings& settings);

class forwarder {
public:
  /// Receives news for a person; called by the forwarder's thread.
  using report_function = send_window::report_function;

  /// Source and pace must outlive the forwarder; forwarders on one link share its pace. Throws
  /// std::invalid_argument if `to` is no address.
  forwarder(const forward_settings& settings, block_source& from, link_pace& pace,
            link_pace::share share, report_function report);
  ~forwarder();
  forwarder(const forwarder&) = delete;
  forwarder& operator=(const forwarder&) = delete;

  /// The thread's body. After a stop it continues until every sealed block is stored or the time
  /// limit is over.
  void run(const std::stop_token& stop, std::chrono::nanoseconds drain_time_limit);

  /// Sets an earlier deadline. Any thread, before the stop is requested.
  void drain_until(time_point deadline) { drain_until_ = deadline; }

  /// Whether the receiver has welcomed the lane and answered within the last seconds. Any thread.
  [[nodiscard]] bool connected() const;
  /// Whether the receiver fell silent while it was connected. Any thread.
  [[nodiscard]] bool is_silent() const { return (window_.is_welcome() || stalled_) && !answers(); }
  /// Whether the receiver answered lately after such a silence. Any thread.
  [[nodiscard]] bool is_slow() const { return steady_clock::now() < slow_until_.load(); }
  /// Whether an answering receiver stores nothing: it does not store blocks or does not welcome
  /// this daemon and gave a reason, or it does not take a repeatedly sent block. Any thread.
  [[nodiscard]] bool refused() const { return answers() && window_.is_refused(); }
  /// Whether an answering receiver claims to have blocks that were never sent. Any thread.
  [[nodiscard]] bool is_wrong() const { return answers() && window_.is_wrong(); }
  /// The receiver if its name has no address; nothing if it has one, or if the receiver answers.
  /// Any thread.
  [[nodiscard]] std::optional<unknown_receiver> unknown() const;
  [[nodiscard]] const forward_counters& counters() const { return window_.counters(); }
  /// Increases at least every second, with or without work. Any thread.
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
  std::size_t last_way_ = 0;   ///< that sent the last message other than a block
  std::uint32_t receiver_ = 0; ///< mark of the receiver that welcomed the lane
  counter turns_;
  mutable std::mutex unknown_mutex_; ///< guards the next member, which rarely changes
  std::optional<unknown_receiver> unknown_;

  time_point last_sent_at_;
  bool asked_ = false;                ///< something was sent since the receiver last answered
  std::atomic<bool> stalled_ = false; ///< the connection broke after a silence
  std::atomic<time_point> turned_at_{};
  std::atomic<time_point> slow_until_{};
  std::atomic<time_point> drain_until_{never};
};

} // namespace l3
