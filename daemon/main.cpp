// SPDX-License-Identifier: Apache-2.0
// koto-l3d: reads the configuration, starts a node and its monitoring address, and waits for a
// signal.
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <iostream>
#include <map>
#include <mutex>
#include <new>
#include <optional>
#include <regex>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include <CLI/CLI.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <fmt/format.h>
#include <sys/resource.h>

#include "config/endpoint.hpp"
#include "config/load.hpp"
#include "config/usage_mistake.hpp"
#include "daemon/farm/farm_member.hpp"
#include "daemon/farm/farm_node.hpp"
#include "daemon/machine_check.hpp"
#include "daemon/monitor/event_display.hpp"
#include "daemon/monitor/recent_history.hpp"
#include "daemon/monitor/status.hpp"
#include "daemon/monitor/troubles.hpp"
#include "daemon/placement.hpp"
#include "daemon/reload.hpp"
#include "daemon/run/run_api.hpp"
#include "daemon/run/run_control.hpp"
#include "daemon/run/run_host.hpp"
#include "daemon/run/run_steps.hpp"
#include "daemon/words.hpp"
#include "monitor/http_server.hpp"
#include "monitor/log.hpp"
#include "monitor/service_manager.hpp"
#include "monitor/version.hpp"
#include "selection/display/event_picture.hpp"
#include "selection/engine/engine.hpp"
#include "transport/format/plain_text.hpp"
#include "transport/format/time.hpp"
#include "transport/link/link_keys.hpp"
#include "transport/store/store_reader.hpp"
#include "transport/system/file_descriptor.hpp"
#include "transport/system/reason_of.hpp"

namespace {

using namespace l3;

/// Time on top of the drain time: a start in progress ends, and the ledger is written.
constexpr auto longest_start_or_end = std::chrono::seconds(15);

/// Time limit for the start of a run under run control: its node reads the spool and opens the
/// device.
constexpr auto longest_beginning = std::chrono::minutes(10);

constexpr int exit_usage = 2;
constexpr int exit_missing_resource = 69;
constexpr int exit_start_anew = 75; ///< asks the service manager for a new process
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

/// Signals are caught during the whole life of the process. A SIGTERM or SIGINT during the start
/// ends the reading of the spool's files, or drains the node once it has started. A second one does
/// not shorten the drain, and a SIGHUP never ends the process. Signals are ignored while the
/// process prints its last line, so that the exit code tells how it ended.
struct caught_signals {
  struct ignored_at_the_end {
    ~ignored_at_the_end() {
      for (const int number : {SIGTERM, SIGINT, SIGHUP}) (void)std::signal(number, SIG_IGN);
    }
  } later; // the first member: the sets below give the signals back before

  boost::asio::io_context io;
  boost::asio::signal_set stop{io, SIGTERM, SIGINT};
  boost::asio::signal_set reload{io, SIGHUP};
  std::atomic<int> stopped_by = 0; ///< 0: no signal to stop has come

  caught_signals() {
    stop.async_wait([this](const boost::system::error_code& error, int number) {
      if (error) return;
      stopped_by = number;
      if (then_) then_();
    });
  }
  /// Blocks signals until they are ignored.
  ~caught_signals() {
    sigset_t all{};
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
  }
  caught_signals(const caught_signals&) = delete;
  caught_signals& operator=(const caught_signals&) = delete;
  /// Before loop(), only the thread that will call loop() and creates the first node may call it;
  /// after that, any thread.
  [[nodiscard]] bool told_to_stop() {
    if (!then_ && stopped_by == 0) io.poll();
    return stopped_by != 0;
  }
  /// Handles signals and posted work until io.stop(). Calls `next` after a signal and a wake.
  void loop(std::function<void()> next) {
    then_ = std::move(next);
    io.run();
  }
  /// Any thread, while loop() runs.
  void wake() {
    boost::asio::post(io, [this] { then_(); });
  }

private:
  std::function<void()> then_;
};

/// The parts of the process beside the node.
struct bookkeeping {
  run_host runs;
  reloader configuration;
  run_control control; // without run.control one run is active
  run_steps<run_host> steps;
  recent_history history;
  trouble_watch troubles;
  farm_member* farm = nullptr; ///< null: this node stands alone

  bookkeeping(const daemon_settings& s, const std::string& file, run_host::render_function renders,
              memory_guard guard, stop_question stop, std::function<void()> done)
      : runs(s, std::move(renders), std::move(guard), std::move(stop), std::move(done)),
        configuration(file, s,
                      [this](const daemon_settings& changed) {
                        runs.set_output_rate(changed.forward.rate);
                        set_log_level(changed.log.level);
                      }),
        steps(runs, control, {longest_beginning, s.run.drain_time_limit + longest_start_or_end}) {}

  [[nodiscard]] metrics_snapshot snapshot() {
    metrics_snapshot s = runs.snapshot();
    s.reloads_applied = configuration.applied();
    s.reloads_refused = configuration.refused();
    s.last_reload_refused = configuration.last_refused();
    s.log_lines_left_out = log_lines_left_out();
    s.run.state = name_of(control.now().state);
    if (farm != nullptr) s.farm = farm->now();
    const time_point now = steady_clock::now();
    s.run.waits = in_seconds(steps.waits(now));
    history.fill(s, now);
    troubles.look(s, now, 1e-9 * static_cast<double>(nanoseconds_since_1970()));
    return s;
  }
};

/// For `systemctl status`.
std::string status_line(const metrics_snapshot& s) {
  if (s.run.state == "configured")
    return s.troubles.now.empty() ? "no run" : fmt::format("no run; {}", state_text(s));
  if (s.run.state == "armed") return "a run waits for a pause";
  return fmt::format("run {}: {}, {} events", s.account.run, state_text(s),
                     s.account.events.admitted);
}

/// The main loop of the process: reads the counters, reloads the configuration at a SIGHUP, tells
/// the service manager that the daemon is alive, and begins and ends runs. After a signal, or to
/// let a new process start, it ends the active run and then the loop.
class main_loop {
public:
  main_loop(caught_signals& signals, const service_manager& manager, bookkeeping& books,
            latest_snapshot& latest, bool controlled, time_point earliest_renewal)
      : signals_(signals), manager_(manager), books_(books), latest_(latest),
        controlled_(controlled), earliest_renewal_(earliest_renewal) {}

  void run() {
    await_reload();
    boost::asio::post(signals_.io, [this] { tick(); });
    signals_.loop([this] { advance(); });
  }
  [[nodiscard]] bool ended_by_fault() const { return !why_ended_.empty(); }

private:
  static constexpr auto interval = std::chrono::milliseconds(500);

  [[nodiscard]] bool ends() { return makes_way_ || !why_ended_.empty() || signals_.told_to_stop(); }

  void await_reload() {
    signals_.reload.async_wait([this](const boost::system::error_code& error, int /*number*/) {
      if (error) return;
      books_.configuration.reload();
      await_reload();
    });
  }

  void tick() {
    const time_point now = steady_clock::now();
    // After a stop of the process its threads first read what waits, then it is judged.
    if (now - std::exchange(ticked_at_, now) > 3 * interval) std::this_thread::sleep_for(interval);
    books_.runs.tick();
    if (books_.farm != nullptr) books_.farm->beam(books_.runs.pauses());
    metrics_snapshot now_is = books_.snapshot();
    if (manager_.is_there()) manager_.status(status_line(now_is));
    latest_.set(std::move(now_is));
    // The service manager restarts a daemon that does not report.
    if (books_.runs.stuck().empty() && !books_.steps.overdue(now)) manager_.alive();
    if (!ends() && renewal_is_due(now)) makes_way_ = true;
    if (!ends()) why_ended_ = books_.runs.why_ended();
    advance();
    timer_.expires_after(interval);
    timer_.async_wait([this](const boost::system::error_code& error) {
      if (!error) tick();
    });
  }

  /// Only a new process can use a lost device again, and only a service manager starts one. With
  /// run control the daemon restarts between runs, because a new process has no run.
  [[nodiscard]] bool renewal_is_due(time_point now) {
    if (!manager_.is_there() || now < earliest_renewal_) return false;
    const bool idle = books_.control.now().state == run_state::configured;
    if (books_.runs.in_force() == nullptr ? !idle : controlled_) return false;
    return books_.runs.device().wants_new_process() &&
           (!controlled_ || books_.control.close_if_idle());
  }

  /// Also called when a run has begun or ended, and when a signal has come.
  void advance() {
    if (!said_ && ends()) say_why();
    if (!books_.steps.step(ends(), steady_clock::now())) signals_.io.stop();
  }

  void say_why() {
    said_ = true;
    manager_.stopping();
    if (books_.farm != nullptr) books_.farm->leave();
    if (!why_ended_.empty())
      log_error("draining: {}", why_ended_);
    else if (signals_.stopped_by == 0)
      log_warning("draining: only a new process can recover the device (exit code {})",
                  exit_start_anew);
    else
      log_info("{}: draining", signals_.stopped_by == SIGTERM ? "SIGTERM" : "SIGINT");
  }

  caught_signals& signals_;
  const service_manager& manager_;
  bookkeeping& books_;
  latest_snapshot& latest_;
  bool controlled_;
  time_point earliest_renewal_;
  time_point ticked_at_ = steady_clock::now();
  bool makes_way_ = false; // for a new process, which alone can use the device again
  std::string why_ended_;  // empty: no other reason to end
  bool said_ = false;
  boost::asio::steady_timer timer_{signals_.io};
};

/// Tests of the whole chain replace the GPU by a CPU device that fails
/// (selection/engine/faulty_engine.hpp): "error:every=100", "hang:at=5:for=3 s", "dead:from=10",
/// "no_memory".
void imagine_a_fault(compute_settings& s) {
  const char* const text = std::getenv("KOTO_L3_TEST_FAULT"); // NOLINT: no other thread runs yet
  if (text == nullptr || *text == 0) return;
  static const std::map<std::string, fault_kind> kinds{
      {"no_memory", fault_kind::no_memory},
      {"error", fault_kind::error},
      {"no_restart", fault_kind::no_restart},
      {"dead", fault_kind::dead},
      {"lost", fault_kind::lost},
      {"hang", fault_kind::hang},
      {"stall", fault_kind::stall},
      {"wrong_bit", fault_kind::wrong_bit},
      {"wrong_decision", fault_kind::wrong_decision}};
  const std::regex form("([a-z_]+)(:(every|at|from)=([0-9]{1,18}))?(:for=([0-9]{1,9}) s)?");
  std::cmatch part;
  if (!std::regex_match(text, part, form) || !kinds.contains(part[1]))
    throw std::runtime_error(fmt::format("KOTO_L3_TEST_FAULT: no fault \"{}\"", text));
  s.fault.kind = kinds.at(part[1]);
  if (part[2].matched)
    (part[3] == "every" ? s.fault.every
     : part[3] == "at"  ? s.fault.at
                        : s.fault.from) = std::stoull(part[4]);
  if (part[5].matched) s.fault.lasts = std::chrono::seconds(std::stoll(part[6]));
}

/// For --check-config: finds everything that would make a start on this machine fail.
bool can_start(daemon_settings s) {
  const found_devices devices = find_devices(s.compute);
  static_cast<void>(choose_frames(s, devices, lowest_memory_limit()));
  auto [wrong, notes] = check_start(s);
  try {
    static_cast<void>(place_threads(s));
  } catch (const std::runtime_error& e) {
    wrong.emplace_back(e.what());
  }
  wrong.push_back(wrong_with_backend(s.compute));
  wrong.push_back(wrong_with_memory(s, devices, lowest_memory_limit()));
  std::erase(wrong, "");
  for (const auto& all : {notes, wrong})
    for (const std::string& text : all)
      std::fprintf(stderr, "koto-l3d: %s\n", plain_line(text).c_str());
  return wrong.empty();
}

/// For --check-config: files that only the service can read are reported and not counted as
/// mistakes. Another machine's keys are left out.
void leave_out_keys(daemon_settings& s, bool elsewhere) {
  const auto look = [&](const char* key, std::string& file) {
    const bool of_service = is_for_the_service_alone(file);
    if (of_service && !elsewhere)
      std::fprintf(stderr, "koto-l3d: %s: %s was not checked: only the service can read it\n", key,
                   plain_line(file).c_str());
    if (of_service || elsewhere) file.clear();
  };
  look("forward.secret_key", s.forward.secret_key);
  look("farm.password", s.farm.password);
  if (elsewhere) s.forward.receiver_key.clear();
}

/// For --print-config: prints a file with the same effect. A comment gives the values of "auto" on
/// this machine.
void print(const loaded_config& config) {
  std::fputs(print_config(config.settings, config.origins).c_str(), stdout);
  daemon_settings here = config.settings;
  const std::string chosen = choose_frames(here, find_devices(here.compute), lowest_memory_limit());
  if (!chosen.empty()) std::printf("\n# %s\n", chosen.c_str());
}

int run(const loaded_config& config, const std::string& file) {
  daemon_settings settings = config.settings;
  imagine_a_fault(settings.compute);
  prepare_driver(settings.frames.any_count ? most_frames_chosen : settings.frames.count);
  const std::string places = place_threads(settings); // before any thread is started
  caught_signals signals;
  const auto manager = service_manager::from_environment();
  long_start start(manager);
  start_logging("koto-l3d", settings.log.level);

  log_info("placement: {}", places);
  const found_devices devices = find_devices(settings.compute);
  const std::string chosen = choose_frames(settings, devices, lowest_memory_limit());
  if (!chosen.empty()) log_info("{}", chosen);
  const memory_guard memory_check = [devices](const daemon_settings& s) {
    return wrong_with_memory(s, devices, lowest_memory_limit());
  };
  if (const std::string wrong = memory_check(settings); !wrong.empty())
    throw std::runtime_error(wrong);
  bookkeeping books(
      settings, file,
      [&config](const daemon_settings& s) { return print_config(s, config.origins); }, memory_check,
      [&signals, &start] {
        start.goes_on(steady_clock::now());
        return signals.told_to_stop();
      },
      [&signals] { signals.wake(); });
  const bool controlled = !settings.run.control.empty();
  if (controlled) {
    books.runs.keep_ports();
    books.runs.go_without_run();
  } else {
    const run_order only{settings.run.number, {}, {}};
    static_cast<void>(books.control.start(only));
    books.runs.begin(only);
    static_cast<void>(books.control.comes_into_force(only));
    books.control.begun();
  }
  latest_snapshot latest;
  latest.set(books.snapshot());
  std::optional<http_server> http;
  if (!settings.monitor.bind.empty()) {
    http_pages pages =
        monitor_pages([&] { return latest.get(); }, [&] { return books.runs.state(); },
                      [&] { return books.runs.stuck(); });
    pages["/event.js"] = [] {
      return http_response{200, "text/javascript; charset=utf-8", std::string(event_module)};
    };
    std::vector<std::string> of_run = event_display::paths();
    of_run.insert(of_run.end(), {"/histograms", "/histograms/short"});
    for (const std::string& path : of_run)
      pages[path] = [&books, path] { return books.runs.event_page(path); };
    naming_key("monitor.bind", [&] {
      http.emplace(settings.monitor.bind, settings.monitor.port, std::move(pages));
    });
    log_info("monitoring on http://{}/",
             text_of(internet_address{settings.monitor.bind, http->port()}));
  }
  const auto newest = [&] { return latest.get(); };
  farm_node in_farm(settings, books.control, books.runs, newest);
  std::optional<farm_member> farm;
  if (!settings.farm.etcd.empty()) books.farm = &farm.emplace(settings.farm, in_farm);
  run_api api(settings, books.control, books.runs, newest, books.farm);
  std::optional<http_server> control;
  if (controlled) {
    naming_key("run.control",
               [&] { control.emplace(settings.run.control, api.pages(), api.actions()); });
    books.runs.tell_of_crashes();
    log_info("ready for runs, node {}: `koto-l3 run start --socket {}` begins one",
             settings.run.node, settings.run.control);
  } else {
    books.runs.announce();
  }
  manager.ready();

  // A device that fails at once causes at most one restart in this time. A simulated failure needs
  // no pause.
  const bool imagined = settings.compute.fault.kind != fault_kind::none;
  const auto least_age = imagined ? std::chrono::minutes(0) : std::chrono::minutes(10);
  main_loop loop(signals, manager, books, latest, controlled, steady_clock::now() + least_age);
  loop.run();

  control.reset();
  books.farm = nullptr;
  farm.reset();
  const bool anew = signals.stopped_by == 0; // a new process takes over, or the device hangs
  const bool failed = books.steps.failed() || loop.ended_by_fault();
  const int code = failed ? EXIT_FAILURE : anew ? exit_start_anew : EXIT_SUCCESS;
  if (books.steps.hangs()) {
    log_warning("the device still hangs: its memory is not released");
    close_log();
    std::_Exit(code); // destructors would wait for the device forever
  }
  return code;
}

/// Names the limit that was reached, whichever file or socket reached it.
std::string remedy_for(const std::string& reason) {
  const std::string none_left = std::generic_category().message(EMFILE);
  rlimit limit{};
  if (reason.find(none_left) == reason.npos || ::getrlimit(RLIMIT_NOFILE, &limit) != 0) return {};
  return fmt::format(": this process may have {} at once; raise LimitNOFILE of its unit, or "
                     "`ulimit -n`",
                     limit.rlim_cur);
}

/// The disk is full, or the reader has gone.
int output_failed() {
  say_last("koto-l3d: standard output could not be written");
  return EXIT_FAILURE;
}

} // namespace

int main(int argc, char** argv) {
  take_closed_streams();
  prepare_driver();
  (void)std::signal(SIGPIPE, SIG_IGN); // a write to a closed pipe is an error
  (void)std::signal(SIGXFSZ, SIG_IGN); // so is a write beyond RLIMIT_FSIZE
  CLI::App program{"koto-l3d: the level-3 trigger daemon of KOTO", "koto-l3d"};
  program.failure_message(usage_mistake);
  std::string file;
  bool check = false;
  bool elsewhere = false;
  bool print_all = false;
  program
      .add_option("--config", file,
                  "Configuration file (TOML); without it every key has its default")
      ->check(refuse_no_name);
  auto* const checks = program.add_flag("--check-config", check,
                                        "Check the configuration, and whether this user can start "
                                        "the daemon with it here; then exit");
  program
      .add_flag("--elsewhere", elsewhere,
                "The configuration is for another machine: do not check addresses, folders, keys, "
                "memory and devices")
      ->needs(checks);
  program.add_flag("--print-config", print_all,
                   "Print the effective configuration and where each value comes from, then exit");
  program.set_version_flag("--version", version_line("koto-l3d"));
  try {
    program.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    const int code = program.exit(e) == 0 ? EXIT_SUCCESS : exit_usage; // also prints the help
    return std::cout.flush() ? code : output_failed();
  }

  try {
    const loaded_config config = file.empty() ? loaded_config{} : load_config(file);
    loaded_config looked_at = config;
    if (check) leave_out_keys(looked_at.settings, elsewhere);
    const auto mistakes = mistakes_in(looked_at);
    if (!mistakes.empty()) {
      say_last(fmt::format("{}", fmt::join(mistakes, "\n")));
      return exit_bad_configuration;
    }
    if (print_all) print(config);
    if (check && !elsewhere && !can_start(config.settings)) return exit_missing_resource;
    if (check) std::printf("%s: ok\n", file.empty() ? "defaults" : plain_line(file).c_str());
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) return output_failed();
    return check || print_all ? EXIT_SUCCESS : run(config, file);
  } catch (const scan_stopped& e) {
    say_last(fmt::format("koto-l3d: {}", e.what()));
    return EXIT_SUCCESS;
  } catch (const std::bad_alloc&) {
    say_last("koto-l3d: not enough memory for the configured frames, outbox and building");
    return exit_missing_resource;
  } catch (const std::exception& e) {
    const std::string reason = reason_of(e);
    say_last(plain_line(fmt::format("koto-l3d: {}{}", reason, remedy_for(reason))));
    wait_for_a_later_start();
    return exit_missing_resource;
  }
}
