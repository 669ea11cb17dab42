// SPDX-License-Identifier: Apache-2.0
#include "config/load.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "config/key.hpp"
#include "config/toml/table.hpp"

namespace l3 {
namespace {

/// The first part of a key's path and the rest.
std::pair<std::string_view, std::string_view> parts_of(std::string_view path) {
  const auto dot = path.find('.');
  return {path.substr(0, dot), path.substr(dot + 1)};
}

// Reads one parsed file key by key and collects settings and errors.
class reader {
public:
  explicit reader(loaded_config& into) : into_(into) {
    for (const key& k : keys()) paths_.push_back(k.path);
  }

  void read(const toml_value& root, const std::string& file) {
    complaints wrong;
    const toml_table whole(root, file, wrong);
    std::vector<std::string_view> names;
    for (const section& s : sections()) names.push_back(s.name);
    whole.allow({}, names, {}, gone_keys());
    for (const auto name : names)
      whole.inner(name, [&](const toml_table& table) { read_section(table); });
    check_together(file, wrong);
    into_.errors = wrong.take();
  }

private:
  void read_section(const toml_table& table) {
    std::vector<std::string_view> names;
    for (const key& k : keys()) {
      const auto [section, name] = parts_of(k.path);
      if (section != table.title()) continue;
      names.push_back(name);
      if (const auto* value = table.find(name)) read_key(table, k, name, *value);
    }
    table.allow({}, names, paths_, gone_keys());
  }

  void read_key(const toml_table& table, const key& k, std::string_view name,
                const toml_value& value) {
    into_.origins[std::string(k.path)] = table.place(value);
    k.set(value, into_.settings, [&](const toml_value& what, const std::string& text) {
      wrong_.insert(k.path);
      table.complain(name, what,
                     &what == &value ? fmt::format("{} (default {})", text, k.show({})) : text);
    });
  }

  /// Reports settings that contradict each other, unless a key already has a complaint.
  void check_together(const std::string& file, complaints& wrong) {
    for (const conflict& c : conflicts_in(into_.settings)) {
      const auto in = [&](const auto& set) {
        return std::find_if(c.paths.begin(), c.paths.end(),
                            [&](std::string_view p) { return set.contains(p); });
      };
      if (in(wrong_) != c.paths.end()) continue;
      const auto path = in(into_.origins);
      wrong.add(path == c.paths.end() ? source_place{file} : into_.origins.find(*path)->second,
                "{}", c.text);
    }
  }

  loaded_config& into_;
  std::vector<std::string_view> paths_;
  std::set<std::string_view> wrong_;
};

} // namespace

loaded_config read_config(std::string_view toml, const std::string& file) {
  loaded_config result;
  try {
    reader(result).read(parse_toml(toml, file), file);
  } catch (const bad_file& e) {
    result.errors = e.all();
  }
  return result;
}

loaded_config load_config(const std::string& file) {
  try {
    return read_config(read_text(file), file);
  } catch (const bad_file& e) {
    return {{}, {}, e.all()};
  }
}

} // namespace l3
