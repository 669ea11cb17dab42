// SPDX-License-Identifier: Apache-2.0
// One description per configuration key. Loading, checking, printing, the reference page and the
// default configuration file all come from these descriptions; the defaults come from the settings
// structs themselves. A new key is a member of a settings struct and a line in keys.cpp.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "config/settings.hpp"
#include "config/toml/table.hpp"

namespace l3 {

/// Says what is wrong with a value, or with an element of it: the rest of a sentence that begins
/// with `key = value`.
using refuse_value = std::function<void(const toml_value&, const std::string&)>;

struct key {
  std::string_view path; ///< "forward.rate"
  std::string_view text; ///< one line for people
  std::string form;      ///< what it takes: "size", "integer" …
  std::string allowed;   ///< "1..65536", or the words
  /// Stores the value, or refuses it.
  std::function<void(const toml_value&, daemon_settings&, const refuse_value&)> set;
  /// The setting as TOML.
  std::function<std::string(const daemon_settings&)> show;
  /// A running daemon takes a new value (daemon/reload.hpp); the others need a restart.
  bool live = false;
};

struct section {
  std::string_view name;
  std::string_view text;
};

/// In the order in which they are printed.
[[nodiscard]] const std::vector<section>& sections();
[[nodiscard]] const std::vector<key>& keys();

/// Keys of older versions, in alphabetical order. They are refused with the advice.
[[nodiscard]] const std::vector<gone_key>& gone_keys();

} // namespace l3
