// SPDX-License-Identifier: Apache-2.0
// koto-l3d: reads the configuration, starts a node and its monitoring address, and waits for a
// signal.
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <functional>
#include <mutex>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <sys/mman.h>

#include <CLI/CLI.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <spdlog/spdlog.h>

#include "config/load.hpp"
#include "config/print.hpp"
#include "daemon/end_in_time.hpp"
#include "daemon/monitor/http_server.hpp"
#include "daemon/monitor/log.hpp"
#include "daemon/monitor/run_record.hpp"
#include "daemon/monitor/service_manager.hpp"
#include "daemon/monitor/status.hpp"
#include "daemon/naming_key.hpp"
#include "daemon/node.hpp"
#include "daemon/reload.hpp"
#include "transport/accounting/ledger.hpp"
#include "transport/store/store_reader.hpp"
#include "transport/system/file_io.hpp"

namespace {

using namespace l3;

/// Beside the drain: what is being started ends, and the ledger is written.
constexpr auto longest_start_or_end = std::chrono::seconds(15);

constexpr int exit_usage = 2;
constexpr int exit_missing_resource = 69;
constexpr int exit_bad_configuration = 78;

/// The newest snapshot, for the HTTP thread.
class latest_snapshot {
public:
  void set(metrics_snapshot s) {
    const std::lock_guard lock(mutex_);
    snapshot_ = std::move(s);
  }
  [[nodiscard]] metrics_snapshot get() const {
    const std::lock_guard lock(mutex_);
    return snapshot_;
  }

private:
  mutable std::mutex mutex_;
  metrics_snapshot snapshot_;
};

/// Signals are caught from the first moment to the last: a SIGTERM or SIGINT during the start ends
/// the reading of the spool's files, or else drains the node once it has started; a second one does
/// not cut the drain short, and a SIGHUP never ends the process.
struct caught_signals {
  boost::asio::io_context io;
  boost::asio::signal_set stop{io, SIGTERM, SIGINT};
  boost::asio::signal_set reload{io, SIGHUP};
  int stopped_by = 0; ///< 0: nothing has told the daemon to stop

  caught_signals() {
    stop.async_wait([this](const boost::system::error_code& error, int number) {
      if (error) return;
      stopped_by = number;
      io.stop();
    });
  }
  /// For the thread that starts the node, before the signals are waited for.
  [[nodiscard]] bool told_to_stop() {
    if (stopped_by == 0) io.poll();
    return stopped_by != 0;
  }
};

/// What the process keeps beside the node.
struct bookkeeping {
  reloader configuration;
  std::optional<run_record_file> record; // none without a ledger

  [[nodiscard]] metrics_snapshot snapshot_of(const node& n) const {
    metrics_snapshot s = n.snapshot();
    s.reloads_applied = configuration.applied();
    s.reloads_refused = configuration.refused();
    if (record && record->crashed()) s.last_run_lost = in_memory(*record->crashed());
    return s;
  }
};

/// Reads how the run before ended, and begins the record of this one.
void begin_record(bookkeeping& books, const std::string& ledger_file, const ledger& account) {
  if (ledger_file.empty()) return;
  books.record.emplace(ledger_file + ".live", record_of(account),
                       [](std::string_view text) { spdlog::warn("{}", text); });
  if (books.record->crashed()) spdlog::warn("{}", describe_crash(*books.record->crashed()));
}

/// Folds the counters, and reads the configuration again at a SIGHUP, until a signal ends it.
void watch(node& n, latest_snapshot& latest, const service_manager& manager, bookkeeping& books,
           caught_signals& signals) {
  constexpr auto interval = std::chrono::milliseconds(500);
  std::function<void(const boost::system::error_code&, int)> reload =
      [&](const boost::system::error_code& error, int /*number*/) {
        if (error) return;
        books.configuration.reload();
        signals.reload.async_wait(reload);
      };
  signals.reload.async_wait(reload);
  boost::asio::steady_timer timer(signals.io);
  std::function<void(const boost::system::error_code&)> tick =
      [&](const boost::system::error_code& error) {
        if (error) return;
        n.look_around();
        metrics_snapshot now = books.snapshot_of(n);
        if (books.record) books.record->note(record_of(now.account));
        latest.set(std::move(now));
        if (n.stuck().empty()) manager.alive(); // else the service manager restarts the daemon
        timer.expires_after(interval);
        timer.async_wait(tick);
      };
  if (!signals.told_to_stop()) {
    tick({});
    signals.io.run();
  }
  spdlog::info("{}: draining", signals.stopped_by == SIGTERM ? "SIGTERM" : "SIGINT");
}

std::string last_error_text() { return last_error().message(); }

/// Keeps frames, outbox and tables, all of them touched by now, in memory if the limits of this
/// user allow it; untouched pages (most of each thread's stack) are not brought in.
void lock_memory() {
  if (mlockall(MCL_CURRENT | MCL_ONFAULT) != 0) {
    spdlog::warn("memory is not locked ({}): raise LimitMEMLOCK or `ulimit -l`", last_error_text());
  }
}

void log_memory(const std::vector<memory_use>& plan) {
  std::size_t total = 0;
  const auto line = [](std::size_t bytes, std::string_view what) {
    spdlog::info("memory: {:>8.1f} MB {}", static_cast<double>(bytes) / 1e6, what);
  };
  for (const memory_use& use : plan) {
    line(use.bytes, use.what);
    total += use.bytes;
  }
  line(total, "in all; it does not grow");
}

/// Throws if the ledger cannot be written, at the start and not at the end.
void check_ledger_place(const std::string& file) {
  const std::string trial = file + ".trial";
  std::remove(trial.c_str()); // a link of that name goes, and what it leads to stays
  const file_descriptor made = create_file(trial, O_WRONLY | O_EXCL | O_NOFOLLOW);
  if (!made)
    throw std::runtime_error("run.ledger: cannot write " + file + ": " + last_error_text());
  std::remove(trial.c_str());
}

int run(const daemon_settings& settings, std::string configuration, std::string file) {
  caught_signals signals;
  const end_in_time guard(settings.run.drain_time_limit + longest_start_or_end);
  const auto manager = service_manager::from_environment();
  start_logging(settings.log.level);

  if (!settings.run.ledger.empty()) check_ledger_place(settings.run.ledger);
  node n(settings, std::move(configuration), [&signals] { return signals.told_to_stop(); });
  lock_memory();
  log_memory(n.memory_plan());
  latest_snapshot latest;
  latest.set(n.snapshot());
  std::optional<http_server> http;
  if (!settings.monitor.bind.empty()) {
    naming_key("monitor.bind", [&] {
      http.emplace(settings.monitor.bind, settings.monitor.port,
                   monitor_pages([&] { return latest.get(); }, [&] { return n.state(); },
                                 [&] { return n.stuck(); }));
    });
    spdlog::info("monitoring on http://{}:{}/", settings.monitor.bind, http->port());
  }
  bookkeeping books{reloader(std::move(file), settings,
                             [&n](const daemon_settings& s) {
                               n.set_output_rate(s.forward.rate);
                               set_log_level(s.log.level);
                             }),
                    {}};
  // The start has succeeded. After a crash the ledger that is found must be this run's, not an
  // earlier one's.
  if (!settings.run.ledger.empty()) write_ledger(settings.run.ledger, n.account());
  begin_record(books, settings.run.ledger, n.account());
  spdlog::info("ready: run {}, node {}, kernels on {}", settings.run.number, settings.run.node,
               n.backend());
  manager.ready();

  watch(n, latest, manager, books, signals);

  manager.stopping();
  const bool clean = n.drain();
  latest.set(books.snapshot_of(n));
  const ledger account = n.account();
  if (!settings.run.ledger.empty()) {
    write_ledger(settings.run.ledger, account);
    spdlog::info("ledger written to {}", settings.run.ledger);
  }
  if (books.record) {
    run_record last = record_of(account);
    last.ended = 1;
    books.record->note(last);
  }
  if (!account.balanced())
    spdlog::error("the sums do not balance: an event or a fragment is not accounted for");
  else if (!clean)
    spdlog::warn("some events could not be forwarded: see shed(drain) in the ledger");
  const int code = !account.balanced() || n.failed() ? EXIT_FAILURE : EXIT_SUCCESS;
  if (n.device_hangs()) {
    spdlog::warn("the device still hangs: its memory is not released");
    spdlog::shutdown();
    books.record.reset();
    std::_Exit(code); // destructors would wait for the device for ever
  }
  return code;
}

} // namespace

int main(int argc, char** argv) {
  CLI::App program{"koto-l3d: the level-3 trigger daemon of KOTO", "koto-l3d"};
  std::string file;
  bool check = false;
  bool print = false;
  program.add_option("--config", file, "Configuration, TOML; without it every key has its default");
  program.add_flag("--check-config", check, "Check the configuration and end");
  program.add_flag("--print-config", print,
                   "Print the effective configuration and where each value comes from, and end");
  program.set_version_flag("--version", "koto-l3d " L3_VERSION);
  try {
    program.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return program.exit(e) == 0 ? EXIT_SUCCESS : exit_usage;
  }

  try {
    const loaded_config config = file.empty() ? loaded_config{} : load_config(file);
    const auto mistakes = mistakes_in(config);
    for (const std::string& mistake : mistakes) std::fprintf(stderr, "%s\n", mistake.c_str());
    if (!mistakes.empty()) return exit_bad_configuration;
    if (print) std::fputs(print_config(config.settings, config.origins).c_str(), stdout);
    if (check) std::printf("%s: ok\n", file.empty() ? "defaults" : file.c_str());
    return check || print
               ? EXIT_SUCCESS
               : run(config.settings, print_config(config.settings, config.origins), file);
  } catch (const scan_stopped& e) {
    std::fprintf(stderr, "koto-l3d: %s\n", e.what());
    return EXIT_SUCCESS;
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr,
                 "koto-l3d: not enough memory for the configured frames, outbox and building\n");
    return exit_missing_resource;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "koto-l3d: %s\n", e.what());
    return exit_missing_resource;
  }
}
