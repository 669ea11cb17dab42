// SPDX-License-Identifier: Apache-2.0
#include "config/toml/value.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <toml++/toml.h>

#include "config/toml/complaints.hpp"
#include "transport/format/plain_text.hpp"
#include "transport/system/input_file.hpp"

namespace l3 {
namespace {

constexpr std::size_t longest_shown = 100; // bytes of a value or a key in a message
constexpr std::size_t most_nested = 16;    // nested lists and tables

std::string cut(std::string text) {
  if (text.size() <= longest_shown) return text;
  std::size_t end = longest_shown;
  while ((static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end; // not within a character
  return text.substr(0, end) + "…";
}

/// Texts go to the log, to pages and terminals, and to the system, which cuts a file name at a NUL
/// and so would open another file.
void refuse_what_is_not_plain(std::string_view text, const source_place& at) {
  for (auto c = find_unplain(text); c; c = find_unplain(text, c->at + c->bytes)) {
    const bool in_several_lines = c->number == U'\n' || c->number == U'\r' || c->number == U'\t';
    if (!in_several_lines)
      throw bad_file(at, "this text contains {}, a control or invisible character; remove it",
                     escaped_name(*c, text));
  }
}

toml_value converted(const toml::node& node, const std::string& name, std::size_t depth = 0) {
  toml_value v;
  v.line = node.source().begin.line;
  v.column = node.source().begin.column;
  if (depth > most_nested)
    throw bad_file({name, v.line, v.column},
                   "this is nested more than {} levels deep; keys are not", most_nested);
  if (const auto* text = node.as_string()) {
    refuse_what_is_not_plain(text->get(), {name, v.line, v.column});
    v.content = text->get();
  } else if (const auto* integer = node.as_integer()) {
    v.content = integer->get();
  } else if (const auto* number = node.as_floating_point()) {
    v.content = number->get();
  } else if (const auto* truth = node.as_boolean()) {
    v.content = truth->get();
  } else if (const auto* array = node.as_array()) {
    toml_value::list list;
    for (const toml::node& element : *array) list.push_back(converted(element, name, depth + 1));
    v.content = std::move(list);
  } else if (const auto* entries = node.as_table()) {
    toml_value::table table;
    for (const auto& [key, entry] : *entries) {
      toml_value& value = table.values.emplace_back(converted(entry, name, depth + 1));
      const std::string_view word = key.str();
      const bool plain = std::all_of(word.begin(), word.end(),
                                     [](unsigned char c) { return c > ' ' && c < 0x7f; });
      value.key = cut(plain ? std::string(word) : quote(word));
      value.key_line = key.source().begin.line;
      value.key_column = key.source().begin.column;
    }
    v.content = std::move(table);
  }
  return v;
}

} // namespace

std::optional<double> toml_value::number() const {
  if (const auto* integer = as<std::int64_t>()) return static_cast<double>(*integer);
  const auto* number = as<double>();
  return number == nullptr ? std::nullopt : std::optional(*number);
}

std::vector<double> toml_value::numbers(std::size_t count) const {
  const auto* elements = as<list>();
  if (elements == nullptr || elements->size() != count) return {};
  std::vector<double> all;
  for (const toml_value& e : *elements)
    if (const auto n = e.number()) all.push_back(*n);
  return all.size() == count ? all : std::vector<double>{};
}

std::string written(const toml_value& v) {
  if (const auto* text = v.as<std::string>()) return quote(cut(*text));
  if (const auto* list = v.as<toml_value::list>()) {
    std::string text;
    for (const toml_value& e : *list)
      if (text.size() <= longest_shown) text += (text.empty() ? "" : ", ") + written(e);
    return "[" + cut(text) + "]";
  }
  if (v.as<toml_value::table>() != nullptr) return "{…}";
  if (const auto* truth = v.as<bool>()) return *truth ? "true" : "false";
  if (const auto* integer = v.as<std::int64_t>()) return fmt::format("{}", *integer);
  if (const auto* number = v.as<double>()) {
    const auto text = fmt::to_string(*number);
    return text.find_first_not_of("-0123456789") == text.npos ? text + ".0" : text;
  }
  return "a date or time";
}

std::string quote(std::string_view text) {
  std::string out = "\"";
  for (std::size_t i = 0; i < text.size();) {
    const auto unplain = find_unplain(text, i);
    const std::size_t end = unplain ? unplain->at : text.size();
    for (; i < end; ++i) {
      if (text[i] == '"' || text[i] == '\\') out += '\\';
      out += text[i];
    }
    if (!unplain) break;
    out += unplain->number == U'\n' ? "\\n" : escaped_name(*unplain, text);
    i += unplain->bytes;
  }
  return out + "\"";
}

std::string read_text(const std::filesystem::path& file) {
  input_text in = read_input(file, most_text_bytes);
  if (in.refusal.empty()) return std::move(in.text);
  const std::string name = file.string(); // a message would end at a NUL
  throw bad_file({name.find('\0') == name.npos ? name : quote(name)}, "{}", in.refusal);
}

toml_value parse_toml(std::string_view text, const std::string& name) {
  if (text.size() > most_text_bytes)
    throw bad_file({name}, "has {} bytes; at most {} are read", text.size(), most_text_bytes);
  try {
    return converted(toml::parse(text, name), name);
  } catch (const toml::parse_error& e) {
    const auto at = e.source().begin;
    throw bad_file({name, at.line, at.column}, "this is not TOML: {}", e.description());
  }
}

} // namespace l3
