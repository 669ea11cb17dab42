// SPDX-License-Identifier: Apache-2.0
// A level-3 node at work: receivers, event builder, frames, engine, outbox, forwarder, and their
// threads. A constructed node receives; drain() stops the receivers and forwards the admitted
// events. Any thread can read its counters at any time, without waiting for the data path.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "config/settings.hpp"
#include "daemon/monitor/snapshot.hpp"
#include "daemon/monitor/state.hpp"
#include "monitor/http_server.hpp"
#include "selection/engine/engine.hpp"
#include "transport/input/udp_socket.hpp"
#include "transport/store/store_reader.hpp"

namespace l3 {

/// The state of a node's device and data at one moment.
struct device_view {
  bool lost = false;           ///< to this process
  bool all_held = false;       ///< the device holds every frame: no data can be taken
  bool between_spills = false; ///< a spill has ended, and nothing has come since
  bool settled = false;        ///< every event is stored by the receiver, or will be on disk

  /// Only a new process can have the device again, and nothing is lost if it starts now.
  [[nodiscard]] bool wants_new_process() const {
    return ((lost && between_spills) || all_held) && settled;
  }
};

class node {
public:
  /// Reserves and touches all memory, binds the sockets, starts the threads. Throws
  /// std::runtime_error, with a text for the operator, if a resource is missing. `configuration` is
  /// the text of the settings, which is stored with failed batches. `stop` is asked while the
  /// spool's files are read: true ends the start with scan_stopped. `ports`: those of the UDP input
  /// if they are bound already; then they stay bound behind the node if there are other copies.
  /// `take_up` is called when all but the input is there; what it throws ends the start, and
  /// nothing was received.
  explicit node(const daemon_settings& settings, std::string configuration = {},
                stop_question stop = {}, std::vector<udp_socket> ports = {},
                const std::function<void()>& take_up = {});
  ~node();
  node(const node&) = delete;
  node& operator=(const node&) = delete;

  /// Stops receiving; forwards the admitted events until the receiver has stored them or the drain
  /// time limit is over, and counts the rest as shed(drain). Returns true if none was left. Any
  /// thread, once; another one may look around meanwhile, and does so once more afterwards.
  bool drain(sockets_hold what = sockets_hold::what_to_take);

  /// Reads the threads' counters, sets the troubles, logs. One thread calls it twice a second.
  void look_around();

  /// Whether the beam pauses, as the last look_around() saw it, and nothing has come since. For its
  /// thread.
  [[nodiscard]] bool pauses() const;

  /// As of the last look_around(), for its thread.
  [[nodiscard]] device_view device() const;

  /// The ledger with its spills; for the thread that calls look_around().
  [[nodiscard]] ledger account() const;

  // Any thread.
  void set_output_rate(bit_rate rate);
  /// Why the daemon has to end: a file of the spool is gone. Empty: it need not.
  [[nodiscard]] std::string why_ended() const;
  /// Not even the CPU could compute a frame: the process should be restarted.
  [[nodiscard]] bool failed() const;
  /// Events that were called safe, by this start or an earlier one, and then could not be read from
  /// the disk, at most.
  [[nodiscard]] std::uint64_t lost_on_disk() const;
  /// Blocks that were called safe, and that no file of the spool has any more: their events are not
  /// known.
  [[nodiscard]] std::uint64_t blocks_gone() const;
  /// After drain(): the device still holds work that was given up, and releasing its memory would
  /// wait for it.
  [[nodiscard]] bool device_hangs() const;
  /// The name of a thread of the data path that makes no progress; empty if all do.
  [[nodiscard]] std::string stuck() const;
  [[nodiscard]] metrics_snapshot snapshot() const;
  [[nodiscard]] state_report state() const;
  [[nodiscard]] std::string backend() const;
  [[nodiscard]] std::vector<memory_use> memory_plan() const;
  /// Those that show what the detector saw, for as long as the node lives.
  void add_event_pages(http_pages& to) const;

private:
  struct parts;
  std::unique_ptr<parts> parts_;
};

} // namespace l3
