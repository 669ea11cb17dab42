// SPDX-License-Identifier: Apache-2.0
#include "tools/options_file.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "config/toml/complaints.hpp"
#include "config/toml/nearest.hpp"
#include "config/toml/value.hpp"
#include "config/usage_mistake.hpp"
#include "tools/command_error.hpp"

namespace l3 {
namespace {

std::string with(std::string text, char wanted, char there) {
  std::ranges::replace(text, there, wanted);
  return text;
}

/// The value as on a command line; nothing for values that no option accepts.
std::optional<std::string> as_argument(const toml_value& v) {
  if (const auto* yes = v.as<bool>()) return *yes ? "true" : "false";
  if (const auto* whole = v.as<std::int64_t>()) return std::to_string(*whole);
  if (const auto* text = v.as<std::string>()) return *text;
  return {};
}

class options_file {
public:
  options_file(CLI::App& command, std::string name) : command_(command), name_(std::move(name)) {}

  void apply() {
    const toml_value root = parse_toml(read_text(name_), name_);
    for (const toml_value& v : root.as<toml_value::table>()->values) {
      if (CLI::Option* const o = option_of(v.key)) {
        set(*o, v);
      } else {
        const std::vector<std::string> all = keys();
        wrong_.add({name_, v.key_line, v.key_column}, "{} is not a key; {}", v.key,
                   suggest(v.key, {all.begin(), all.end()}));
      }
    }
    wrong_.raise();
  }

private:
  static bool may_stand_here(const CLI::Option& o) {
    const std::string& name = o.get_single_name();
    return name != "config" && name != "check-config" && name != "help" && name != "version";
  }

  CLI::Option* option_of(const std::string& key) const {
    if (key.find('-') != key.npos) return nullptr;
    CLI::Option* const o = command_.get_option_no_throw("--" + with(key, '-', '_'));
    return o != nullptr && may_stand_here(*o) ? o : nullptr;
  }

  std::vector<std::string> keys() const {
    std::vector<std::string> all;
    for (const CLI::Option* o : command_.get_options())
      if (may_stand_here(*o)) all.push_back(with(o->get_single_name(), '_', '-'));
    return all;
  }

  void set(CLI::Option& o, const toml_value& v) {
    if (o.count() > 0) return; // the command line has priority
    const source_place at{name_, v.line, v.column};
    const bool is_flag = o.get_expected_min() == 0;
    const auto argument = as_argument(v);
    if (!argument || is_flag != (v.as<bool>() != nullptr)) {
      wrong_.add(at, "{} = {} is not {}", v.key, written(v),
                 is_flag ? "true or false" : "one text or number");
      return;
    }
    if (argument == "false") return; // like a missing key
    try {
      o.add_result(*argument);
      o.run_callback();
    } catch (const CLI::ParseError& e) {
      const std::string_view text = e.what();
      const std::string prefix = "--" + o.get_single_name() + ": ";
      wrong_.add(at, "{} = {}: {}", v.key, written(v),
                 text.starts_with(prefix) ? text.substr(prefix.size()) : text);
    }
  }

  CLI::App& command_;
  std::string name_;
  complaints wrong_;
};

} // namespace

void add_options_file(command_line of) {
  CLI::App& command = of.app();
  command
      .add_option_function<std::string>(
          "--config",
          [&command](const std::string& name) {
            try {
              options_file(command, name).apply();
            } catch (const bad_file& e) {
              throw command_error(e, exit_bad_configuration);
            }
          },
          "TOML file with options, as `secret_key = \"FILE\"` for --secret-key")
      ->check(refuse_no_name);
}

} // namespace l3
