// SPDX-License-Identifier: Apache-2.0
// The names of a closed list of reasons, kinds or states, spelled like its enumerators. The last
// enumerator, count_, is their number. Names are stored and scraped: renaming an enumerator changes
// what others read.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>
#include <utility>

namespace l3 {

template <class Enum>
inline constexpr std::size_t enumerators = static_cast<std::size_t>(Enum::count_);

/// "engine" for shed::engine, extracted from the compiler's name of this function: "… [with auto
/// value = l3::shed::engine; …]" (gcc), "… [value = l3::shed::engine]" (clang).
template <auto value>
constexpr std::string_view enumerator_name() {
  std::string_view text = __PRETTY_FUNCTION__;
  text.remove_prefix(text.find("value = "));
  text = text.substr(0, text.find_first_of(";]"));
  return text.substr(text.rfind(':') + 1);
}

/// In the order of the enumerators.
template <class Enum>
inline constexpr auto names_of = []<std::size_t... i>(std::index_sequence<i...>) {
  return std::array{enumerator_name<static_cast<Enum>(i)>()...};
}
(std::make_index_sequence<enumerators<Enum>>{});

template <class Enum>
requires requires { Enum::count_; }
[[nodiscard]] constexpr std::string_view name_of(Enum e) {
  return names_of<Enum>[static_cast<std::size_t>(e)];
}

} // namespace l3
