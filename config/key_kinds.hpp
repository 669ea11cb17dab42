// SPDX-License-Identifier: Apache-2.0
// The kinds of keys: how a setting of each kind is read, checked against its range, and shown.
// `field` returns the setting in a daemon_settings, which may be const.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "config/amount.hpp"
#include "config/key.hpp"

namespace l3::key_kinds {

template <class Field>
[[nodiscard]] key integer(std::string_view path, Field field, std::int64_t least, std::int64_t most,
                          std::string_view text) {
  using number = std::remove_cvref_t<decltype(field(std::declval<daemon_settings&>()))>;
  const auto allowed = fmt::format("{}..{}", least, most);
  return {path,
          text,
          "integer",
          allowed,
          [=](const toml_value& v, daemon_settings& s, const refuse_value& refuse) {
            const auto* n = v.as<std::int64_t>();
            if (!n) return refuse(v, "is not an integer");
            if (*n < least || *n > most) return refuse(v, "is out of range " + allowed);
            field(s) = static_cast<number>(*n);
          },
          [=](const daemon_settings& s) { return fmt::to_string(field(s)); }};
}

/// An integer, or "auto": `left_open` then becomes true and the number does not change.
template <class Field, class LeftOpen>
[[nodiscard]] key integer_or_auto(std::string_view path, Field field, LeftOpen left_open,
                                  std::int64_t least, std::int64_t most, std::string_view text) {
  key k = integer(path, field, least, most, text);
  k.form = "integer or word";
  k.allowed += R"( or "auto")";
  k.set = [left_open, set = k.set](const toml_value& v, daemon_settings& s,
                                   const refuse_value& refuse) {
    const auto* words = v.as<std::string>();
    left_open(s) = words != nullptr && *words == "auto";
    if (left_open(s)) return;
    if (v.as<std::int64_t>() == nullptr) return refuse(v, R"(is neither an integer nor "auto")");
    set(v, s, refuse);
  };
  k.show = [left_open, show = k.show](const daemon_settings& s) {
    return left_open(s) ? quote("auto") : show(s);
  };
  return k;
}

/// Conversions between plain numbers and the types of the settings.
inline std::uint64_t plain(byte_size v) { return v.bytes; }
inline std::uint64_t plain(bit_rate v) { return static_cast<std::uint64_t>(v.bits_per_second); }
inline std::uint64_t plain(std::chrono::nanoseconds v) {
  return static_cast<std::uint64_t>(v.count());
}
inline void assign(byte_size& to, std::uint64_t v) { to.bytes = v; }
inline void assign(bit_rate& to, std::uint64_t v) { to.bits_per_second = static_cast<double>(v); }
inline void assign(std::chrono::nanoseconds& to, std::uint64_t v) {
  to = std::chrono::nanoseconds(static_cast<std::int64_t>(v));
}

/// A number with a unit. `unlimited`: the word for 0, if the kind has one.
template <class Field>
[[nodiscard]] key amount(std::string_view path, Field field, dimension d, const char* form,
                         std::uint64_t least, std::uint64_t most, std::string_view text,
                         const char* unlimited = nullptr) {
  auto allowed = fmt::format(R"("{}".."{}")", show_amount(least, d), show_amount(most, d));
  if (unlimited) allowed += " or " + quote(unlimited);
  const auto show = [=](const daemon_settings& s) {
    const std::uint64_t value = plain(field(s));
    return quote(unlimited && value == 0 ? std::string(unlimited) : show_amount(value, d));
  };
  return {path,
          text,
          form,
          allowed,
          [=](const toml_value& v, daemon_settings& s, const refuse_value& refuse) {
            const auto* words = v.as<std::string>();
            if (words && unlimited && *words == unlimited) return assign(field(s), 0);
            const auto value = words ? read_amount(*words, d) : std::nullopt;
            if (!value)
              return refuse(v, fmt::format("is not a {}: write a number and a unit ({}) in quotes",
                                           form, units_of(d)));
            if (*value < least || *value > most) return refuse(v, "is out of range " + allowed);
            assign(field(s), *value);
          },
          show};
}

template <class Field>
[[nodiscard]] key size(std::string_view path, Field field, byte_size least, byte_size most,
                       std::string_view text) {
  return amount(path, field, dimension::size, "size", least.bytes, most.bytes, text);
}

template <class Field>
[[nodiscard]] key duration(std::string_view path, Field field, std::chrono::nanoseconds least,
                           std::chrono::nanoseconds most, std::string_view text) {
  return amount(path, field, dimension::duration, "duration", plain(least), plain(most), text);
}

template <class Field>
[[nodiscard]] key rate(std::string_view path, Field field, bit_rate least, bit_rate most,
                       std::string_view text) {
  return amount(path, field, dimension::rate, "rate", plain(least), plain(most), text, "unlimited");
}

/// One of several words.
template <class Field, class Value>
[[nodiscard]] key choice(std::string_view path, Field field,
                         std::vector<std::pair<const char*, Value>> words, std::string_view text) {
  std::string allowed;
  for (const auto& w : words) allowed += (allowed.empty() ? "" : ", ") + quote(w.first);
  return {path,
          text,
          "word",
          allowed,
          [=](const toml_value& v, daemon_settings& s, const refuse_value& refuse) {
            const auto* word = v.as<std::string>();
            for (const auto& w : words)
              if (word && *word == w.first) return void(field(s) = w.second);
            refuse(v, "is not one of " + allowed);
          },
          [=](const daemon_settings& s) {
            for (const auto& w : words)
              if (field(s) == w.second) return quote(w.first);
            return quote("");
          }};
}

} // namespace l3::key_kinds
