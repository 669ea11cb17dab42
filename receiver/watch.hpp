// SPDX-License-Identifier: Apache-2.0
// Watches a running receiver: twice a second its thread makes a snapshot for the monitoring pages,
// tells the service manager that it is alive, and logs the missing nodes.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "config/endpoint.hpp"
#include "monitor/http_server.hpp"
#include "monitor/recent_rate.hpp"
#include "monitor/service_manager.hpp"
#include "receiver/node_presence.hpp"
#include "receiver/troubles.hpp"

namespace l3 {

// The pages of a receiver's monitoring address: /metrics and /status for programs, a page for
// people, and short answers for health checks.

/// The overview page; it loads nothing from elsewhere.
[[nodiscard]] std::string render_page(const receive_snapshot& s);

/// The HTTP thread calls the functions at each request, so they must not wait for the receiver.
/// `stuck`: whether the receiver's thread makes no progress.
[[nodiscard]] http_pages receive_pages(std::function<receive_snapshot()> latest,
                                       std::function<bool()> stuck);

class receive_watch {
public:
  /// Serves the monitoring pages and `more` at that address, if there is one. Throws
  /// std::runtime_error, with the address, if it cannot listen there. Store and receiver must
  /// outlive the watch.
  receive_watch(const std::optional<internet_address>& at, const receive_settings& settings,
                const store_writer& store, const block_receiver& receiver, service_manager manager,
                http_pages more = {}, std::chrono::nanoseconds patience = std::chrono::seconds(10));

  /// For the storing thread, between its steps: makes a snapshot if it is time for one.
  /// `ledger_error`: why the ledger cannot be written; empty if it can.
  void look(time_point now, const std::string& ledger_error = {});
  /// Call it when the receiver ends.
  void stopping() const { manager_.stopping(); }

  /// "http://127.0.0.1:9421/"; empty: no monitoring.
  [[nodiscard]] const std::string& address() const { return address_; }

private:
  struct node_counts {
    stored_counts stored; ///< since the start
    recent_rate events{std::chrono::seconds(10)};
    recent_rate bytes{std::chrono::seconds(10)};
  };

  [[nodiscard]] receive_snapshot snapshot(time_point now, const std::string& ledger_error);
  [[nodiscard]] std::map<std::uint32_t, daemon_snapshot> find_nodes(receive_snapshot& s,
                                                                    time_point now) const;
  void add_daemons(receive_snapshot& s, time_point now);
  void add_missing(receive_snapshot& s, time_point now);
  [[nodiscard]] std::optional<disk_snapshot> look_at_disk(std::uint64_t stored_bytes,
                                                          time_point now);
  [[nodiscard]] receive_snapshot latest() const;
  [[nodiscard]] bool is_stuck() const;

  const receive_settings settings_;
  const store_writer& store_;
  const block_receiver& receiver_;
  service_manager manager_;
  const std::chrono::nanoseconds patience_; ///< with the storing thread
  time_point started_ = steady_clock::now();
  double started_at_ = 0; ///< s since 1970-01-01 UTC
  time_point next_look_ = started_;
  time_point judges_from_{};                                       ///< who is missing
  std::optional<std::map<std::uint32_t, stored_counts>> at_start_; ///< by node, in the store
  std::map<std::uint32_t, node_counts> counts_;                    ///< by node
  node_presence presence_;
  recent_rate written_{std::chrono::minutes(1)};
  trouble_board board_{rows_of(receive_troubles())};

  mutable std::mutex mutex_;
  receive_snapshot latest_;
  std::atomic<std::int64_t> looked_at_ = 0; ///< of time_point, in ns
  std::string address_;
  std::unique_ptr<http_server> http_; // the last member: its thread reads the others
};

} // namespace l3
