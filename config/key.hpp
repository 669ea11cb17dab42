// SPDX-License-Identifier: Apache-2.0
// Descriptions of the configuration keys. Loading, checking, printing, the reference page and the
// default configuration file use them; the defaults come from the settings structs. A new key is a
// member of a settings struct and an entry in keys.cpp.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "config/settings.hpp"
#include "config/toml/table.hpp"

namespace l3 {

/// Reports what is wrong with a value or one of its elements: the rest of a sentence that begins
/// with `key = value`.
using refuse_value = std::function<void(const toml_value&, const std::string&)>;

struct key {
  std::string_view path; ///< "forward.rate"
  std::string_view text; ///< one line for people
  std::string form;      ///< kind of value: "size", "integer" …
  std::string allowed;   ///< "1..65536", or the allowed words
  /// Stores or refuses the value.
  std::function<void(const toml_value&, daemon_settings&, const refuse_value&)> set;
  /// The setting as TOML.
  std::function<std::string(const daemon_settings&)> show;
  /// Whether a running daemon takes a new value (daemon/reload.hpp); other keys need a restart.
  bool live = false;
};

struct section {
  std::string_view name;
  std::string_view text;
};

/// In the order of printing.
[[nodiscard]] const std::vector<section>& sections();
[[nodiscard]] const std::vector<key>& keys();

/// Keys of older versions, in alphabetical order. They are refused with their advice.
[[nodiscard]] const std::vector<gone_key>& gone_keys();

} // namespace l3
