// SPDX-License-Identifier: Apache-2.0
#include "config/load.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <set>
#include <sstream>
#include <system_error>

#include <toml++/toml.h>

#include "config/check.hpp"
#include "config/key.hpp"
#include "config/nearest.hpp"

namespace l3 {
namespace {

constexpr std::size_t max_file_bytes = std::size_t{1} << 20;

written_value as_written(const toml::node& node) {
  written_value v;
  v.line = node.source().begin.line;
  v.column = node.source().begin.column;
  if (const auto* text = node.as_string()) {
    v.content = text->get();
    v.quoted = quote(text->get());
  } else if (const auto* integer = node.as_integer()) {
    v.content = integer->get();
    v.quoted = std::to_string(integer->get());
  } else if (const auto* array = node.as_array()) {
    std::vector<written_value> elements;
    for (const toml::node& element : *array) elements.push_back(as_written(element));
    for (const written_value& e : elements) v.quoted += (v.quoted.empty() ? "[" : ", ") + e.quoted;
    v.quoted = elements.empty() ? "[]" : v.quoted + "]";
    v.content = std::move(elements);
  } else if (node.is_table()) {
    v.quoted = "{…}";
  } else {
    std::ostringstream out;
    node.visit([&](const auto& other) { out << other; });
    v.quoted = out.str();
  }
  return v;
}

// Goes through one parsed file, key by key, and gathers settings and errors.
class reader {
public:
  reader(const std::string& file, loaded_config& into) : file_(file), into_(into) {}

  void read(const toml::table& root) {
    for (const auto& [name, node] : root) read_section(name, node);
    check_together();
  }

private:
  void read_section(const toml::key& name, const toml::node& node) {
    const bool known = std::any_of(sections().begin(), sections().end(),
                                   [&](const section& s) { return s.name == name.str(); });
    if (!known) {
      unknown_section(name, node);
    } else if (const toml::table* table = node.as_table()) {
      for (const auto& [key_name, value] : *table) read_key(name.str(), key_name, value);
    } else {
      error(node.source().begin, std::string(name.str()) + " is a table: write [" +
                                     std::string(name.str()) + "] with its keys below it");
    }
  }

  void read_key(std::string_view table, const toml::key& name, const toml::node& node) {
    const std::string path = std::string(table) + "." + std::string(name.str());
    const auto k =
        std::find_if(keys().begin(), keys().end(), [&](const key& c) { return c.path == path; });
    if (k == keys().end()) {
      unknown_key(path, name);
      return;
    }
    const written_value value = as_written(node);
    into_.origins[path] = {file_, value.line, value.column};
    for (const complaint& c : k->set(value, into_.settings)) {
      wrong_.insert(path);
      const written_value& what = c.element ? *c.element : value;
      std::string text = path + " = " + what.quoted + " " + c.text;
      if (!c.element) text += " (default " + k->show(daemon_settings{}) + ")";
      into_.errors.push_back({file_, what.line, what.column, text});
    }
  }

  void unknown_key(const std::string& path, const toml::key& name) {
    std::vector<std::string_view> all;
    std::string suggestion;
    for (const key& k : keys()) {
      all.push_back(k.path);
      // The right name under the wrong heading is the likeliest slip.
      if (k.path.substr(k.path.find('.') + 1) == name.str()) suggestion = k.path;
    }
    if (suggestion.empty()) suggestion = nearest(path, all);
    error(name.source().begin, path + " is not a key" +
                                   (suggestion.empty() ? "; --print-config shows them all"
                                                       : "; did you mean " + suggestion + "?"));
  }

  void unknown_section(const toml::key& name, const toml::node& node) {
    std::vector<std::string_view> all;
    for (const section& s : sections()) all.push_back(s.name);
    const std::string suggestion = nearest(name.str(), all);
    const std::string what =
        node.is_table() ? "[" + std::string(name.str()) + "] is not a table of this configuration"
                        : std::string(name.str()) + " is not a key";
    error(name.source().begin,
          what + (suggestion.empty() ? "; --print-config shows them all"
                                     : "; did you mean [" + suggestion + "]?"));
  }

  void check_together() {
    for (const conflict& c : conflicts_in(into_.settings)) {
      // What is wrong by itself was said already.
      if (std::any_of(c.paths.begin(), c.paths.end(),
                      [&](std::string_view p) { return wrong_.contains(p); }))
        continue;
      config_error e{file_, 0, 0, c.text};
      for (const std::string_view path : c.paths) {
        const auto at = into_.origins.find(path);
        if (at == into_.origins.end()) continue;
        e.line = at->second.line;
        e.column = at->second.column;
        break;
      }
      into_.errors.push_back(e);
    }
  }

  void error(const toml::source_position& at, std::string text) {
    into_.errors.push_back({file_, at.line, at.column, std::move(text)});
  }

  const std::string& file_;
  loaded_config& into_;
  std::set<std::string, std::less<>> wrong_;
};

} // namespace

std::string quote(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (c == '\n') {
      out += "\\n";
    } else {
      out += c;
    }
  }
  return out + "\"";
}

loaded_config read_config(std::string_view toml, const std::string& file) {
  loaded_config result;
  try {
    const toml::table root = toml::parse(toml, file);
    reader(file, result).read(root);
  } catch (const toml::parse_error& e) {
    const auto at = e.source().begin;
    result.errors.push_back(
        {file, at.line, at.column, "this is not TOML: " + std::string(e.description())});
  }
  std::stable_sort(result.errors.begin(), result.errors.end(),
                   [](const config_error& a, const config_error& b) {
                     return std::pair(a.line, a.column) < std::pair(b.line, b.column);
                   });
  return result;
}

loaded_config load_config(const std::string& file) {
  const auto refuse = [&](const std::string& why) {
    loaded_config result;
    result.errors.push_back({file, 0, 0, why});
    return result;
  };
  errno = 0;
  std::ifstream in(file, std::ios::binary);
  if (!in) return refuse("cannot be opened: " + std::generic_category().message(errno));
  // One byte more than is allowed tells a file that is too long; an endless one is not read to its
  // end.
  std::string text(max_file_bytes + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (in.bad()) return refuse("cannot be read: " + std::generic_category().message(errno));
  text.resize(static_cast<std::size_t>(in.gcount()));
  if (text.size() > max_file_bytes)
    return refuse("is longer than 1 MiB: this is not a configuration");
  return read_config(text, file);
}

} // namespace l3
