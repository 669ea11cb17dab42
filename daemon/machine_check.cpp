// SPDX-License-Identifier: Apache-2.0
#include "daemon/machine_check.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <functional>
#include <future>
#include <stdexcept>
#include <system_error>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "daemon/memory_plan.hpp"
#include "daemon/monitor/ledger_place.hpp"
#include "daemon/size_in_words.hpp"
#include "monitor/http_server.hpp"
#include "transport/histograms/histogram_json.hpp"
#include "transport/link/link_address.hpp"
#include "transport/output/spool.hpp"
#include "transport/system/file_io.hpp"
#include "transport/system/local_address.hpp"
#include "transport/system/name_lookup.hpp"
#include "transport/system/nearest_folder.hpp"
#include "transport/system/reason_of.hpp"

namespace l3 {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t least_share_told = 50; // of the memory plan, as one in so many

/// Why a socket cannot have this port now; no error: it can.
std::error_code wrong_with_port(const std::string& host, unsigned port, int type) {
  sockaddr_storage address{};
  socklen_t bytes = sizeof(sockaddr_in);
  auto* const v4 = reinterpret_cast<sockaddr_in*>(&address);
  auto* const v6 = reinterpret_cast<sockaddr_in6*>(&address);
  v4->sin_port = htons(static_cast<std::uint16_t>(port)); // at the same place in both
  if (::inet_pton(AF_INET, host.c_str(), &v4->sin_addr) == 1) {
    address.ss_family = AF_INET;
  } else if (::inet_pton(AF_INET6, host.c_str(), &v6->sin6_addr) == 1) {
    address.ss_family = AF_INET6;
    bytes = sizeof(sockaddr_in6);
  } else {
    return std::make_error_code(std::errc::address_not_available);
  }
  const file_descriptor s(::socket(address.ss_family, type | SOCK_CLOEXEC, 0));
  const int yes = 1;
  // As the daemon does: a connection of before that has not quite ended is no hindrance.
  if (type == SOCK_STREAM) (void)::setsockopt(s.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (::bind(s.get(), reinterpret_cast<const sockaddr*>(&address), bytes) != 0) return last_error();
  if (type == SOCK_STREAM && ::listen(s.get(), 1) != 0) return last_error();
  return {};
}

void look_at_ports(const char* key, const std::string& host, unsigned first, unsigned count,
                   int type, std::vector<std::string>& doubts) {
  if (host.empty()) return;
  std::string number;
  try {
    number = listening_address(host);
  } catch (const std::runtime_error& e) {
    doubts.push_back(fmt::format("{}: {}", key, reason_of(e)));
    return;
  }
  for (unsigned port = first; port < first + count; ++port) {
    const auto why = wrong_with_port(number, port, type);
    if (!why) continue;
    doubts.push_back(fmt::format(
        "{}: {} port {}: {}{}", key, host, port, why.message(),
        why == std::errc::address_in_use ? " (by a daemon that runs, or by another program)" : ""));
    return;
  }
}

/// Where something will be made, whose folder is there or can be made.
void look_at_folder(const char* key, const fs::path& folder, std::vector<std::string>& doubts) {
  const fs::path there = nearest_folder(folder);
  if (::access(there.c_str(), W_OK | X_OK) != 0)
    doubts.push_back(fmt::format("{}: {} cannot be written by this user", key, there.string()));
}

/// Looks at the name of a file, folder or socket that the start makes. `wrong`: why no start can
/// make it; empty if nothing is in the way.
void look_at_name(const char* key, const std::string& name, const std::string& wrong,
                  start_outlook& to) {
  fs::path path = name;
  if (!path.has_filename()) path = path.parent_path(); // a folder's name may end in "/"
  const std::string missing = why_no_folder_of(path);
  const bool only_missing = !missing.empty() && wrong.find(missing) != wrong.npos;
  if (wrong.empty())
    look_at_folder(key, "." / fs::path(name).parent_path(), to.doubts);
  else if (path.is_relative() || (only_missing && comes_with_the_service(path.parent_path())))
    to.doubts.push_back(wrong);
  else
    to.refused.push_back(wrong);
}

void look_at_room(const spool_settings& s, std::vector<std::string>& doubts) {
  struct statvfs disk {};
  if (::statvfs(nearest_folder(s.folder).c_str(), &disk) != 0) return;
  const std::uint64_t size = std::uint64_t{disk.f_blocks} * disk.f_frsize;
  if (s.size.bytes + s.floor.bytes > size)
    doubts.push_back(fmt::format(
        "spool.size: {} and spool.floor {} are more than the file system of {} has, {}",
        size_in_words(s.size.bytes), size_in_words(s.floor.bytes), s.folder, size_in_words(size)));
}

std::string wrong_with_spool(const spool_settings& s) {
  if (s.folder.empty()) return {};
  const std::string wrong = wrong_with_spool_folder(s.folder);
  return wrong.empty() ? wrong : fmt::format("spool.folder = {}: {}", s.folder, wrong);
}

void look_at_spool(const spool_settings& s, start_outlook& to) {
  if (s.folder.empty()) return;
  if (std::string wrong = wrong_with_spool(s); !wrong.empty()) {
    (fs::path(s.folder).is_relative() ? to.doubts : to.refused).push_back(std::move(wrong));
    return;
  }
  look_at_folder("spool.folder", s.folder, to.doubts);
  look_at_room(s, to.doubts);
  const std::uint64_t segment = spool::segment_bytes(s);
  if (segment < s.segment.bytes && s.segment.bytes != spool_settings{}.segment.bytes)
    to.doubts.push_back(fmt::format(
        "spool.segment: {} is more than a quarter of spool.size, {}: files get {}",
        size_in_words(s.segment.bytes), size_in_words(s.size.bytes), size_in_words(segment)));
}

/// Without an address the daemon starts, and its events wait. No name server is waited for long.
void look_at_receivers(const forward_settings& s, std::vector<std::string>& doubts) {
  constexpr auto patience = std::chrono::seconds(3);
  struct question {
    link_way way;
    std::future<found_addresses> answer;
  };
  std::vector<question> asked; // one for each receiver, all at once
  for (const link_way& way : ways_of(s)) {
    const std::string host(host_of(way.to));
    if (std::ranges::any_of(asked, [&](const question& q) { return q.way.to == way.to; })) continue;
    if (host == "0.0.0.0" || host == "[::]")
      doubts.push_back(fmt::format(
          "{}: {} stands for all addresses of this machine, and is none of the receiver's",
          key_of(way, s), host));
    if (names_a_machine(way.to)) asked.push_back({way, look_up(host, addresses_of)});
  }
  const auto until = std::chrono::steady_clock::now() + patience;
  for (question& q : asked) {
    std::string why = fmt::format("no answer within {} s", patience.count());
    if (q.answer.wait_until(until) == std::future_status::ready) why = q.answer.get().failure;
    if (!why.empty())
      doubts.push_back(fmt::format("{}: the name {} has no address here: {}", key_of(q.way, s),
                                   host_of(q.way.to), why));
  }
}

void look_at_control(const std::string& name, start_outlook& to) {
  std::string wrong = wrong_with_unix_socket(name);
  if (!wrong.empty()) wrong += " (run.control)";
  look_at_name("run.control", name, wrong, to);
}

/// Without it the daemon starts, and compares with nothing.
void look_at_reference(const std::string& file, std::vector<std::string>& doubts) {
  if (const std::string wrong = wrong_with_histogram_file(file); !wrong.empty())
    doubts.push_back(fmt::format("histograms.reference: {}", wrong));
}

/// The key of the configuration that an entry of the memory plan grows with.
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

start_outlook outlook_of_start(const daemon_settings& s) {
  start_outlook found;
  std::vector<std::string>& doubts = found.doubts;
  look_at_ports("udp.bind", s.udp.bind, s.udp.port, s.udp.ports, SOCK_DGRAM, doubts);
  look_at_ports("tcp.bind", s.tcp.bind, s.tcp.port, 1, SOCK_STREAM, doubts);
  look_at_ports("monitor.bind", s.monitor.bind, s.monitor.port, 1, SOCK_STREAM, doubts);
  for (const link_way& way : s.forward.from)
    if (!is_local_address(way.from))
      doubts.push_back(
          fmt::format("forward.from: no network card of this machine has {}", way.from));
  look_at_receivers(s.forward, doubts);
  if (std::string wrong = wrong_with_outbox(s); !wrong.empty())
    found.refused.push_back(std::move(wrong));
  if (std::string wrong = wrong_with_backend(s.compute); !wrong.empty())
    found.refused.push_back(std::move(wrong));
  look_at_spool(s.spool, found);
  const ledger_place ledgers(s.run.ledger, s.run.node);
  if (!ledgers.none()) look_at_name("run.ledger", s.run.ledger, ledgers.wrong(), found);
  if (!s.run.control.empty()) look_at_control(s.run.control, found);
  if (!s.histograms.reference.empty()) look_at_reference(s.histograms.reference, doubts);
  if (std::string wrong = s.compute.dumps.empty() ? "" : why_no_folder(s.compute.dumps);
      !wrong.empty())
    doubts.push_back("compute.dumps: " + wrong);
  else if (!s.compute.dumps.empty())
    look_at_folder("compute.dumps", s.compute.dumps, doubts);
  return found;
}

} // namespace l3
