// SPDX-License-Identifier: Apache-2.0
// The node of the run that is in force, if one is, and that run's ledger: a run is the life of a
// node, with a session, counters, frames and a selection of its own. The UDP ports outlive it where
// runs begin and end without a restart: what comes while one node makes way for the next waits in
// the kernel's buffers, and what comes without a run is dropped and counted.
//
// The main thread begins and ends runs (run_steps.hpp); what takes seconds of it, a thread of its
// own does. Any thread may ask how the one in force is.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "config/settings.hpp"
#include "daemon/machine_check.hpp"
#include "daemon/monitor/ledger_place.hpp"
#include "daemon/monitor/run_record.hpp"
#include "daemon/node.hpp"
#include "daemon/run/disk_watch.hpp"
#include "daemon/run/run_control.hpp"
#include "daemon/run/side_job.hpp"
#include "transport/input/unattended_ports.hpp"
#include "transport/system/time_of_day.hpp"

namespace l3 {

/// "1000 = 236 stored + 377 on disk + 387 shed (priority 380, drain 7)"
[[nodiscard]] std::string where_events_are(const ledger& l);

/// What the node of this run is made with.
[[nodiscard]] daemon_settings settings_of_run(daemon_settings s, const run_order& order);

class run_host {
public:
  using render_function = std::function<std::string(const daemon_settings&)>;

  /// What became of a run.
  struct ended_run {
    std::uint32_t number = 0;
    std::string text;   ///< where its events are
    std::string ledger; ///< file; empty: none
    /// Every event is accounted for, none that was called safe is lost, and the ledger is written.
    bool well = false;
    bool device_hangs = false;
  };

  /// Makes the folder of the ledgers; throws std::runtime_error if none can be written. `renders`:
  /// the text of settings. `guard` is asked before a node is made. `stop`: as node has it; on the
  /// thread that makes the node. `done` is called on a thread of this object when a run can finish
  /// its beginning or its end.
  run_host(const daemon_settings& settings, render_function renders, memory_guard guard,
           stop_question stop, std::function<void()> done);

  // --- the main thread ---

  /// From now on the ports stay bound.
  void keep_ports();
  /// Says which runs before did not end properly, as far as ledgers are in a folder.
  void tell_of_crashes();
  /// Drops and counts the datagrams that come until a run begins, and looks at the spool, if it
  /// does not yet.
  void go_without_run();
  /// Begins to make the node of a run, which receives what comes from now on. `take_up`: as node
  /// has it. False: the beam has come, and no run can begin.
  [[nodiscard]] bool start_beginning(const run_order& order, std::function<void()> take_up = {});
  /// When that is done. Throws as node and `take_up` do; then no run is in force.
  void finish_beginning();
  /// Both at once.
  void begin(const run_order& order);
  /// The start has succeeded: writes the first ledger of the run and begins its record, and says
  /// that it is ready. Throws std::system_error.
  void announce();
  /// Begins to drain the run in force.
  void start_ending(sockets_hold what);
  /// When that is done: writes the ledger, logs. The node is gone afterwards, unless the device
  /// hangs.
  ended_run finish_ending();
  /// A run begins or ends, and cannot finish that yet.
  [[nodiscard]] bool busy() const { return job_.busy(); }
  [[nodiscard]] const node* in_force() const { return node_.get(); }
  /// The state of the active node. Without a node it says whether an earlier one lost the device.
  [[nodiscard]] device_view device() const;
  [[nodiscard]] metrics_snapshot snapshot() const;
  /// Looks around in the node, and notes what it has done; without one, at what waits
  /// on disk.
  void tick();
  void set_output_rate(bit_rate rate); ///< of this run, and of those to come
  /// Why the daemon has to end; empty: it need not.
  [[nodiscard]] std::string why_ended() const;
  /// Whether the beam pauses.
  [[nodiscard]] bool pauses() const;

  // --- any thread ---

  [[nodiscard]] state_report state() const;
  [[nodiscard]] std::string stuck() const;
  [[nodiscard]] std::optional<ended_run> last() const;
  /// One of node::add_event_pages(); without a run it says that there is no event.
  [[nodiscard]] http_response event_page(const std::string& path) const;
  /// The number that a run gets without one; nothing: the highest one is used. `asked`: see
  /// was_used().
  [[nodiscard]] std::optional<std::uint32_t> next_number(const run_control::report& asked) const;
  /// A run of this node has had this number, or begins with it now. One that was stopped while its
  /// node is made does not, by what is asked for.
  [[nodiscard]] bool was_used(std::uint32_t number, const run_control::report& asked) const;
  /// Without a run: crates that have been silent for ten seconds while at least half sent.
  [[nodiscard]] std::vector<std::uint32_t> silent_crates() const;
  /// Without a run: crates that have sent in the last ten seconds while more than half were silent.
  [[nodiscard]] std::vector<std::uint32_t> lone_crates() const;
  /// Without a run: who has sent without a pause for ten seconds, so that none can begin, and what
  /// to do; empty: what comes pauses.
  [[nodiscard]] std::string why_no_pause() const;
  [[nodiscard]] std::uint64_t datagrams_without_run() const;
  /// Why a node with these settings, which must load, does not fit the machine; empty: it does.
  [[nodiscard]] std::string wrong_with_memory(const daemon_settings& s) const { return guard_(s); }

private:
  void stop_going_without_run();
  void prepare(const run_order& order);
  void make_node(const std::function<void()>& take_up);
  void take_node();
  [[nodiscard]] ledger account() const;
  void begin_ledger(const ledger& account);
  [[nodiscard]] bool end_ledger(const ledger& account);
  void tell_of(const run_record& crashed);
  void tell_of_spool();
  void tell_of_pause();

  const time_point started_at_ = steady_clock::now();
  const double started_ = 1e-9 * static_cast<double>(nanoseconds_since_1970());
  daemon_settings settings_;
  render_function renders_;
  const memory_guard guard_;
  stop_question stop_;
  ledger_place ledgers_;
  std::string ledger_file_; // of the run in force
  std::string comment_;     // likewise
  std::optional<run_record_file> record_;
  bool crashed_ = false;              // a run before this start did not end properly
  std::uint64_t lost_by_crashes_ = 0; // events, at most, of runs before this start
  std::vector<udp_socket> ports_;     // empty: each node has its own
  bool device_lost_ = false;          // in a run that has ended
  daemon_settings of_next_;           // of the run that begins
  std::unique_ptr<node> made_;        // its node
  bool drained_clean_ = false;        // of the run that ends
  std::uint64_t waiting_told_ = 0;    // events on disk without a run, likewise
  std::string no_pause_told_;         // likewise

  mutable std::mutex mutex_; ///< guards the pointers for other threads, and what follows
  std::unique_ptr<node> node_;
  http_pages event_pages_; ///< its
  std::unique_ptr<unattended_ports> without_run_;
  std::unique_ptr<disk_watch> disks_;  ///< none before the first time without a run
  std::uint64_t datagrams_before_ = 0; ///< without a run, before the latest one
  std::optional<ended_run> last_;
  std::set<std::uint32_t> used_numbers_; ///< of runs that have begun since the start
  std::optional<std::uint32_t> number_that_begins_;

  side_job job_; // the last member: it uses the others
};

} // namespace l3
