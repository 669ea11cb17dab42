// SPDX-License-Identifier: Apache-2.0
#include "daemon/run/run_host.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <sys/mman.h>

#include "daemon/run/run_steps.hpp"
#include "daemon/words.hpp"
#include "monitor/http_server.hpp"
#include "monitor/log.hpp"
#include "monitor/version.hpp"
#include "selection/trigger/load_selection.hpp"
#include "transport/input/tcp_receiver.hpp"
#include "transport/input/udp_receiver.hpp"
#include "transport/system/file_io.hpp"
#include "transport/system/reason_of.hpp"

namespace l3 {
namespace {

constexpr auto silence = std::chrono::seconds(10);

/// Locks the pages touched so far (frames, outbox, tables) in memory if the user's limits allow it.
/// Untouched pages, such as most of each thread's stack, are not faulted in.
void lock_memory() {
  if (mlockall(MCL_CURRENT | MCL_ONFAULT) != 0) {
    log_warning("memory is not locked ({}): raise LimitMEMLOCK or `ulimit -l`",
                last_error().message());
  }
}

void log_memory(const std::vector<memory_use>& plan) {
  std::size_t total = 0;
  const auto line = [](std::size_t bytes, std::string_view what) {
    log_info("memory: {:>8.1f} MB {}", static_cast<double>(bytes) / 1e6, what);
  };
  for (const memory_use& use : plan) {
    line(use.bytes, use.what);
    total += use.bytes;
  }
  line(total, "at most in all");
}

} // namespace

std::string where_events_are(const ledger& l) {
  const event_account& e = l.events;
  const std::uint64_t on_disk = std::min(e.in_flight, l.spool ? l.spool->waiting : 0);
  std::string text = fmt::format("{} = {} stored", e.admitted, e.forwarded);
  const auto add = [&](std::uint64_t events, std::string_view what) {
    if (events != 0) text += fmt::format(" + {} {}", events, what);
  };
  add(e.rejected, "rejected");
  add(on_disk, "on disk");
  add(e.in_flight - on_disk, "under way");
  if (sum_of(e.shed) == 0) return text;
  std::string reasons;
  for (const auto& [reason, events] : e.shed)
    if (events != 0) reasons += fmt::format("{}{} {}", reasons.empty() ? "" : ", ", reason, events);
  add(sum_of(e.shed), fmt::format("shed ({})", reasons));
  return text;
}

daemon_settings settings_of_run(daemon_settings s, const run_order& order) {
  s.run.number = order.number;
  if (!order.menu.empty()) s.selection.lines = order.menu;
  return s;
}

run_host::run_host(const daemon_settings& settings, render_function renders, memory_guard guard,
                   stop_question stop, std::function<void()> done)
    : settings_(settings), renders_(std::move(renders)), guard_(std::move(guard)),
      stop_(std::move(stop)), ledgers_(settings.run.ledger, settings.run.node),
      job_(std::move(done)) {
  const std::string& spool = settings.spool.folder;
  std::string why = spool.empty() ? "" : why_bare(spool);
  if (why.empty() && !spool.empty()) why = why_not_made(spool, is_a_service());
  if (!why.empty())
    throw std::runtime_error(fmt::format("spool.folder: cannot use {}: {}", spool, why));
  if (!ledgers_.none()) {
    ledgers_.prepare();
    ledger_folder_.emplace("." / std::filesystem::path(settings.run.ledger).parent_path());
  }
  const std::string& dumps = settings.compute.dumps;
  if (!dumps.empty()) why = why_not_made(dumps, is_a_service());
  if (!why.empty()) log_warning("compute.dumps: failed batches are not kept: {}", why);
  if (const auto last = ledgers_.latest(); last && last->ended)
    lost_ = {last->run, last->events.shed, true};
  disks_.emplace(settings);
}

void run_host::keep_ports() {
  if (!settings_.udp.bind.empty())
    naming_key("udp.bind", [&] { ports_ = bind_ports(settings_.udp); });
}

void run_host::tell_of_crashes() {
  for (const run_record& r : ledgers_.take_crashed()) tell_of(r);
}

void run_host::tell_of(const run_record& crashed) {
  log_warning("{}", describe_crash(crashed));
  crashed_ = true;
  lost_by_crashes_ += in_memory(crashed);
}

void run_host::go_without_run(bool in_a_spill) {
  const std::lock_guard lock(mutex_);
  if (without_run_) return;
  without_run_ = std::make_unique<unattended_ports>(ports_, settings_.udp.allow, settings_.building,
                                                    unattended_ports::shortest_pause, in_a_spill);
  disks_->count_spool();
}

void run_host::stop_going_without_run() {
  if (!without_run_) return;
  without_run_->stop();
  const std::lock_guard lock(mutex_);
  datagrams_before_ += without_run_->datagrams();
  without_run_.reset();
}

bool run_host::start_beginning(const run_order& order, std::function<void()> take_up, bool cuts) {
  if (without_run_) without_run_->stop();
  const bool quiet = cuts || pauses(); // until the ports keep incoming data
  stop_going_without_run();
  if (!quiet) {
    go_without_run(true);
    return false;
  }
  prepare(order);
  job_.start([this, take_up = std::move(take_up)] { make_node(take_up); });
  return true;
}

void run_host::finish_beginning() {
  try {
    job_.finish();
  } catch (...) {
    const std::lock_guard lock(mutex_);
    number_that_begins_.reset(); // it may be tried again
    throw;
  }
  take_node();
}

void run_host::begin(const run_order& order) {
  prepare(order);
  make_node({});
  take_node();
}

void run_host::prepare(const run_order& order) {
  of_next_ = settings_of_run(settings_, order);
  comment_ = order.comment;
  const std::lock_guard lock(mutex_);
  number_that_begins_ = order.number;
}

void run_host::make_node(const std::function<void()>& take_up) {
  // The files may have changed since the run was requested.
  if (const std::string wrong = guard_(of_next_); !wrong.empty()) throw std::runtime_error(wrong);
  made_ = std::make_unique<node>(of_next_, renders_(of_next_), stop_, ports_, [&] {
    skip_cut_spill();
    if (take_up) take_up();
  });
  lock_memory();
  log_memory(made_->memory_plan());
}

/// If the ports could not keep all data that came while the memory was made ready, drops and counts
/// the rest of that spill, so that the run has only spills from their beginning.
void run_host::skip_cut_spill() {
  std::uint64_t lost = 0;
  for (const udp_socket& p : ports_) lost += p.take_dropped();
  if (lost == 0) return;
  unattended_ports rest(ports_, settings_.udp.allow, settings_.building,
                        unattended_ports::shortest_pause, true);
  const time_point deadline = steady_clock::now() + longest_wait_for_a_pause;
  while (!rest.pauses() && !(stop_ && stop_()) && steady_clock::now() < deadline)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  rest.stop();
  log_info("run {} begins with the next spill: a spill came before its memory was ready, and {} "
           "datagrams did not fit into the socket buffers; all {} were dropped",
           of_next_.run.number, lost, lost + rest.datagrams());
  const std::lock_guard lock(mutex_);
  datagrams_before_ += lost + rest.datagrams();
}

void run_host::take_node() {
  made_->set_output_rate(settings_.forward.rate); // a reload may have changed it meanwhile
  const std::lock_guard lock(mutex_);
  node_ = std::move(made_);
  node_->add_event_pages(event_pages_);
  used_numbers_.insert(of_next_.run.number);
  number_that_begins_.reset();
  ledger_file_ = ledgers_.none() ? std::string() : ledgers_.file_of(account());
}

ended_run_view run_host::losses() const {
  const metrics_snapshot s = node_->snapshot();
  ended_run_view v{s.account.run, s.account.events.shed, false};
  const bool stored = settings_.building.incomplete == incomplete_events::forward;
  v.lost["incomplete"] = stored ? 0 : s.building.events_incomplete.get();
  v.lost["missing"] = s.ended_spills.missing;
  return v;
}

ledger run_host::account() const {
  ledger l = node_->account();
  l.comment = comment_;
  return l;
}

void run_host::announce() {
  const ledger first = account();
  if (!ledgers_.none()) begin_ledger(first);
  log_info("ready: run {}, node {}, kernels on {}", first.run, settings_.run.node,
           node_->backend());
}

/// After a crash the ledger on disk must not be an earlier run's. Crashes are reported, and their
/// records taken, once the ledger exists: a failed start leaves them to the next one.
void run_host::begin_ledger(const ledger& account) {
  write(account);
  if (const auto error = ledgers_.note_run(*used_numbers_.rbegin()))
    log_warning("run.ledger: run number {} could not be recorded beside the ledgers: {}; without "
                "its ledger a later start does not know that it was used",
                account.run, error.message());
  tell_of_crashes(); // before the record of this run, which a file system without locks cannot hold
  record_.emplace(ledger_place::record_beside(ledger_file_), record_of(account));
  if (record_->crashed()) tell_of(*record_->crashed());
}

/// Never in another folder than that of the start, such as the bare place of its disk.
void run_host::write(const ledger& account) {
  if (const std::string gone = ledger_folder_->why_gone(); !gone.empty())
    throw std::runtime_error(gone);
  write_ledger(ledger_file_, account);
  ledger_error_.clear();
}

/// Returns false if the ledger cannot be written.
bool run_host::end_ledger(const ledger& account) {
  if (ledgers_.none()) return true;
  run_record last = record_of(account);
  last.ended = 1;
  if (record_) record_->note(last); // written beside the ledger: the end waits once for a slow disk
  try {
    write(account);
    log_info("ledger written to {}", ledger_file_);
  } catch (const std::exception& e) {
    ledger_error_ = fmt::format("run {} has no final ledger: {}", account.run, reason_of(e));
    log_error("{}", ledger_error_);
  }
  const bool written = ledger_error_.empty();
  record_.reset();
  if (written) ledgers_.drop_record(ledger_file_);
  return written;
}

void run_host::start_ending(sockets_hold what) {
  job_.start([this, what] { drained_clean_ = node_->drain(what); });
}

run_host::ended_run run_host::finish_ending() {
  job_.finish();
  node_->look_around();
  device_lost_ = device_lost_ || node_->device().lost;
  const ledger last = account();
  lost_ = losses();
  const bool written = end_ledger(last);
  ended_run ended{last.run, where_events_are(last), written ? ledger_file_ : std::string(), false,
                  node_->device_hangs()};
  log_info("run {} has ended: events {}", ended.number, ended.text);
  if (!last.balanced())
    log_error("the sums do not balance: an event or a fragment is not accounted for");
  else if (!drained_clean_)
    log_warning("some events could not be forwarded: see shed(drain) in the ledger");
  const std::uint64_t lost = node_->lost_on_disk();
  if (lost > 0)
    log_error("up to {} acknowledged events are lost on disk: see shed(spool) and "
              "spool.lanes[].damaged in the ledger",
              lost);
  const std::uint64_t blocks_gone = node_->blocks_gone();
  if (blocks_gone > 0)
    log_error("{} acknowledged blocks are missing from the spool: see spool.gone in the ledger",
              blocks_gone);
  ended.well = last.balanced() && !node_->failed() && drained_clean_ && lost == 0 &&
               blocks_gone == 0 && written && node_->why_ended().empty();
  std::unique_ptr<node> gone;
  const std::lock_guard lock(mutex_);
  last_ = ended;
  event_pages_.clear();
  if (!ended.device_hangs) gone = std::move(node_); // its destructor would wait for the device
  return ended;
}

device_view run_host::device() const {
  return node_ ? node_->device() : device_view{device_lost_, false, true, true};
}

metrics_snapshot run_host::snapshot() const {
  metrics_snapshot s;
  if (node_) {
    s = node_->snapshot();
    s.account.comment = comment_;
  } else {
    s.version = version();
    s.commit = commit();
    s.node = settings_.run.node;
    s.receiver = settings_.forward.to;
    s.named.most_datagrams = settings_.building.most_datagrams();
    s.process = usage_of_this_process();
    if (const auto on_disk = disks_->spool()) s.spool = {on_disk->totals, on_disk->room};
  }
  s.state = state();
  s.started = started_;
  s.uptime = in_seconds(steady_clock::now() - started_at_);
  s.last_run_crashed = crashed_;
  s.last_run_lost = lost_by_crashes_;
  s.ended_run = lost_;
  s.ledger_error = ledger_error_.empty() && record_ ? record_->error() : ledger_error_;
  s.run.datagrams_without_run = datagrams_without_run();
  s.run.readout_crates = settings_.building.crates.crates.size();
  s.run.beam_without_run = in_seconds(beam_without_run());
  s.output_rate = settings_.forward.rate.bits_per_second / 8;
  const std::lock_guard lock(mutex_);
  if (without_run_) s.run.crates_without_run = without_run_->senders(std::chrono::seconds(5));
  return s;
}

void run_host::tick() {
  if (!node_) return;
  node_->look_around();
  if (record_) record_->note(record_of(node_->account()));
}

void run_host::set_output_rate(bit_rate rate) {
  settings_.forward.rate = rate;
  if (node_) node_->set_output_rate(rate);
}

bool run_host::pauses() const {
  if (node_) return node_->pauses();
  return !without_run_ || without_run_->pauses();
}

state_report run_host::state() const {
  const std::lock_guard lock(mutex_);
  return node_ ? node_->state() : state_report{};
}

std::string run_host::why_ended() const {
  const std::string why = node_ ? node_->why_ended() : std::string();
  return why.empty() ? disks_->why_gone() : why;
}

std::string run_host::stuck() const {
  const std::lock_guard lock(mutex_);
  return node_ ? node_->stuck() : std::string();
}

std::optional<run_host::ended_run> run_host::last() const {
  const std::lock_guard lock(mutex_);
  return last_;
}

http_response run_host::event_page(const std::string& path) const {
  const std::lock_guard lock(mutex_);
  const auto page = event_pages_.find(path);
  if (page != event_pages_.end()) return page->second();
  if (node_) return plain_text(404, "no such page");
  return json_text(std::string("null")); // no run is active
}

std::optional<std::uint32_t> run_host::next_number(const run_control::report& asked) const {
  const std::optional<std::uint32_t> in_folder = ledgers_.highest_run();
  const std::lock_guard lock(mutex_);
  // An empty optional compares less than any number.
  const auto used = used_numbers_.empty() ? std::nullopt : std::optional(*used_numbers_.rbegin());
  const bool begins = number_that_begins_ && asked.has(*number_that_begins_);
  const auto highest = std::max({in_folder, used, begins ? number_that_begins_ : std::nullopt});
  if (!highest) return settings_.run.number;
  if (*highest == std::numeric_limits<std::uint32_t>::max()) return std::nullopt;
  return *highest + 1;
}

bool run_host::was_used(std::uint32_t number, const run_control::report& asked) const {
  if (ledgers_.has_run(number) || ledgers_.highest_run() == number) return true;
  const std::lock_guard lock(mutex_);
  return used_numbers_.contains(number) || (number_that_begins_ == number && asked.has(number));
}

std::vector<std::uint32_t> run_host::silent_crates() const {
  const std::lock_guard lock(mutex_);
  if (!without_run_) return {};
  return without_run_->silent_for(silence);
}

std::chrono::nanoseconds run_host::beam_without_run() const {
  const std::lock_guard lock(mutex_);
  return without_run_ ? without_run_->busy_for() : std::chrono::nanoseconds();
}

std::uint64_t run_host::datagrams_without_run() const {
  const std::lock_guard lock(mutex_);
  return datagrams_before_ + (without_run_ ? without_run_->datagrams() : 0);
}

} // namespace l3
