// SPDX-License-Identifier: Apache-2.0
// The checks of a machine for a daemon with these settings. Each check adds its findings; one that
// cannot find its information says so without a warning.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "config/load.hpp"
#include "transport/accounting/enumerator_names.hpp"

namespace l3 {

struct setting_of_card {
  std::uint32_t now = 0;
  std::uint32_t most = 0;
};

/// What the driver of a network card tells of receiving, as `ethtool` shows it.
struct card_state {
  std::optional<setting_of_card> ring;      ///< packets that the card buffers for the kernel
  std::optional<setting_of_card> queues;    ///< each interrupts a processor of its own
  std::optional<std::uint64_t> spread_by{}; ///< RXH_ bits: what chooses the queue of UDP over IPv4
  std::optional<bool> gathers{};            ///< generic receive offload (GRO)
};

struct clock_state {
  bool synchronised = false;
  double error = 0; ///< s; the kernel's bound on its error
};

/// The machine that `koto-l3 doctor` checks: its files in proc and sys, and a few system calls.
/// Tests replace both.
struct host {
  std::filesystem::path root = "/"; ///< contains proc and sys
  bool privileged = false;          ///< root, to whom user limits do not apply
  std::function<card_state(const std::string& card)> card;
  std::function<std::set<std::string>(const std::string& bind)> interfaces; ///< interfaces_of()
  std::function<std::optional<clock_state>()> clock;
  std::function<std::string()> why_no_device; ///< empty: there is a device

  /// The file's text without spaces around it; empty if it cannot be read.
  [[nodiscard]] std::string text(const std::string& file) const;
  /// The number at the start of a file, if there is one.
  [[nodiscard]] std::optional<std::int64_t> number(const std::string& file) const;
  /// Sorted names in a folder; empty if it cannot be read.
  [[nodiscard]] std::vector<std::string> names(const std::string& folder) const;
};

/// This machine, except the device, which depends on the settings.
[[nodiscard]] host this_host();

enum class health : std::uint8_t {
  ok,
  warning, ///< events may be lost under load, or measurements may mislead
  bad,     ///< the daemon does not start, or loses events soon
  count_
};

struct health_finding {
  health how = health::ok;
  std::string what;   ///< for programs: "sockets.receive_buffer"
  std::string text;   ///< a sentence
  std::string remedy; ///< a command, if something must be fixed
};
using findings = std::vector<health_finding>;

void check_memory(const host& h, const daemon_settings& s, findings& to);
void check_processors(const host& h, findings& to);
void check_network(const host& h, const daemon_settings& s, findings& to);
void check_clock(const host& h, findings& to);
void check_device(const host& h, const daemon_settings& s, findings& to);

struct disk_use {
  std::string what; ///< "spool.folder"
  std::filesystem::path folder;
  std::uint64_t wanted = 0;    ///< free bytes needed; 0: not checked
  double bytes_per_second = 0; ///< write rate needed; 0: unknown
};
/// Writes to an unnamed file for at most two seconds.
void check_disk(const disk_use& use, findings& to);

} // namespace l3
