// SPDX-License-Identifier: Apache-2.0
// Sends the blocks of a source (the outbox, or the spool) to the receiver over the output line
// (docs/formats.md, section 8), in order and at a pace; the source keeps every one of them until
// the receiver says that it is stored. Whatever happens to the connection or to the receiver in
// between, the forwarder says hello again and goes on from the first block that is not stored.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <string_view>

#include "transport/accounting/counters.hpp"
#include "transport/format/block.hpp"
#include "transport/output/block_source.hpp"
#include "transport/output/delivery.hpp"
#include "transport/output/link_pace.hpp"
#include "transport/output/settings.hpp"

namespace l3 {

class line_link;

class forwarder {
public:
  /// For the few things a person should know; called by the forwarder's thread.
  using report_function = delivery::report_function;

  /// Source and pace must outlive the forwarder; forwarders that share the line share its pace.
  /// Throws std::invalid_argument if `to` is not an address.
  forwarder(const forward_settings& settings, block_source& from, line_pace& pace,
            line_pace::share share, report_function report);
  ~forwarder();
  forwarder(const forwarder&) = delete;
  forwarder& operator=(const forwarder&) = delete;

  /// The thread's body. After a stop it goes on until every sealed block is stored or the time
  /// limit is over.
  void run(std::stop_token stop, std::chrono::nanoseconds drain_time_limit);

  /// Shortens the time limit to this moment. Any thread, before the stop is requested.
  void drain_until(std::chrono::steady_clock::time_point deadline);

  /// The receiver has welcomed us and answered within the last seconds. Any thread.
  [[nodiscard]] bool connected() const;
  /// A receiver that is connected does not store what it is sent, and has said why. Any thread.
  [[nodiscard]] bool refused() const { return connected() && delivery_.is_refused(); }
  [[nodiscard]] const forward_counters& counters() const { return delivery_.counters(); }
  /// Rises every second or more often, whether there is work or not. Any thread.
  [[nodiscard]] std::uint64_t turns() const { return turns_; }

private:
  void take_link_events();
  void take_messages(std::uint64_t now);

  void connect_once();
  bool leave_lane(std::uint64_t now);
  [[nodiscard]] std::uint64_t act(std::uint64_t now);
  [[nodiscard]] std::uint64_t send_blocks(std::uint64_t now);
  [[nodiscard]] bool send_block(std::uint64_t now);
  bool send(line_message type, std::uint64_t sequence, std::string_view body, std::uint64_t now);
  void wait_until(std::uint64_t due, std::uint64_t now);

  forward_settings settings_;
  block_source& source_;
  line_pace& pace_;
  const line_pace::share share_;
  delivery delivery_;
  std::unique_ptr<line_link> link_;
  counter turns_;

  std::uint64_t last_sent_at_ = 0;
  std::atomic<std::uint64_t> drain_until_{~std::uint64_t{0}}; ///< steady clock, ns
};

} // namespace l3
