// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "config/endpoint.hpp"
#include "config/key_kinds.hpp"
#include "config/readout_list.hpp"
#include "config/usage_mistake.hpp"
#include "transport/format/number_list.hpp"

namespace l3 {
namespace {

using namespace key_kinds;
using namespace std::chrono_literals;

constexpr std::uint32_t max_crates = 64; // event building keeps one bit per crate in a word
constexpr std::int64_t largest_u32 = std::numeric_limits<std::uint32_t>::max();

std::string show_list(std::vector<std::string> texts) {
  for (std::string& text : texts) text = quote(text);
  return fmt::format("[{}]", fmt::join(texts, ", "));
}

/// Marks a setting that a running daemon can change.
key live(key k) {
  k.live = true;
  return k;
}

// Accepts "127.0.0.1:42000", "[::1]:42000" or "node1:42000"; "" means not to listen.
template <class Bind, class Port>
key address(std::string_view path, Bind bind, Port port, std::uint16_t least_port,
            std::string_view text) {
  const auto allowed = fmt::format(
      R"(address:port, [IPv6 address]:port, or name:port, port {}..65535, or "" for none)",
      least_port);
  return {path,
          text,
          "address",
          allowed,
          [=](const toml_value& v, daemon_settings& s, const refuse_value& refuse) {
            const auto* words = v.as<std::string>();
            if (!words)
              return refuse(v, R"(is not an address like "127.0.0.1:42000" or "node1:42000")");
            if (words->empty()) return bind(s).clear();
            const auto at = read_address(*words);
            if (!at)
              return refuse(v, R"(is not an address like "127.0.0.1:42000" or "node1:42000")");
            if (at->port < least_port)
              return refuse(v, fmt::format("needs a port in {}..65535", least_port));
            bind(s) = at->host;
            port(s) = at->port;
          },
          [=](const daemon_settings& s) {
            return quote(bind(s).empty() ? "" : text_of(internet_address{bind(s), port(s)}));
          }};
}

constexpr const char* no_destination =
    R"(has no host to send to: name the receiver's machine, as in "tcp://node1:42200")";

template <class Field>
key endpoint(std::string_view path, Field field, std::string_view text) {
  return {path,
          text,
          "endpoint",
          "tcp://host:port",
          [=](const toml_value& v, daemon_settings& s, const refuse_value& refuse) {
            const auto* words = v.as<std::string>();
            if (!words || !is_endpoint(*words))
              return refuse(v, R"(is not an endpoint like "tcp://127.0.0.1:42200")");
            if (!is_destination(*words)) return refuse(v, no_destination);
            field(s) = *words;
          },
          [=](const daemon_settings& s) { return quote(field(s)); }};
}

template <class Field>
key file_name(std::string_view path, Field field, std::string_view text) {
  return {path,
          text,
          "file name",
          R"(any, or "" for none)",
          [=](const toml_value& v, daemon_settings& s, const refuse_value& refuse) {
            const auto* words = v.as<std::string>();
            if (!words) return refuse(v, "is not a file name in quotes");
            if (const auto wrong = wrong_with_path(*words); !wrong.empty())
              return refuse(v, std::string(wrong));
            field(s) = *words;
          },
          [=](const daemon_settings& s) { return quote(field(s)); }};
}

template <class Field>
key networks(std::string_view path, Field field, std::string_view text) {
  return {path,
          text,
          "list",
          "networks or addresses of IPv4 and IPv6; [] for every address",
          [=](const toml_value& v, daemon_settings& s, const refuse_value& refuse) {
            const auto* entries = v.as<toml_value::list>();
            if (!entries) return refuse(v, R"(is not a list like ["10.1.0.0/16", "10.2.0.7"])");
            source_list list;
            for (const toml_value& entry : *entries) {
              const auto* words = entry.as<std::string>();
              const auto network = words ? read_network(*words) : std::nullopt;
              if (network) list.networks.push_back(*network);
              if (!network)
                refuse(entry, R"(is neither an address nor a network like "10.1.0.0/16")");
            }
            field(s) = list;
          },
          [=](const daemon_settings& s) {
            std::vector<std::string> list;
            for (const source_network& n : field(s).networks) list.push_back(show_network(n));
            return show_list(list);
          }};
}

constexpr std::string_view to = " to ";

/// "10.1.0.2", or "10.1.0.2 to tcp://10.1.0.1:42200". No name is looked up.
std::optional<link_way> read_way(std::string_view text) {
  const auto end = text.find(to);
  const std::string from(text.substr(0, end));
  if (!is_number(from)) return std::nullopt;
  if (end == text.npos) return link_way{from, {}};
  const std::string_view endpoint = text.substr(end + to.size());
  if (!is_endpoint(endpoint)) return std::nullopt;
  return link_way{from, std::string(endpoint)};
}

std::string show_way(const link_way& way) {
  return way.to.empty() ? way.from : way.from + std::string(to) + way.to;
}

void set_ways(const toml_value& v, daemon_settings& s, const refuse_value& refuse) {
  const auto* entries = v.as<toml_value::list>();
  if (!entries) return refuse(v, R"(is not a list like ["10.1.0.2", "10.2.0.2"])");
  if (entries->size() > most_link_ways)
    return refuse(v, fmt::format("has more than {} connections", most_link_ways));
  std::vector<link_way> ways;
  for (const toml_value& entry : *entries) {
    const auto* words = entry.as<std::string>();
    const auto way = words ? read_way(*words) : std::nullopt;
    if (way && !way->to.empty() && !is_destination(way->to)) {
      refuse(entry, no_destination);
    } else if (way) {
      ways.push_back(*way);
    } else {
      refuse(entry, R"(is not a connection like "10.1.0.2" or "10.1.0.2 to tcp://10.1.0.1:42200")");
    }
  }
  s.forward.from = std::move(ways);
}

std::string show_ways(const daemon_settings& s) {
  std::vector<std::string> all;
  for (const link_way& w : s.forward.from) all.push_back(show_way(w));
  return show_list(all);
}

void set_etcd(const toml_value& v, daemon_settings& s, const refuse_value& refuse) {
  constexpr std::size_t most = 5;
  constexpr std::string_view scheme = "http://";
  const auto* entries = v.as<toml_value::list>();
  if (!entries) return refuse(v, R"(is not a list like ["http://etcd1:2379"])");
  if (entries->size() > most) return refuse(v, fmt::format("has more than {} addresses", most));
  std::vector<std::string> all;
  for (const toml_value& entry : *entries) {
    const auto* words = entry.as<std::string>();
    const bool plain = words && words->starts_with(scheme);
    const auto at = plain ? read_address(words->substr(scheme.size())) : std::nullopt;
    if (at && at->port != 0)
      all.push_back(*words);
    else
      refuse(entry, R"(is not an address like "http://etcd1:2379" (https is not supported))");
  }
  s.farm.etcd = std::move(all);
}

void set_user(const toml_value& v, daemon_settings& s, const refuse_value& refuse) {
  const auto* words = v.as<std::string>();
  if (!words) return refuse(v, "is not a name in quotes");
  s.farm.user = *words;
}

void set_prefix(const toml_value& v, daemon_settings& s, const refuse_value& refuse) {
  constexpr std::size_t longest = 100;
  constexpr std::string_view marks = "-_/";
  const auto* words = v.as<std::string>();
  const auto fits = [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           marks.find(c) != marks.npos;
  };
  if (!words || words->size() < 3 || words->size() > longest || !words->starts_with('/') ||
      !words->ends_with('/') || !std::ranges::all_of(*words, fits))
    return refuse(v, R"(is not a key prefix like "/koto-l3/")");
  s.farm.prefix = *words;
}

constexpr std::uint16_t most_devices = 16;

void set_devices(const toml_value& v, daemon_settings& s, const refuse_value& refuse) {
  const auto* words = v.as<std::string>();
  if (words && *words == "all") return s.compute.devices.clear();
  const auto* entries = v.as<toml_value::list>();
  if (!entries || entries->empty())
    return refuse(v, R"(is neither "all" nor a list of devices like [0, 2])");
  std::vector<std::uint16_t> devices;
  for (const toml_value& entry : *entries) {
    const auto* n = entry.as<std::int64_t>();
    if (!n || *n < 0 || *n >= most_devices) {
      refuse(entry, fmt::format("is not a device in 0..{}", most_devices - 1));
      continue;
    }
    const auto device = static_cast<std::uint16_t>(*n);
    if (std::ranges::find(devices, device) != devices.end())
      refuse(entry, "names a device a second time");
    devices.push_back(device);
  }
  s.compute.devices = devices;
}

std::string show_devices(const daemon_settings& s) {
  if (s.compute.devices.empty()) return quote("all");
  return fmt::format("[{}]", fmt::join(s.compute.devices, ", "));
}

void set_processors(const toml_value& v, daemon_settings& s, const refuse_value& refuse) {
  constexpr int most = 1023;
  const auto* words = v.as<std::string>();
  std::vector<int> list;
  if (words && *words != "auto") list = read_number_list(*words, most);
  if (!words || (list.empty() && *words != "auto"))
    return refuse(v, R"(is neither "auto" nor a list like "0-7,16" of processors in 0..1023)");
  std::ranges::sort(list);
  list.erase(std::unique(list.begin(), list.end()), list.end());
  s.node.processors = list;
}

void set_readout(const toml_value& v, daemon_settings& s, const refuse_value& refuse) {
  const auto* entries = v.as<toml_value::list>();
  if (!entries || entries->empty())
    return refuse(v, R"(is not a list like ["0-10: 16 x 125 MHz", "11: 12 x 125 MHz"])");
  readout crates;
  for (const toml_value& entry : *entries) {
    const auto* words = entry.as<std::string>();
    const auto read = read_crates(words ? *words : "");
    if (const auto* what = std::get_if<std::string>(&read)) {
      refuse(entry, *what);
      continue;
    }
    for (const crate_readout& c : std::get<std::vector<crate_readout>>(read)) {
      const bool again =
          std::any_of(crates.crates.begin(), crates.crates.end(),
                      [&](const crate_readout& other) { return other.number == c.number; });
      if (again) refuse(entry, fmt::format("names crate {} a second time", c.number));
      crates.crates.push_back(c);
    }
  }
  if (crates.size() > max_crates)
    return refuse(
        v, fmt::format("has {} crates; at most {} can be read out", crates.size(), max_crates));
  s.building.crates = crates;
}

} // namespace

const std::vector<section>& sections() {
  static const std::vector<section> all{
      {"run", "The run that this daemon is part of."},
      {"readout",
       "Which crates send fragments; the same list, in the same order, as in the electronics."},
      {"building", "Building of events from fragments."},
      {"udp", "Level-2 data as datagrams, as the electronics send it."},
      {"tcp", "Level-2 data as a record stream with acknowledgements."},
      {"frames",
       "The batches of events that circulate through the pipeline; they bound memory and latency."},
      {"compute", "Where the kernels run."},
      {"node", "Where the threads run."},
      {"selection", "Which events are kept."},
      {"histograms", "Histograms that the kernels fill while a selection runs."},
      {"outbox", "Packed events that wait until the receiver has stored them."},
      {"output", "The form in which events leave."},
      {"spool", "The disk behind the outbox: blocks that the receiver has not stored wait here."},
      {"forward", "The output link."},
      {"farm", "Etcd, through which the daemons of a farm find each other: docs/farm.md."},
      {"monitor", "The HTTP server with /metrics, /healthz, /readyz, /status and a page."},
      {"log", "The log, on standard error."},
  };
  return all;
}

const std::vector<key>& keys() {
  static const std::vector<key> all{
      integer(
          "run.number", [](auto& s) -> auto& { return s.run.number; }, 0, largest_u32,
          "Run number, written into every output block."),
      integer(
          "run.node", [](auto& s) -> auto& { return s.run.node; }, 0, largest_u32,
          "Number of this level-3 node, written into every output block."),
      file_name(
          "run.ledger", [](auto& s) -> auto& { return s.run.ledger; },
          "Where the ledger of a run is written: a folder, with \"/\" at its end, in which each "
          "start and run has its own file; or a file, which each start overwrites if a daemon "
          "wrote it. The name must not be that of a file in a store or spool (blocks-0…, spool-0…, "
          "….kl3…)."),
      file_name(
          "run.control", [](auto& s) -> auto& { return s.run.control; },
          "Unix socket through which `koto-l3 run` begins and ends runs, such as "
          "\"/run/koto-l3/control.sock\"; without one the daemon is in run.number from its start "
          "to its end."),
      duration(
          "run.drain_time_limit", [](auto& s) -> auto& { return s.run.drain_time_limit; }, 0s,
          10min,
          "How long a stopping daemon waits for the receiver to store the remaining events."),

      {"readout.crates",
       "Crates in the order of the fragment id: crate numbers, boards in each, sampling rate.",
       "list", "1..64 crates of 1..16 boards at 125 or 500 MHz", set_readout,
       [](const daemon_settings& s) { return show_list(show_crates(s.building.crates)); }},

      integer(
          "building.chunk_bytes", [](auto& s) -> auto& { return s.building.chunk_bytes; }, 1024,
          65000, "Payload of a datagram in bytes, as set in the electronics; a multiple of 4."),
      integer(
          "building.max_events_per_spill",
          [](auto& s) -> auto& { return s.building.max_events_per_spill; }, 1, 16'777'216,
          "Datagrams that name a higher event number are refused."),
      duration(
          "building.event_time_limit", [](auto& s) -> auto& { return s.building.event_time_limit; },
          1ms, 1min,
          "An event that is not complete this long after its first fragment ends as incomplete. "
          "The oldest open event ends sooner if more than frames.events + building.parked_events "
          "are open."),
      duration(
          "building.spill_time_limit", [](auto& s) -> auto& { return s.building.spill_time_limit; },
          1ms, 1min, "Silence that ends a spill whose end-of-spill trailers were lost."),
      choice<>(
          "building.incomplete", [](auto& s) -> auto& { return s.building.incomplete; },
          std::vector{std::pair{"drop", incomplete_events::drop},
                      {"forward", incomplete_events::forward}},
          "Whether incomplete events are counted and dropped, or forwarded with a flag."),
      integer(
          "building.parked_events", [](auto& s) -> auto& { return s.building.parked_events; }, 1,
          65536,
          "Events that may wait for late fragments outside the frames; when all places are in use, "
          "the oldest such event ends as incomplete if it is 100 ms old, otherwise the next "
          "event."),

      address(
          "udp.bind", [](auto& s) -> auto& { return s.udp.bind; },
          [](auto& s) -> auto& { return s.udp.port; }, 1,
          "Address and first port on which datagrams arrive."),
      integer(
          "udp.ports", [](auto& s) -> auto& { return s.udp.ports; }, 1, 64,
          "Number of ports, counted up from the first; senders use them in turn."),
      integer(
          "udp.threads", [](auto& s) -> auto& { return s.udp.threads; }, 1, 16,
          "Receive threads; the ports are distributed among them."),
      size(
          "udp.socket_buffer", [](auto& s) -> auto& { return s.udp.socket_buffer; }, kibibytes(64),
          kibibytes(1 << 20),
          "Kernel buffer of each port; the kernel grants at most net.core.rmem_max."),
      networks(
          "udp.allow", [](auto& s) -> auto& { return s.udp.allow; },
          "Sources whose datagrams are accepted; all others are refused unread."),

      address(
          "tcp.bind", [](auto& s) -> auto& { return s.tcp.bind; },
          [](auto& s) -> auto& { return s.tcp.port; }, 0,
          "Address and port on which senders of record streams connect; port 0 takes any free "
          "one."),
      integer(
          "tcp.max_connections", [](auto& s) -> auto& { return s.tcp.max_connections; }, 1, 1024,
          "Senders beyond this number are refused. Memory for the longest event is planned for "
          "each."),
      integer(
          "tcp.threads", [](auto& s) -> auto& { return s.tcp.threads; }, 1, 16,
          "Receive threads; the connections are distributed among them."),
      networks(
          "tcp.allow", [](auto& s) -> auto& { return s.tcp.allow; },
          "Sources that may connect; connections from all others are closed at once."),

      integer_or_auto(
          "frames.count", [](auto& s) -> auto& { return s.frames.count; },
          [](auto& s) -> auto& { return s.frames.any_count; }, 2, 64,
          "Frames per device; each holds its input, output and tables. auto: 4 on processors, 6 on "
          "a GPU, fewer if they would need more than a quarter of the memory."),
      integer_or_auto(
          "frames.events", [](auto& s) -> auto& { return s.frames.events; },
          [](auto& s) -> auto& { return s.frames.any_events; }, 1, 4096,
          "Events that a frame holds. auto: 64 on processors, 64 to 256 on a GPU, one for each of "
          "its multiprocessors; fewer if memory is short."),
      duration(
          "frames.age", [](auto& s) -> auto& { return s.frames.age; }, 100us, 1s,
          "A frame that is not full is closed and computed when its oldest event is this old."),

      choice<>(
          "compute.backend", [](auto& s) -> auto& { return s.compute.where; },
          std::vector{std::pair{"auto", backend::automatic},
                      {"pool", backend::pool},
                      {"cuda", backend::cuda},
                      {"hip", backend::hip},
                      {"sycl", backend::sycl}},
          "Where the kernels run. auto uses an NVIDIA GPU if there is one, else the thread pool. "
          "hip (AMD GPUs) and sycl need a program built with L3_HIP or L3_SYCL."),
      {"compute.devices",
       "The GPUs that compute, by the numbers of `nvidia-smi`. Frames are distributed among them; "
       "a GPU that fails does not affect the others.",
       "list", R"("all" or a list of numbers in 0..15)", set_devices, show_devices},
      integer(
          "compute.threads", [](auto& s) -> auto& { return s.compute.threads; }, 0, 1024,
          "Threads of the pool; 0: one per processor."),
      duration(
          "compute.time_limit", [](auto& s) -> auto& { return s.compute.time_limit; }, 1ms, 1min,
          "A frame that the device has not computed in this time is taken from it and computed on "
          "the CPU."),
      integer(
          "compute.verify_one_in", [](auto& s) -> auto& { return s.compute.verify_one_in; }, 0,
          largest_u32,
          "One event in this many is checked on the CPU: its packed bytes are unpacked and "
          "compared with its input, and the selection decides on it again; 0: none."),
      file_name(
          "compute.dumps", [](auto& s) -> auto& { return s.compute.dumps; },
          "Folder for the batches on which the device failed, for `koto-l3 rerun`; at most 16 "
          "files."),

      {"node.processors",
       "Processors of all threads; memory then comes from their NUMA node. auto: with several "
       "nodes, the threads of input and output and the memory are on the network card's node; the "
       "threads leave processors free that serve the card's interrupts, if enough others are "
       "there.",
       "text", R"("auto" or a list like "0-7,16")", set_processors,
       [](const daemon_settings& s) {
         return quote(s.node.processors.empty() ? "auto" : show_number_list(s.node.processors));
       }},

      file_name(
          "selection.lines", [](auto& s) -> auto& { return s.selection.lines; },
          "File of cuts, counters and trigger lines; \"built-in\" is deploy/selection.toml. "
          "Without a file every event is kept."),
      file_name(
          "selection.detector", [](auto& s) -> auto& { return s.selection.detector; },
          "Channel map and geometry; \"built-in\" is deploy/detector.toml."),
      file_name(
          "selection.calibration", [](auto& s) -> auto& { return s.selection.calibration; },
          "Table of the inputs whose gain, time or state differs from the description, for all "
          "runs or for some."),
      choice<>(
          "selection.mode", [](auto& s) -> auto& { return s.selection.mode; },
          std::vector{std::pair{"select", selection_mode::select},
                      {"record", selection_mode::record}},
          "select: the lines decide which events are kept; record: every event is kept, and the "
          "decision of the lines is stored with it and counted."),
      file_name(
          "selection.shadow", [](auto& s) -> auto& { return s.selection.shadow; },
          "A second menu, written like selection.lines. It judges the same batches and decides "
          "nothing; metrics and page show what it would do."),
      integer(
          "selection.shadow_one_in", [](auto& s) -> auto& { return s.selection.shadow_one_in; }, 1,
          1'000'000,
          "The shadow menu judges one batch in this many, on CPUs, unless frames are scarce."),
      integer(
          "histograms.one_in", [](auto& s) -> auto& { return s.histograms.one_in; }, 0, 1'000'000,
          "While a selection runs, histograms are filled from all events, and pedestal, noise, "
          "occupancy and time of the inputs from one event in this many; 0: no histograms."),
      integer(
          "histograms.hot_above", [](auto& s) -> auto& { return s.histograms.hot_above; }, 1, 100,
          "An input is hot if more than this percentage of its waveforms in a spill have a pulse, "
          "and at least five times as many as those of its counter's median input; 100: never."),
      file_name(
          "histograms.reference", [](auto& s) -> auto& { return s.histograms.reference; },
          "Histograms of a good run, as koto-l3 histograms --save writes them: inputs that differ "
          "are counted and shown."),

      size(
          "outbox.memory", [](auto& s) -> auto& { return s.outbox.memory; }, mebibytes(1),
          mebibytes(1 << 20),
          "Memory for packed events that the receiver has not stored yet; beyond it they go to the "
          "spool."),
      size(
          "outbox.block", [](auto& s) -> auto& { return s.outbox.block; }, kibibytes(4),
          mebibytes(32), "A block is sealed and sent when it has grown to this size."),
      duration(
          "outbox.block_age", [](auto& s) -> auto& { return s.outbox.block_age; }, 100us, 10s,
          "A block is also sealed and sent when its oldest event is this old."),

      choice<>(
          "output.codec", [](auto& s) -> auto& { return s.outbox.codec; },
          std::vector{std::pair{"koto", codec_id::koto}, {"strong", codec_id::strong}},
          "Codec of the samples of events: KOTO records are fast; the strong codec takes about a "
          "quarter fewer bytes and is slower. Each block names its codec."),

      file_name(
          "spool.folder", [](auto& s) -> auto& { return s.spool.folder; },
          "Folder for packed events that wait on disk; it belongs to one daemon, and a service "
          "does not create it."),
      choice<>(
          "spool.use", [](auto& s) -> auto& { return s.spool.use; },
          std::vector{std::pair{"overflow", spool_use::overflow}, {"always", spool_use::always}},
          "Which blocks go to disk: those that the outbox has no room for, or every block before "
          "it counts as safe."),
      size(
          "spool.size", [](auto& s) -> auto& { return s.spool.size; }, mebibytes(64),
          mebibytes(1 << 24), "Maximum size of all files of the spool together."),
      size(
          "spool.floor", [](auto& s) -> auto& { return s.spool.floor; }, mebibytes(0),
          mebibytes(1 << 24), "Free space that the spool leaves on the file system."),
      size(
          "spool.segment", [](auto& s) -> auto& { return s.spool.segment; }, mebibytes(1),
          mebibytes(1 << 16),
          "Size of one file; a quarter of spool.size, if that is less. A file is removed when "
          "nothing in it is needed any more."),
      choice<>(
          "spool.sync", [](auto& s) -> auto& { return s.spool.sync; },
          std::vector{std::pair{"off", false}, {"on", true}},
          "On: each block is flushed, and survives a power cut; off: it survives only a crash of "
          "the daemon."),

      endpoint(
          "forward.to", [](auto& s) -> auto& { return s.forward.to; },
          "Where the receiver listens. An IPv6 address needs brackets. If a name has addresses of "
          "both kinds, IPv4 and IPv6 are tried in turn."),
      {"forward.from",
       "Local addresses, each with its own connection to the receiver: several network cards share "
       "the traffic, and a pulled cable costs only its share. With \" to \" and an endpoint after "
       "the address, a connection goes to another address of the same receiver. [] for one "
       "connection from any address.",
       "list", "up to 4 of \"ADDRESS\" or \"ADDRESS to tcp://host:port\"", set_ways, show_ways},
      live(rate(
          "forward.rate", [](auto& s) -> auto& { return s.forward.rate; }, bit_rate{1e6},
          bit_rate{4e11}, "Maximum rate of the output link.")),
      duration(
          "forward.acknowledge_time_limit",
          [](auto& s) -> auto& { return s.forward.acknowledge_time_limit; }, 10ms, 10min,
          "Blocks that are not acknowledged in this time are sent again."),
      file_name(
          "forward.secret_key", [](auto& s) -> auto& { return s.forward.secret_key; },
          "This daemon's secret key, made with `koto-l3 keys`; \"credential:NAME\" is a key that "
          "the service manager passes. A link to another machine needs keys, or forward.insecure."),
      file_name(
          "forward.receiver_key", [](auto& s) -> auto& { return s.forward.receiver_key; },
          "The receiver's public key; only that receiver gets data."),
      choice<>(
          "forward.insecure", [](auto& s) -> auto& { return s.forward.insecure; },
          std::vector{std::pair{"off", false}, {"on", true}},
          "On: a link to another machine may be without keys. Then anyone on the network can read "
          "it, and can send to the receiver in place of this daemon."),

      {"farm.etcd",
       "Addresses of etcd, through which `koto-l3 run start` reaches all nodes or none; [] for a "
       "node without a farm. Needs run.control. The connection is not encrypted: keep it on the "
       "farm's network.",
       "list", "up to 5 of \"http://host:port\"", set_etcd,
       [](const daemon_settings& s) { return show_list(s.farm.etcd); }},
      {"farm.prefix", "Prefix of the farm's keys in etcd; each farm needs its own.", "text",
       "\"/\" at both ends, up to 100 letters, digits, \"-\", \"_\" and \"/\"", set_prefix,
       [](const daemon_settings& s) { return quote(s.farm.prefix); }},
      {"farm.user", "User in etcd, if etcd asks for one.", "text", R"(any, or "" for none)",
       set_user, [](const daemon_settings& s) { return quote(s.farm.user); }},
      file_name(
          "farm.password", [](auto& s) -> auto& { return s.farm.password; },
          "File with that user's password, one line that others may not read; \"credential:NAME\" "
          "is a file that the service manager passes."),

      address(
          "monitor.bind", [](auto& s) -> auto& { return s.monitor.bind; },
          [](auto& s) -> auto& { return s.monitor.port; }, 0,
          "Address and port of the HTTP server; read-only, without encryption: keep it off open "
          "networks."),

      live(choice<>(
          "log.level", [](auto& s) -> auto& { return s.log.level; },
          std::vector{std::pair{"trace", "trace"},
                      {"debug", "debug"},
                      {"info", "info"},
                      {"warn", "warn"},
                      {"error", "error"}},
          "Lowest severity that is logged.")),
  };
  return all;
}

const std::vector<gone_key>& gone_keys() {
  static const std::vector<gone_key> all{
      {"compute.fault", "only tests choose a device that fails; delete the line"},
      {"compute.renew_after", "a daemon whose device stays lost ends between spills with exit code "
                              "75, and the service manager starts it again; delete the line"},
      {"compute.restarts", "the device is tried again as long as it fails; delete the line"},
      {"selection.hot_inputs", "hot inputs are only reported; mark an input as dead in "
                               "selection.calibration"},
      {"tcp.silence_limit", "the kernel's keep-alive finds a dead sender; delete the line"},
  };
  return all;
}

} // namespace l3
