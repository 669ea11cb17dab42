// SPDX-License-Identifier: Apache-2.0
// The keys that the daemons of a farm write into etcd (docs/formats.md, section 15): plain values,
// their texts, and their parsers. No etcd, no threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/farm/etcd_client.hpp"

namespace l3 {

namespace farm_limits {
inline constexpr std::size_t nodes = 48; ///< a change of etcd has at most 128 conditions
inline constexpr std::size_t menu = 48 << 10;
inline constexpr std::size_t reasons = 16;
inline constexpr std::size_t keys = 64; ///< most keys read of each kind
} // namespace farm_limits

/// A running daemon: members/NODE, removed with its lease.
struct farm_member_value {
  std::string instance; ///< identifies the process: 16 hexadecimal digits
  std::string place;    ///< of its ledgers; one daemon of a node holds it
  std::string host;
  std::uint32_t process = 0;
  std::string state;                ///< a name of run_state
  std::optional<std::uint32_t> run; ///< the active run
  std::optional<std::uint32_t> next;
  std::uint64_t serial = 0; ///< of the latest order that it has followed and that does not wait
  std::string failure;      ///< why it is not in the farm's run
  std::optional<std::uint32_t> not_well; ///< its latest ended run, if part of it did not end well

  friend bool operator==(const farm_member_value&, const farm_member_value&) = default;
};

/// An order to all nodes: run/order while it is proposed, run/now once it is committed.
struct farm_order {
  std::uint64_t serial = 0; ///< each order has a higher one
  bool start = false;       ///< false: all runs end
  std::uint32_t number = 0; ///< of the run
  bool again = false;       ///< the run had begun before
  std::string comment;
  std::string menu;      ///< the file as the person named it; empty: as configured on each node
  std::string menu_text; ///< its content, unless it is built in
  std::string selection; ///< hash of the selection with it; empty: no selection
  std::uint32_t by = 0;  ///< the node that was asked
  std::map<std::uint32_t, std::string> nodes; ///< with their instances

  friend bool operator==(const farm_order&, const farm_order&) = default;
};

/// A node's answer to the proposal: run/armed/NODE, removed with the node's lease. A node without
/// reasons is ready.
struct farm_reply {
  std::string instance;
  std::int64_t order = 0; ///< creation of the proposal that it answers
  std::vector<std::string> reasons;

  friend bool operator==(const farm_reply&, const farm_reply&) = default;
};

[[nodiscard]] std::string written(const farm_member_value& m);
[[nodiscard]] std::string written(const farm_order& o);
[[nodiscard]] std::string written(const farm_reply& r);

// These throw std::exception with a text that says what is wrong.
[[nodiscard]] farm_member_value read_member(std::string_view text);
[[nodiscard]] farm_order read_order(std::string_view text);
[[nodiscard]] farm_reply read_reply(std::string_view text);

template <class Value>
struct farm_entry {
  Value value;
  std::int64_t created = 0;
  std::int64_t changed = 0;
};

/// All keys of a farm at one moment.
struct farm_view {
  std::map<std::uint32_t, farm_entry<farm_member_value>> members;
  std::set<std::uint32_t> nodes; ///< joined and did not leave: nodes/NODE
  std::optional<farm_entry<farm_order>> order;
  std::map<std::uint32_t, farm_entry<farm_reply>> replies;
  std::optional<farm_entry<farm_order>> run;

  /// Revision of run/now; 0 if it does not exist.
  [[nodiscard]] std::int64_t run_changed() const { return run ? run->changed : 0; }
};

/// Names of the keys, without the prefix.
namespace farm_keys {
inline constexpr std::string_view members = "members/";
inline constexpr std::string_view nodes = "nodes/";
inline constexpr std::string_view runs = "run/";
inline constexpr std::string_view order = "run/order";
inline constexpr std::string_view now = "run/now";
inline constexpr std::string_view armed = "run/armed/";
} // namespace farm_keys

/// Parses the response to a read of members, nodes and runs. Throws std::runtime_error, with the
/// key, for an invalid value, such as one of another version.
[[nodiscard]] farm_view read_view(const std::string& prefix, const std::vector<etcd_keys>& found);

} // namespace l3
