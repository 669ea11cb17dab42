// SPDX-License-Identifier: Apache-2.0
// A level-3 node at work: receivers, event builder, frames, engine, outbox, forwarder, and their
// threads. A constructed node receives; drain() stops the receivers and forwards the admitted
// events. Any thread can read its counters at any time, without waiting for the data path.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "daemon/monitor/snapshot.hpp"
#include "daemon/monitor/state.hpp"
#include "daemon/settings.hpp"
#include "selection/engine/engine.hpp"
#include "transport/store/store_reader.hpp"

namespace l3 {

class node {
public:
  /// Reserves and touches all memory, binds the sockets, starts the threads. Throws
  /// std::runtime_error, with a text for the operator, if a resource is missing. `configuration` is
  /// the text of the settings, which is stored with failed batches. `stop` is asked while the
  /// spool's files are read: true ends the start with scan_stopped.
  explicit node(const daemon_settings& settings, std::string configuration = {},
                stop_question stop = {});
  ~node();
  node(const node&) = delete;
  node& operator=(const node&) = delete;

  /// Stops receiving; forwards the admitted events until the receiver has stored them or the drain
  /// time limit is over, and counts the rest as shed(drain). Returns true if none was left.
  bool drain();

  /// Reads the threads' counters, sets the troubles, logs. One thread calls it twice a second.
  void look_around();

  /// The ledger with its spills; for the thread that calls look_around().
  [[nodiscard]] ledger account() const;

  // Any thread.
  void set_output_rate(bit_rate rate);
  /// Not even the CPU could compute a frame: the process should be restarted.
  [[nodiscard]] bool failed() const;
  /// After drain(): the device still holds work that was given up, and releasing its memory would
  /// wait for it.
  [[nodiscard]] bool device_hangs() const;
  /// The name of a thread of the data path that makes no progress; empty if all do.
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
