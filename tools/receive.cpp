// SPDX-License-Identifier: Apache-2.0
// `koto-l3 receive`: the receiving end of the output link. Stores blocks and acknowledges them.
#include <algorithm>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include <boost/json.hpp>
#include <fmt/format.h>
#include <sys/resource.h>

#include "config/amount.hpp"
#include "config/endpoint.hpp"
#include "config/usage_mistake.hpp"
#include "monitor/log.hpp"
#include "monitor/service_manager.hpp"
#include "monitor/version.hpp"
#include "receiver/block_receiver.hpp"
#include "receiver/watch.hpp"
#include "tools/command_line.hpp"
#include "tools/interrupt.hpp"
#include "tools/print.hpp"
#include "tools/progress.hpp"
#include "tools/receive/shown_events.hpp"
#include "tools/verify/agreement.hpp"
#include "transport/accounting/ledger.hpp"
#include "transport/format/units.hpp"
#include "transport/link/link_keys.hpp"
#include "transport/store/block_file.hpp"
#include "transport/store/held_folder.hpp"
#include "transport/system/file_io.hpp"
#include "transport/system/known_folder.hpp"
#include "transport/system/memory_limit.hpp"
#include "transport/system/name_lookup.hpp"
#include "transport/system/reason_of.hpp"

namespace l3 {
namespace {

using namespace std::chrono_literals;

struct options {
  receive_settings receiver;
  store_settings store;
  std::optional<internet_address> monitor;
  bool json = false;
  bool check = false;
  bool elsewhere = false;
  bool insecure = false;
};

constexpr auto longest_step = 100ms;
constexpr auto pause_for_ledger = 5s;      // after a failed write
constexpr auto idle_time = 1s;             // without a block, before the ledger is written
constexpr auto pause_between_ledgers = 1s; // a peer may say goodbye at any rate
constexpr std::string_view ledger_name = "ledger.json"; // in the store

void warn(std::string_view text) { log_warning("{}", text); }

/// `failing`: the receiver ends because its store cannot be written.
enum class receiver_is : std::uint8_t { running, failing, ended };

/// The contents of the store, and the data received since the start.
ledger account_of(const store_writer& store, const receive_counters& c, receiver_is now) {
  ledger l;
  l.program = "receive";
  l.run = store.last_run();
  l.ended = now != receiver_is::running;
  l.clean = now == receiver_is::ended;
  for (const auto& [session, s] : store.sessions()) {
    l.sessions.push_back(session);
    l.events.admitted += s.events;
    l.bytes.out += s.bytes;
  }
  l.events.forwarded = l.events.admitted;
  l.bytes.in = c.bytes;
  auto& d = l.datagrams;
  d.received = c.messages;
  d.data = c.blocks;
  d.duplicate = c.duplicates;
  d.malformed = counts_of(c.damaged);
  d.malformed.erase(std::string(name_of(block_fault::none)));
  d.malformed["garbage"] = c.garbage;
  d.malformed["gap"] = c.gaps;
  d.malformed["stranger"] = c.strangers;
  d.malformed["unknown_key"] = c.connections.unknown_key;
  d.malformed["mechanism"] = c.connections.mechanism;
  d.malformed["handshake"] = c.connections.handshake();
  return l;
}

/// Writes the ledger. The trouble ledger_fails tells of failures.
class ledger_file {
public:
  explicit ledger_file(std::filesystem::path path) : path_(std::move(path)) {}

  /// Throws command_error if the ledger can never be written. A full disk may have room later, and
  /// a waiting receiver reports it to its daemons.
  void begin(const ledger& l) {
    if (!write(l) && !is_want_of_room(error_))
      throw command_error("the ledger: " + trouble_, exit_missing_resource);
  }
  bool write(const ledger& l) {
    try {
      write_ledger(path_, l);
      trouble_.clear();
    } catch (const std::system_error& e) {
      trouble_ = reason_of(e);
      error_ = e.code();
      next_try_ = steady_clock::now() + pause_for_ledger;
    }
    return trouble_.empty();
  }
  /// Why the ledger could not be written; empty if it could.
  [[nodiscard]] const std::string& trouble() const { return trouble_; }
  [[nodiscard]] bool is_to_be_tried(time_point now) const {
    return !trouble_.empty() && now >= next_try_;
  }

private:
  std::filesystem::path path_;
  std::string trouble_;
  std::error_code error_;
  time_point next_try_{};
};

std::uint64_t refused_connections(const receive_counters& c) {
  return c.connections.unknown_key + c.connections.mechanism + c.connections.handshake();
}

void summarize(const options& o, const ledger& l, const receive_counters& c) {
  if (o.json) {
    const boost::json::object all{{"folder", o.store.folder.string()},
                                  {"events", l.events.forwarded},
                                  {"bytes", l.bytes.out},
                                  {"sessions", l.sessions.size()},
                                  {"blocks_received", c.blocks.get()},
                                  {"blocks_stored", c.stored_blocks.get()},
                                  {"duplicates", c.duplicates.get()},
                                  {"repeated_events", c.repeated_events.get()},
                                  {"garbage", c.garbage.get()},
                                  {"connections_refused", refused_connections(c)},
                                  {"store_errors", c.store_errors.get()}};
    print_json("{}\n", boost::json::serialize(all));
  } else {
    print_plain("{}: {} events, {:.1f} MB of {} sessions; now {} blocks stored, {} dropped as "
                "repeats, {} events left out as repeats\n",
                o.store.folder.string(), l.events.forwarded, static_cast<double>(l.bytes.out) / 1e6,
                l.sessions.size(), c.stored_blocks.get(), c.duplicates.get(),
                c.repeated_events.get());
    if (const std::uint64_t n = refused_connections(c); n > 0)
      print_plain("{} connections refused: {} with an unknown key, {} with keys on one side only, "
                  "{} without a complete handshake\n",
                  n, c.connections.unknown_key.get(), c.connections.mechanism.get(),
                  c.connections.handshake());
  }
}

/// Every connection, even a stranger's, takes a descriptor during its handshake; the store must
/// still get its own.
void raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  (void)::setrlimit(RLIMIT_NOFILE, &limit);
}

/// Keys are the default. A link on loopback may do without them.
void refuse_no_keys(const options& o) {
  if (!o.receiver.secret_key.empty() || o.insecure || is_on_this_machine(o.receiver.bind)) return;
  throw command_error(
      fmt::format(
          "other machines can reach {}, and the link has no keys: make keys with `koto-l3 keys` "
          "and give --secret-key and --allow, or --insecure if everyone on the network may send",
          o.receiver.bind),
      exit_usage);
}

/// A store in a daemon's spool would lock the daemon out, and a mistyped folder of other files
/// would be filled. The folder of a new store is empty, but for hidden files and what a disk begins
/// with.
void refuse_other_folder(const std::filesystem::path& folder) {
  std::error_code error;
  if (!std::filesystem::is_directory(folder, error)) return;
  const auto refuse = [&](const std::string& what) {
    throw command_error(
        fmt::format("--out: {} {}: give the store a folder of its own", folder.string(), what),
        exit_usage);
  };
  if (opened([&] { return kind_of(folder); }) == store_kind::spool)
    refuse("is the spool of a daemon (spool.folder)");
  std::string other;
  for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end;
       at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (name == ledger_name || is_name_of_stored_data(name)) return;
    if (!name.starts_with('.') && name != "lost+found") other = name;
  }
  if (!other.empty())
    refuse(fmt::format("is not a store and holds other files, such as {}", other));
}

/// Only the last part of the path may be new; otherwise the path is probably mistyped.
void refuse_missing(const std::filesystem::path& folder, const std::string& why) {
  if (!why.empty())
    throw command_error("cannot make the folder " + folder.string() + ": " + why,
                        exit_missing_resource);
}

int receive_until_told(const options& o, store_writer& store, block_receiver& receiver,
                       const service_manager& manager, interrupt& signals) {
  ledger_file file(o.store.folder / ledger_name);
  // After a crash the ledger on disk must be this receiver's, not an earlier one's.
  file.begin(account_of(store, receiver.counters(), receiver_is::running));
  shown_events events; // for the page, so it outlives the watch
  if (o.monitor)
    receiver.show_blocks_to([&](auto block, time_point now) { events.offer(block, now); });
  receive_watch watch(o.monitor, o.receiver, store, receiver, manager, events.pages());
  log_info("listening on {}, storing in {}, with {} MiB of memory at most", receiver.endpoint(),
           o.store.folder.string(), block_receiver::memory_plan(o.receiver).bytes >> 20);
  const memory_limit limit = lowest_memory_limit();
  if (const auto plan = block_receiver::memory_plan(o.receiver).bytes; plan > limit.bytes)
    log_warning(
        "{} has {} MiB, which is less: the receiver may run out of memory when all peers send",
        limit.whose, limit.bytes >> 20);
  if (o.monitor) log_info("monitoring on {}", watch.address());
  if (receiver.publisher() != nullptr)
    log_info("publishing events on {}", receiver.publisher()->endpoint());
  progress line("receive", 0, "events stored");
  std::uint64_t blocks = 0;
  std::uint64_t blocks_in_ledger = 0;
  std::uint64_t goodbyes = 0;
  bool ledger_is_due = false;
  time_point last_block{};
  time_point next_ledger{};
  while (!signals.came()) {
    (void)receiver.step(longest_step);
    watch.look(steady_clock::now(), file.trouble());
    const auto& c = receiver.counters();
    const time_point now = steady_clock::now();
    if (std::exchange(blocks, c.blocks.get()) != c.blocks.get()) last_block = now;
    const bool goodbye = std::exchange(goodbyes, c.goodbyes.get()) != c.goodbyes.get();
    const bool idle = blocks != blocks_in_ledger && now >= last_block + idle_time;
    ledger_is_due = ledger_is_due || goodbye || idle;
    if (ledger_is_due && now >= next_ledger) {
      ledger_is_due = false;
      blocks_in_ledger = blocks;
      next_ledger = now + pause_between_ledgers;
      file.write(account_of(store, c, receiver_is::running));
    } else if (file.is_to_be_tried(now)) {
      file.write(account_of(store, c, receiver_is::running));
    }
    line.update(c.stored_events);
  }
  line.clear();
  watch.stopping();
  receiver.close();
  const std::error_code fault = store.complete_all_files();
  if (fault) log_error("the store cannot be written: {}", fault.message());
  for (const std::string& text : store.take_news()) warn(text);
  const bool failed = fault || store.has_doubtful_blocks();
  const ledger l =
      account_of(store, receiver.counters(), failed ? receiver_is::failing : receiver_is::ended);
  summarize(o, l, receiver.counters());
  if (!file.write(l)) {
    log_error("the final ledger could not be written: {}", file.trouble());
    return exit_failure;
  }
  return failed ? exit_failure : 0;
}

/// Refuses texts that the shell should have replaced (config/usage_mistake.hpp).
std::string refuse_no_path(const std::string& text) {
  const std::string_view wrong = wrong_with_path(text);
  return wrong.empty() ? "" : fmt::format("{} {}", text, wrong);
}

std::string refuse_no_endpoint(const std::string& text) {
  return is_endpoint(text) ? "" : text + " is not an endpoint like tcp://127.0.0.1:42200";
}

/// For --check-config: a folder that is created when the service starts is no mistake.
void look_at_folder(const std::filesystem::path& folder) {
  const auto above = (folder.has_filename() ? folder : folder.parent_path()).parent_path();
  if (comes_with_the_service(above))
    return print_error("out: there is no folder {} yet: the service creates it\n", above.string());
  refuse_missing(folder, why_no_last_folder(folder));
  if (const std::string why = why_not_writable(folder); !why.empty())
    throw command_error("--out: " + why, exit_missing_resource);
}

/// For --check-config. A port in use now may be free at the start.
void look_at_addresses(const options& o) {
  const auto look = [](const char* option, const std::optional<internet_address>& at) {
    if (at && at->host != "*" &&
        !opened([&] { return is_local_address(listening_address(at->host)); }))
      throw command_error(
          fmt::format("{}: no network card of this machine has the address {}", option, at->host),
          exit_missing_resource);
  };
  const auto address_of = [](const std::string& endpoint) {
    return read_address(endpoint.substr(endpoint.find("//") + 2));
  };
  look("--bind", address_of(o.receiver.bind));
  if (!o.receiver.publish.empty()) look("--publish", address_of(o.receiver.publish));
  look("--monitor", o.monitor);
  if (!o.monitor) return;
  const std::string at = fmt::format("tcp://{}", text_of(*o.monitor));
  if (o.monitor->port != 0 && at == o.receiver.bind)
    throw command_error(fmt::format("--monitor and --bind use the same port, {}: give each its own",
                                    text_of(*o.monitor)),
                        exit_missing_resource);
}

/// Throws command_error with this exit code.
void look_at_keys(const receive_settings& s, int exit_code) {
  const auto look = [&](const char* option, const std::string& file, auto read) {
    try {
      if (!file.empty()) static_cast<void>(read(file));
    } catch (const std::runtime_error& e) {
      throw command_error(fmt::format("{}: {}", option, reason_of(e)), exit_code);
    }
  };
  look("--secret-key", s.secret_key, read_secret_key);
  look("--allow", s.allow, read_public_keys);
}

/// For --check-config: options were read; checks the keys, except one that only the service can
/// read, and what a start needs on this machine.
int check(const options& o, const std::string& file) {
  refuse_no_keys(o);
  if (!o.elsewhere) {
    refuse_other_folder(o.store.folder);
    look_at_folder(o.store.folder);
    look_at_addresses(o);
    receive_settings keys = o.receiver;
    if (is_for_the_service_alone(keys.secret_key)) {
      print_error("secret_key: {} was not checked: only the service can read it\n",
                  keys.secret_key);
      keys.secret_key.clear();
    }
    look_at_keys(keys, exit_bad_configuration);
  }
  print_plain("{}: ok\n", file.empty() ? "options" : file);
  return 0;
}

int receive(const options& o) {
  interrupt signals;
  const auto manager = service_manager::from_environment();
  long_start start(manager);
  start_logging("koto-l3 receive", "info");
  raise_descriptor_limit();
  refuse_no_keys(o);
  refuse_other_folder(o.store.folder);
  look_at_keys(o.receiver, exit_missing_resource);
  refuse_missing(o.store.folder, why_not_made(o.store.folder, is_a_service()));
  try {
    store_settings settings = o.store;
    settings.software = version_line("koto-l3");
    settings.stop = [&signals, &start] {
      start.goes_on(steady_clock::now());
      return signals.came();
    };
    store_writer store(settings);
    if (store.torn_ends() > 0) log_warning("{} torn ends of files were cut off", store.torn_ends());
    if (store.damaged() > 0) log_warning("{} places of the store are damaged", store.damaged());
    for (const std::string& text : store.take_news()) warn(text);
    block_receiver receiver(o.receiver, store, warn);
    return receive_until_told(o, store, receiver, manager, signals);
  } catch (const scan_stopped& e) {
    log_info("{}", e.what());
    return 0;
  } catch (const std::runtime_error& e) {
    throw command_error(reason_of(e), exit_missing_resource);
  }
}

} // namespace

void add_receive(command_line program, command_body& run) {
  auto o = std::make_shared<options>();
  const auto c =
      program.add_subcommand("receive", "store blocks of daemons, and acknowledge stored blocks");
  c.footer("Runs until SIGINT, SIGTERM or SIGHUP. Only one receiver at a time can use a folder.");
  add_options_file(c);
  c.add_option("--bind", o->receiver.bind,
               "address to listen on, such as tcp://host:port; IPv6 in brackets")
      .check(refuse_no_endpoint)
      .capture_default_str();
  c.add_option("--out", o->store.folder,
               "folder of the store; it is created if missing, except by a service")
      .required()
      .check(refuse_no_name)
      .check(refuse_no_path);
  const option secret =
      c.add_option(
           "--secret-key", o->receiver.secret_key,
           "file with the receiver's secret key; only daemons with listed keys are then accepted")
          .check(refuse_no_name);
  const option allow =
      c.add_option("--allow", o->receiver.allow,
                   "file with the public keys of the accepted daemons, one per line")
          .check(refuse_no_name);
  secret.needs(allow);
  allow.needs(secret);
  c.add_flag("--insecure", o->insecure,
             "accept daemons on other machines without keys: anyone on the network may send");
  c.add_option_function(
       "--monitor", [o](const std::string& text) { o->monitor = read_address(text); },
       "address for /metrics, /healthz, /readyz, /status and a page, such as 127.0.0.1:9421")
      .check([](const std::string& text) -> std::string {
        return read_address(text) ? ""
                                  : text + " is not an address like 127.0.0.1:9421 or node1:9421";
      });
  const option publish =
      c.add_option("--publish", o->receiver.publish,
                   "address at which live displays get some of the stored events, without "
                   "encryption, such as tcp://127.0.0.1:42300")
          .check(refuse_no_endpoint);
  c.add_option("--publish-rate", o->receiver.publish_rate,
               "maximum number of published events of each line per second")
      .check(in_range(1U, 1000U))
      .capture_default_str()
      .needs(publish);
  c.add_flag("--sync", o->store.sync, "acknowledge a block only after the disk has confirmed it");
  c.add_flag("--json", o->json, "report as JSON at the end");
  const option checks = c.add_flag(
      "--check-config", o->check,
      "check the options, and whether this user can start the receiver with them here; then exit");
  c.add_flag("--elsewhere", o->elsewhere,
             "the options are for another machine: do not check addresses, folders and keys")
      .needs(checks);
  c.callback([o, c, &run] {
    const option file = c.get_option("--config");
    const std::string name = file.count() > 0 ? file.results().front() : std::string();
    run = [o, name] { return o->check ? check(*o, name) : receive(*o); };
  });
}

} // namespace l3
