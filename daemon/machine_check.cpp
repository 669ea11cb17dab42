// SPDX-License-Identifier: Apache-2.0
#include "daemon/machine_check.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <sys/un.h>

#include "daemon/compute/compute_side.hpp"
#include "daemon/compute/histogram_book.hpp"
#include "daemon/compute/shadow_menu.hpp"
#include "daemon/monitor/ledger_place.hpp"
#include "daemon/words.hpp"
#include "monitor/version.hpp"
#include "transport/building/event_builder.hpp"
#include "transport/format/payload.hpp"
#include "transport/input/tcp_receiver.hpp"
#include "transport/outbox/outbox.hpp"
#include "transport/outbox/spilling_outbox.hpp"
#include "transport/outbox/spool.hpp"
#include "transport/system/known_folder.hpp"
#include "transport/system/name_lookup.hpp"

namespace l3 {

namespace {

constexpr std::uint64_t least_share_told = 50; // of the memory plan: one in this many

std::string wrong_with_spool(const spool_settings& s) {
  if (s.folder.empty()) return {};
  const std::string wrong = wrong_with_spool_folder(s.folder);
  return wrong.empty() ? wrong : fmt::format("spool.folder = {}: {}", s.folder, wrong);
}

/// The configuration key that determines the size of an entry of the memory plan.
std::string_view key_behind(std::string_view use) {
  struct rule {
    std::string_view begins;
    std::string_view key;
  };
  static constexpr std::array rules{
      rule{"shadow menu", "selection.shadow"},
      rule{"outbox", "outbox.memory"},
      rule{"blocks on their way", "outbox.block"},
      rule{"index of blocks on disk", "spool.size"},
      rule{"connections of senders", "tcp.max_connections"},
      rule{"histograms", "histograms.one_in"},
      rule{"parked events", "building.parked_events"},
      rule{"tables of event building", "building.max_events_per_spill"},
  };
  for (const rule& r : rules)
    if (use.starts_with(r.begins)) return r.key;
  return "frames.count and frames.events";
}

} // namespace

std::string wrong_with_memory(const daemon_settings& s, const found_devices& devices,
                              const memory_limit& limit) {
  const std::vector<memory_use> plan = memory_plan_of(s, devices);
  const std::uint64_t needed = sum_of(plan);
  if (needed <= limit.bytes) return {};
  std::vector<memory_use> by_key;
  for (const memory_use& use : plan) {
    const std::string_view key = key_behind(use.what);
    const auto same = std::ranges::find(by_key, key, &memory_use::what);
    if (same != by_key.end())
      same->bytes += use.bytes;
    else
      by_key.push_back({std::string(key), use.bytes});
  }
  std::ranges::stable_sort(by_key, std::ranges::greater{}, &memory_use::bytes);
  std::string list;
  for (const memory_use& use : by_key)
    if (use.bytes >= needed / least_share_told)
      list +=
          fmt::format("{}{} for {}", list.empty() ? "" : ", ", size_in_words(use.bytes), use.what);
  return fmt::format("the configuration needs {} of memory or more ({}), and {} has {}: lower {}",
                     size_in_words(needed), list, limit.whose, size_in_words(limit.bytes),
                     by_key.front().what);
}

std::vector<std::string> wrong_with_node(const daemon_settings& s) {
  std::vector<std::string> wrong{wrong_with_outbox(s), wrong_with_spool(s.spool)};
  std::erase(wrong, "");
  return wrong;
}

namespace {

std::string wrong_with_address(const char* key, const std::string& host) {
  try {
    if (host.empty() || is_local_address(listening_address(host))) return {};
    return fmt::format("{}: no network card of this machine has the address {}", key, host);
  } catch (const std::runtime_error& e) {
    return fmt::format("{}: {}", key, reason_of(e));
  }
}

std::string wrong_with_socket(const std::filesystem::path& name) {
  constexpr std::size_t longest = sizeof(sockaddr_un::sun_path) - 1;
  std::error_code error;
  std::string why = why_no_folder_of(name);
  if (why.empty()) why = why_not_writable("." / name.parent_path());
  if (why.empty() && std::filesystem::exists(name, error) &&
      !std::filesystem::is_socket(name, error))
    why = "it exists and is not a socket";
  if (name.native().size() > longest)
    why = fmt::format("the name of a socket has at most {} bytes", longest);
  return why.empty() ? why : fmt::format("run.control = {}: {}", name.string(), why);
}

} // namespace

start_check check_start(const daemon_settings& s) {
  start_check found{{wrong_with_outbox(s)}, {}};
  const auto look = [&](const char* key, const std::filesystem::path& folder,
                        const std::function<std::string()>& why) {
    if (comes_with_the_service(folder))
      found.notes.push_back(fmt::format("{}: there is no folder {} yet: the service creates it",
                                        key, folder.string()));
    else
      found.wrong.push_back(why());
  };
  const auto above = [](const std::string& name) {
    return std::filesystem::path(name.substr(0, name.find_last_not_of('/') + 1)).parent_path();
  };
  if (!s.spool.folder.empty())
    look("spool.folder", above(s.spool.folder), [&] {
      std::string wrong = wrong_with_spool(s.spool);
      if (!wrong.empty()) return wrong;
      wrong = why_not_writable(s.spool.folder);
      return wrong.empty() ? wrong : fmt::format("spool.folder = {}: {}", s.spool.folder, wrong);
    });
  if (!s.run.ledger.empty())
    look("run.ledger", above(s.run.ledger),
         [&] { return ledger_place(s.run.ledger, s.run.node).why_not_here(); });
  if (!s.run.control.empty())
    look("run.control", above(s.run.control), [&] { return wrong_with_socket(s.run.control); });
  for (const auto& [key, host] :
       {std::pair{"udp.bind", s.udp.bind}, std::pair{"tcp.bind", s.tcp.bind},
        std::pair{"monitor.bind", s.monitor.bind}})
    found.wrong.push_back(wrong_with_address(key, host));
  std::erase(found.wrong, "");
  return found;
}

namespace {

// A CPU computes a frame when it is started; the other frames fill and drain meanwhile.
constexpr std::uint16_t frames_of_processors = 4;
constexpr std::uint32_t events_of_processors = 64;
// On a device two frames wait for their copies, one computes, one drains, one fills, and one is
// spare. The kernels of the selection run one block per event: with fewer events than
// multiprocessors, some multiprocessors are idle.
constexpr std::uint16_t frames_of_device = most_frames_chosen;
constexpr std::uint32_t fewest_of_device = 64;
constexpr std::uint32_t most_of_device = 256;
constexpr std::uint32_t step_of_events = 32;
// choose_frames() never goes below these, even if memory is short.
constexpr std::uint16_t fewest_frames = 2;
constexpr std::uint32_t fewest_events = 16;
// All frames together take at most a quarter of the machine's memory, and half of the device's.
constexpr std::uint64_t share_of_machine = 4;
constexpr std::uint64_t share_of_device = 2;

bool fits(const daemon_settings& s, const found_devices& devices, const memory_limit& memory) {
  // Tables hold 32-bit offsets.
  if (frame_capacity(s).bytes > std::numeric_limits<std::uint32_t>::max()) return false;
  const std::uint64_t bytes = least_frame_bytes(s) * s.frames.count;
  return bytes * std::max(devices.count, 1U) <= memory.bytes / share_of_machine &&
         (devices.memory == 0 || bytes <= devices.memory / share_of_device);
}

std::string place_in_words(const daemon_settings& s, const found_devices& devices,
                           const memory_limit& memory) {
  const bool is_not_asked = s.compute.where == backend::hip || s.compute.where == backend::sycl;
  std::string text = is_not_asked ? "a device of unknown size" : "processors";
  if (devices.count != 0) {
    const std::string times = devices.count == 1 ? "" : fmt::format("{} × ", devices.count);
    text = fmt::format("{}{} ({} multiprocessors, {})", times, devices.name,
                       devices.multiprocessors, size_in_words(devices.memory));
  }
  if (!memory.whose.empty())
    text += fmt::format(" and the {} of {}", size_in_words(memory.bytes), memory.whose);
  return text;
}

} // namespace

std::string choose_frames(daemon_settings& s, const found_devices& devices,
                          const memory_limit& memory) {
  frame_settings& f = s.frames;
  if (!f.any_count && !f.any_events) return {};
  const bool on_device = devices.count != 0;
  if (f.any_count) f.count = on_device ? frames_of_device : frames_of_processors;
  if (f.any_events) {
    const std::uint32_t one_each =
        (devices.multiprocessors + step_of_events - 1) / step_of_events * step_of_events;
    f.events =
        on_device ? std::clamp(one_each, fewest_of_device, most_of_device) : events_of_processors;
  }
  bool is_less = false;
  while (!fits(s, devices, memory)) {
    if (f.any_events && f.events > fewest_events) {
      f.events = std::max(f.events / 2, fewest_events);
    } else if (f.any_count && f.count > fewest_frames) {
      --f.count;
    } else {
      break; // wrong_with_memory() says so if it is too much
    }
    is_less = true;
  }
  const std::string numbers =
      fmt::format("{}{}{}", f.any_count ? fmt::format("frames.count = {}", f.count) : "",
                  f.any_count && f.any_events ? ", " : "",
                  f.any_events ? fmt::format("frames.events = {}", f.events) : "");
  return fmt::format("{}: chosen for {}{}", numbers, place_in_words(s, devices, memory),
                     is_less ? "; more would take too much of the memory" : "");
}

std::size_t largest_packed_event(const readout& crates) {
  return crates.size() * (l2::max_fragment_bytes + sizeof(packed_fragment)) +
         crates.boards() * sizeof(packed_board) + 2 * sizeof(packed_event) +
         packed_summary_bytes(max_lines, max_summary_photons, max_summary_hits) +
         packed_payload_bytes(max_lines);
}

std::string wrong_with_outbox(const daemon_settings& s) {
  const std::uint64_t needed = 2 * std::uint64_t{largest_packed_event(s.building.crates)};
  if (s.outbox.memory.bytes >= needed) return {};
  return fmt::format(
      "outbox.memory is too small: it must hold two events, which take {} with this readout.crates",
      size_in_words(needed));
}

std::vector<std::byte> decided_by(const daemon_settings& s,
                                  const std::optional<loaded_selection>& selection) {
  recorded_settings all;
  if (selection) all = selection->recorded;
  all.crates = s.building.crates;
  all.software = "koto-l3d " + std::string(version());
  auto bytes = encode(all);
  if (bytes.size() > max_settings_bytes)
    throw std::runtime_error(
        fmt::format("selection.lines, selection.detector and selection.calibration together have "
                    "{} bytes; a store has room for {}: make them shorter",
                    bytes.size(), max_settings_bytes));
  return bytes;
}

std::size_t histogram_inputs(const daemon_settings& s,
                             const std::optional<loaded_selection>& selection) {
  return selection && s.histograms.one_in != 0 ? selection->what.input_count() : 0;
}

std::vector<memory_use> memory_beside_engines(const daemon_settings& s,
                                              const std::optional<loaded_selection>& selection,
                                              std::optional<std::size_t> shadow_bytes,
                                              const spool* disk) {
  std::vector<memory_use> all;
  const batch_capacity frame = frame_capacity(s);
  const std::size_t inputs = histogram_inputs(s, selection);
  if (shadow_bytes) all.push_back({"shadow menu", *shadow_bytes});
  all.push_back({"outbox", outbox::memory_plan(s.outbox)});
  const bool spools = !s.spool.folder.empty();
  if (spools) {
    const spool::recovery found = disk != nullptr ? disk->found() : spool::recovery();
    all.push_back(
        {"blocks on their way to and from disk",
         spilling_outbox::memory_plan(s.outbox, largest_packed_event(s.building.crates),
                                      decided_by(s, selection).size(),
                                      inputs != 0 ? max_settings_bytes : 0, found.longest)});
    all.push_back({"index of blocks on disk", spool::index_memory(s.spool, found.blocks)});
  }
  if (!s.tcp.bind.empty())
    all.push_back(
        {"connections of senders over TCP", tcp_receiver::memory_plan(s.tcp, s.building.crates)});
  if (inputs != 0)
    all.push_back({"histograms of the run and of spills",
                   histogram_book::memory_plan(inputs) + outbox::most_once_bytes});
  const event_builder::memory building = event_builder::memory_plan(s.building, frame);
  all.push_back({"parked events", building.parking});
  all.push_back({"tables of event building", building.tables});
  return all;
}

std::vector<memory_use> memory_plan_of(const daemon_settings& s, const found_devices& devices) {
  std::optional<loaded_selection> selection;
  std::optional<std::size_t> shadow_bytes;
  if (!s.selection.lines.empty()) {
    selection = load_selection(s.selection, s.building.crates, s.run.number);
    if (!s.selection.shadow.empty())
      shadow_bytes = shadow_menu::memory_plan(
          load_selection(shadow_of(s.selection), s.building.crates, s.run.number),
          frame_capacity(s), s.outbox.codec);
  }
  std::vector<memory_use> all = compute_side::memory_plan(s, selection, devices);
  const auto beside = memory_beside_engines(s, selection, shadow_bytes);
  all.insert(all.end(), beside.begin(), beside.end());
  return all;
}

} // namespace l3
