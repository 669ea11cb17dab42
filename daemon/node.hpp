// SPDX-License-Identifier: Apache-2.0
// A running level-3 node: receivers, event builder, frames, engine, outbox, forwarder, and their
// threads. It receives once it is constructed; drain() stops the receivers and forwards the
// admitted events. Any thread can read its counters at any time, without waiting for the data path.
#pragma once

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

/// The state of a node's device and data.
struct device_view {
  bool lost = false;           ///< this process cannot use it again
  bool all_held = false;       ///< the device holds every frame: no data can be received
  bool between_spills = false; ///< a spill has ended, and no data have come since
  bool settled = false;        ///< the receiver or the disk has stored, or will store, every event

  /// Whether only a new process can use the device again, and nothing is lost if it starts now.
  [[nodiscard]] bool wants_new_process() const {
    return ((lost && between_spills) || all_held) && settled;
  }
};

class node {
public:
  /// Reserves and touches all memory, binds the sockets, starts the threads. Throws
  /// std::runtime_error, with a text for the operator, if a resource is missing. `configuration`:
  /// the settings as text, stored with failed batches. `stop` is called while the spool's files are
  /// read: true ends the start with scan_stopped. `ports`: UDP sockets that are already bound; they
  /// stay bound after the node if there are other copies. `take_up` is called when everything but
  /// the input is ready; an exception from it ends the start before anything was received.
  /// nothing was received.
  explicit node(const daemon_settings& settings, std::string configuration = {},
                stop_question stop = {}, std::vector<udp_socket> ports = {},
                const std::function<void()>& take_up = {});
  ~node();
  node(const node&) = delete;
  node& operator=(const node&) = delete;

  /// Stops receiving. Forwards the admitted events until the receiver has stored them or the drain
  /// time is over, and counts the rest as shed(drain). Returns true if none was left. Any thread
  /// calls it once; another thread may call look_around() meanwhile, and must do so once more
  /// afterwards.
  bool drain(sockets_hold what = sockets_hold::what_to_take);

  /// Reads the threads' counters, sets the troubles, logs. One thread calls it twice a second.
  void look_around();

  /// Whether the beam paused at the last look_around(), and no data have come since. For the same
  /// thread.
  [[nodiscard]] bool pauses() const;

  /// As of the last look_around(), for the same thread.
  [[nodiscard]] device_view device() const;

  /// The ledger with its spills; for the thread that calls look_around().
  [[nodiscard]] ledger account() const;

  // Any thread.
  void set_output_rate(bit_rate rate);
  /// Why the daemon has to end: a file of the spool is gone. Empty if it need not end.
  [[nodiscard]] std::string why_ended() const;
  /// Whether even the CPU could not compute a frame, so that the process must be restarted.
  [[nodiscard]] bool failed() const;
  /// Upper limit of the events that were acknowledged, by this start or an earlier one, and then
  /// could not be read from disk.
  [[nodiscard]] std::uint64_t lost_on_disk() const;
  /// Acknowledged blocks that are in no file of the spool any more, so the number of their events
  /// is unknown.
  [[nodiscard]] std::uint64_t blocks_gone() const;
  /// Whether, after drain(), the device still holds abandoned work. Releasing its memory would wait
  /// for that work.
  [[nodiscard]] bool device_hangs() const;
  /// The name of a thread of the data path that makes no progress; empty if all do.
  [[nodiscard]] std::string stuck() const;
  [[nodiscard]] metrics_snapshot snapshot() const;
  [[nodiscard]] state_report state() const;
  [[nodiscard]] std::string backend() const;
  [[nodiscard]] std::vector<memory_use> memory_plan() const;
  /// Adds the event display's pages, as long as the node lives.
  void add_event_pages(http_pages& to) const;

private:
  struct parts;
  std::unique_ptr<parts> parts_;
};

} // namespace l3
