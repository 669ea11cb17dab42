// SPDX-License-Identifier: Apache-2.0
// A level-3 node at work: receivers, event builder, frames, engine, outbox, forwarder, and their
// threads. A constructed node receives; drain() stops the receivers and lets everything that was
// admitted run out. What it did can be asked at any time from any thread, and is only read from
// counters: asking never waits for the data path.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "daemon/monitor/metrics.hpp"
#include "daemon/monitor/state.hpp"
#include "daemon/settings.hpp"
#include "selection/engine/engine.hpp"

namespace l3 {

class node {
public:
  /// Reserves and touches all memory, binds the sockets, starts the threads. Throws
  /// std::runtime_error, with a text for the operator, if something that it needs is not to be had.
  /// `configuration` is the text of the settings, for those who look into a failure later.
  explicit node(const daemon_settings& settings, std::string configuration = {});
  ~node();
  node(const node&) = delete;
  node& operator=(const node&) = delete;

  /// Stops receiving; forwards what was admitted until the receiver has stored it or the drain time
  /// limit is over, and counts the rest as shed(drain). Returns true if nothing was left.
  bool drain();

  /// Twice a second, by one thread: looks at what the threads count, sets the troubles, logs what
  /// there is to say.
  void look_around();

  /// With the spills; by the thread that looks around.
  [[nodiscard]] ledger account() const;

  // Any thread.
  void set_output_rate(bit_rate rate);
  /// Not even the CPU could compute: nothing more can be, and the process had better start anew.
  [[nodiscard]] bool failed() const;
  /// After drain(): a device holds work that was given up. Taking its memory back would wait for
  /// it.
  [[nodiscard]] bool device_hangs() const;
  /// A thread of the data path that makes no progress, by its name; empty if all do.
  [[nodiscard]] std::string stuck() const;
  [[nodiscard]] metrics_snapshot snapshot() const;
  [[nodiscard]] state_report state() const;
  [[nodiscard]] std::string backend() const;
  [[nodiscard]] std::vector<memory_use> memory_plan() const;

private:
  struct parts;
  std::unique_ptr<parts> parts_;
};

} // namespace l3
