// SPDX-License-Identifier: Apache-2.0
// The schema of a layout as a text, which lists the columns: "energy int32", "position
// float32[3]", "threshold scalar uint64". A file of columns has this text, and a program loads the
// file only if its own text is equal. Boost.PFR visits the fields, and the compiler supplies their
// names.
//
// For the host only. The type of a column is a number, an enum, or a plain struct of these.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <boost/pfr.hpp>

#include "gpu/columns/soa.hpp"

namespace l3 {

namespace schema_details {

/// An object whose fields have addresses.
template <class S>
inline constexpr S example{};

template <class P>
struct pointer {
  P to;
};
template <class P>
pointer(P) -> pointer<P>;

/// The compiler's text for this function, which contains the pointer to the field.
template <auto Field>
consteval const char* spelled() {
  return __PRETTY_FUNCTION__;
}

inline constexpr std::string_view word_characters =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";

} // namespace schema_details

/// The name of the Ith field of a struct: the last word of "… &example.energy)}]".
template <class S, std::size_t I>
[[nodiscard]] constexpr std::string_view field_name() {
  namespace d = schema_details;
  std::string_view text = d::spelled<d::pointer{&boost::pfr::get<I>(d::example<S>)}>();
  text.remove_suffix(text.size() - text.find_last_of(d::word_characters) - 1);
  return text.substr(text.find_last_not_of(d::word_characters) + 1);
}

template <class T>
struct type_text {
  static_assert(std::is_trivially_copyable_v<T>);
  static std::string get() {
    const std::string bits = std::to_string(8 * sizeof(T));
    if constexpr (std::is_same_v<T, bool>) {
      return "bool";
    } else if constexpr (std::is_enum_v<T>) {
      return "enum " + type_text<std::underlying_type_t<T>>::get();
    } else if constexpr (std::is_floating_point_v<T>) {
      return "float" + bits;
    } else if constexpr (std::is_integral_v<T>) {
      return (std::is_signed_v<T> ? "int" : "uint") + bits;
    } else {
      static_assert(std::is_aggregate_v<T>, "a number, an enum or a plain struct");
      return "struct of " + std::to_string(sizeof(T)) + " bytes {" +
             members(std::make_index_sequence<boost::pfr::tuple_size_v<T>>{}) + "}";
    }
  }

private:
  template <std::size_t... I>
  static std::string members(std::index_sequence<I...>) {
    std::string text;
    ((text += (I == 0 ? "" : ", ") + std::string(field_name<T, I>()) + " " +
              type_text<boost::pfr::tuple_element_t<I, T>>::get()),
     ...);
    return text;
  }
};
template <class T>
struct type_text<scalar<T>> {
  static std::string get() { return "scalar " + type_text<T>::get(); }
};
template <class T, std::uint32_t R, std::uint32_t C>
struct type_text<matrix_of<T, R, C>> {
  static std::string get() {
    return type_text<T>::get() + "[" + std::to_string(R) + "]" +
           (C == 1 ? "" : "[" + std::to_string(C) + "]");
  }
};

template <class Layout>
[[nodiscard]] std::string schema_text() {
  using fields = typename Layout::declared;
  std::string text;
  const auto line = [&]<std::size_t I>(std::integral_constant<std::size_t, I>) {
    using type = typename boost::pfr::tuple_element_t<I, fields>::type;
    text += std::string(field_name<fields, I>()) + " " + type_text<type>::get() + "\n";
  };
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (line(std::integral_constant<std::size_t, I>{}), ...);
  }
  (std::make_index_sequence<boost::pfr::tuple_size_v<fields>>{});
  return text;
}

} // namespace l3
