// SPDX-License-Identifier: Apache-2.0
// The node of the active run and that run's ledger. Each run has its own node, with a session,
// counters, frames and a selection. Under run control the UDP ports outlive the node: data that
// come between two nodes wait in the kernel's buffers, and data that come without a run are dropped
// and counted.
//
// The main thread begins and ends runs (run_steps.hpp); another thread does the steps that take
// seconds. Any thread may ask for the state.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "config/settings.hpp"
#include "daemon/machine_check.hpp"
#include "daemon/monitor/ledger_place.hpp"
#include "daemon/monitor/run_record.hpp"
#include "daemon/node.hpp"
#include "daemon/run/disk_watch.hpp"
#include "daemon/run/run_control.hpp"
#include "transport/format/time.hpp"
#include "transport/input/unattended_ports.hpp"
#include "transport/system/threads.hpp"

namespace l3 {

/// Runs one piece of work at a time on another thread, so that the main thread need not wait while
/// a run begins or ends. The main thread starts a piece, is notified when it is done, and then asks
/// for the result.
class side_job {
public:
  /// `done` is called on the working thread when a piece of work is finished.
  explicit side_job(std::function<void()> done) : done_(std::move(done)) {}

  /// Not while another piece is in progress. Throws std::system_error.
  void start(std::function<void()> work) {
    busy_ = true;
    outcome_ = std::async(std::launch::async, [this, work = std::move(work)] {
      name_this_thread("run");
      std::exception_ptr thrown;
      try {
        work();
      } catch (...) {
        thrown = std::current_exception();
      }
      busy_ = false;
      done_();
      if (thrown) std::rethrow_exception(thrown);
    });
  }
  /// Whether a piece of work is in progress.
  [[nodiscard]] bool busy() const { return busy_; }
  /// Waits for the current piece and rethrows its exception. Call it once after each piece.
  void finish() { outcome_.get(); }

private:
  std::function<void()> done_;
  std::atomic<bool> busy_ = false;
  std::future<void> outcome_; // the last member: its destructor waits for the piece
};

/// "1000 = 236 stored + 377 on disk + 387 shed (priority 380, drain 7)"
[[nodiscard]] std::string where_events_are(const ledger& l);

/// The settings for the node of this run.
[[nodiscard]] daemon_settings settings_of_run(daemon_settings s, const run_order& order);

class run_host {
public:
  using render_function = std::function<std::string(const daemon_settings&)>;

  /// The outcome of a run.
  struct ended_run {
    std::uint32_t number = 0;
    std::string text;   ///< where its events are
    std::string ledger; ///< file; empty: no ledger
    /// Every event is accounted for, no acknowledged event is lost, and the ledger is written.
    bool well = false;
    bool device_hangs = false;
  };

  /// Makes the folders of spool and ledgers as why_not_made() says; throws std::runtime_error if
  /// they are not there or cannot be written.
  /// `renders`: returns settings as text. `guard` is called before a node is created. `stop`: see
  /// node; called on the thread that creates the node. `done` is called on a thread of this object
  /// when the start or end of a run can be finished.
  run_host(const daemon_settings& settings, render_function renders, memory_guard guard,
           stop_question stop, std::function<void()> done);

  // --- the main thread ---

  /// Keeps the ports bound from now on.
  void keep_ports();
  /// Logs which earlier runs crashed, if ledgers are in a folder.
  void tell_of_crashes();
  /// Drops and counts datagrams until a run begins, and watches the spool. Does nothing if it
  /// already does. `in_a_spill`: data of a spill came before.
  void go_without_run(bool in_a_spill = false);
  /// Starts to create the node of a run, which receives all data from now on. `take_up`: see node.
  /// Returns false if the beam has come back, so no run can begin, unless the run `cuts` a spill.
  [[nodiscard]] bool start_beginning(const run_order& order, std::function<void()> take_up = {},
                                     bool cuts = false);
  /// Call it when that is done. Throws as node and `take_up` do; then no run is active.
  void finish_beginning();
  /// Calls start_beginning() and finish_beginning().
  void begin(const run_order& order);
  /// Call it after a successful start: writes the run's first ledger, begins its record, and logs
  /// that it is ready. Throws std::runtime_error.
  void announce();
  /// Begins to drain the active run.
  void start_ending(sockets_hold what);
  /// Call it when that is done: writes the ledger, logs, and destroys the node, unless the device
  /// hangs.
  ended_run finish_ending();
  /// Whether the start or end of a run is in progress and cannot be finished yet.
  [[nodiscard]] bool busy() const { return job_.busy(); }
  [[nodiscard]] const node* in_force() const { return node_.get(); }
  /// The state of the active node. Without a node it says whether an earlier one lost the device.
  [[nodiscard]] device_view device() const;
  [[nodiscard]] metrics_snapshot snapshot() const;
  /// Calls the node's look_around() and updates the run's record.
  void tick();
  void set_output_rate(bit_rate rate); ///< of this run and of later ones
  /// Why the daemon has to end; empty if it need not.
  [[nodiscard]] std::string why_ended() const;
  /// Whether the beam pauses.
  [[nodiscard]] bool pauses() const;

  // --- any thread ---

  [[nodiscard]] state_report state() const;
  [[nodiscard]] std::string stuck() const;
  [[nodiscard]] std::optional<ended_run> last() const;
  /// A page of node::add_event_pages(); without a run it says that there is no event.
  [[nodiscard]] http_response event_page(const std::string& path) const;
  /// The default number of the next run; nothing if the highest number is used. `asked`: see
  /// was_used().
  [[nodiscard]] std::optional<std::uint32_t> next_number(const run_control::report& asked) const;
  /// Whether a run of this node has had this number, or begins with it now. A run that was stopped
  /// while its node is created does not count; `asked` tells.
  [[nodiscard]] bool was_used(std::uint32_t number, const run_control::report& asked) const;
  /// Without a run: crates that have been silent for ten seconds while at least half sent.
  [[nodiscard]] std::vector<std::uint32_t> silent_crates() const;
  /// How long, without a run, crates have sent without a pause.
  [[nodiscard]] std::chrono::nanoseconds beam_without_run() const;
  [[nodiscard]] std::uint64_t datagrams_without_run() const;
  /// Why a node with these valid settings does not fit the machine; empty if it fits.
  [[nodiscard]] std::string wrong_with_memory(const daemon_settings& s) const { return guard_(s); }

private:
  void stop_going_without_run();
  void prepare(const run_order& order);
  void make_node(const std::function<void()>& take_up);
  void skip_cut_spill();
  [[nodiscard]] ended_run_view losses() const;
  void take_node();
  [[nodiscard]] ledger account() const;
  void begin_ledger(const ledger& account);
  void write(const ledger& account);
  [[nodiscard]] bool end_ledger(const ledger& account);
  void tell_of(const run_record& crashed);

  const time_point started_at_ = steady_clock::now();
  const double started_ = 1e-9 * static_cast<double>(nanoseconds_since_1970());
  daemon_settings settings_;
  render_function renders_;
  const memory_guard guard_;
  stop_question stop_;
  ledger_place ledgers_;
  std::optional<disk_watch> disks_; // of the folders that the start made or found
  std::string ledger_file_;         // of the active run
  std::string comment_;             // likewise
  std::optional<known_folder> ledger_folder_;
  std::string ledger_error_; // why the run that ended last has no ledger, until one begins
  std::optional<run_record_file> record_;
  bool crashed_ = false;              // an earlier run did not end properly
  std::uint64_t lost_by_crashes_ = 0; // upper limit of events, of runs before this start
  std::vector<udp_socket> ports_;     // empty: each node binds its own
  bool device_lost_ = false;          // in an earlier run
  daemon_settings of_next_;           // of the next run
  std::unique_ptr<node> made_;        // its node
  bool drained_clean_ = false;        // of the run that ends
  ended_run_view lost_;               // by the run that ended last

  mutable std::mutex mutex_; ///< guards the pointers for other threads, and the members below
  std::unique_ptr<node> node_;
  http_pages event_pages_; ///< its
  std::unique_ptr<unattended_ports> without_run_;
  std::uint64_t datagrams_before_ = 0; ///< without a run, except the latest one
  std::optional<ended_run> last_;
  std::set<std::uint32_t> used_numbers_; ///< of runs that have begun since the start
  std::optional<std::uint32_t> number_that_begins_;

  side_job job_; // the last member: it uses the others
};

} // namespace l3
