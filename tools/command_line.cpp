// SPDX-License-Identifier: Apache-2.0
#include "tools/command_line.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "config/toml/complaints.hpp"
#include "config/toml/value.hpp"
#include "config/usage_mistake.hpp"
#include "tools/command_error.hpp"

namespace l3 {

namespace {

CLI::Validator as_validator(const option_rule::rewrite& look, const std::string& form) {
  CLI::Validator v;
  v.operation(look);
  v.description(form);
  return v;
}

} // namespace

option_rule::option_rule(const rewrite& look, const std::string& form)
    : option_rule(as_validator(look, form)) {}

option_rule::option_rule(const CLI::Validator& rule)
    : validator_(std::make_shared<const CLI::Validator>(rule)) {}

template <class Number>
option_rule in_range(Number least, Number most) {
  return option_rule(CLI::Range(least, most));
}
template option_rule in_range(std::uint32_t, std::uint32_t);
template option_rule in_range(std::uint64_t, std::uint64_t);
template option_rule in_range(double, double);

option_rule one_of(const std::vector<std::string>& words) {
  return option_rule(CLI::IsMember(words));
}

option_rule size_in_bytes() { return option_rule(CLI::AsSizeValue(true)); }

option option::check(const option_rule& rule) const { return option(of_->check(rule.validator())); }
option option::check(const std::function<std::string(const std::string&)>& look) const {
  return option(of_->check(look));
}
option option::transform(const option_rule& rule) const {
  return option(of_->transform(rule.validator()));
}
option option::required() const { return option(of_->required()); }
option option::needs(option other) const { return option(of_->needs(other.of_)); }
option option::excludes(option other) const { return option(of_->excludes(other.of_)); }
option option::delimiter(char between) const { return option(of_->delimiter(between)); }
option option::group(const std::string& heading) const { return option(of_->group(heading)); }
option option::allow_extra_args(bool yes) const { return option(of_->allow_extra_args(yes)); }
option option::option_text(const std::string& form) const { return option(of_->option_text(form)); }
option option::capture_default_str() const { return option(of_->capture_default_str()); }
option option::default_str(const std::string& text) const { return option(of_->default_str(text)); }
std::size_t option::count() const { return of_->count(); }
std::vector<std::string> option::results() const { return of_->results(); }

command_line command_line::add_subcommand(const std::string& name, const std::string& what) const {
  return command_line(of_->add_subcommand(name, what));
}

template <class Value>
option command_line::add_option(const std::string& names, Value& to,
                                const std::string& what) const {
  return option(of_->add_option(names, to, what));
}
template option command_line::add_option(const std::string&, int&, const std::string&) const;
template option command_line::add_option(const std::string&, double&, const std::string&) const;
template option command_line::add_option(const std::string&, std::optional<double>&,
                                         const std::string&) const;
template option command_line::add_option(const std::string&, std::vector<double>&,
                                         const std::string&) const;
template option command_line::add_option(const std::string&, std::filesystem::path&,
                                         const std::string&) const;
template option command_line::add_option(const std::string&, std::uint16_t&,
                                         const std::string&) const;
template option command_line::add_option(const std::string&, std::uint32_t&,
                                         const std::string&) const;
template option command_line::add_option(const std::string&, std::uint64_t&,
                                         const std::string&) const;
template option command_line::add_option(const std::string&, std::string&,
                                         const std::string&) const;
template option command_line::add_option(const std::string&, std::optional<std::uint32_t>&,
                                         const std::string&) const;
template option command_line::add_option(const std::string&, std::vector<std::string>&,
                                         const std::string&) const;
template option command_line::add_option(const std::string&, std::vector<std::uint32_t>&,
                                         const std::string&) const;

option command_line::add_option_function(const std::string& names,
                                         const std::function<void(const std::string&)>& take,
                                         const std::string& what) const {
  return option(of_->add_option_function<std::string>(names, take, what));
}
option command_line::add_flag(const std::string& names, bool& to, const std::string& what) const {
  return option(of_->add_flag(names, to, what));
}
option command_line::add_flag_function(const std::string& names, const std::function<void()>& take,
                                       const std::string& what) const {
  return option(of_->add_flag_function(
      names, [take](std::int64_t) { take(); }, what));
}
option command_line::get_option(const std::string& name) const {
  return option(of_->get_option(name));
}
void command_line::footer(const std::string& text) const {
  constexpr std::size_t columns = 88;
  std::string lines = text;
  for (std::size_t begin = 0; lines.size() - begin > columns;) {
    const std::size_t blank = lines.rfind(' ', begin + columns);
    lines[blank] = '\n';
    begin = blank + 1;
  }
  of_->footer(lines);
}
void command_line::callback(const std::function<void()>& then) const { of_->callback(then); }
void command_line::require_subcommand() const { of_->require_subcommand(1); }

std::optional<double> read_real_number(std::string_view text) {
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, value);
  if (read.ec != std::errc{} || read.ptr != end || !std::isfinite(value)) return std::nullopt;
  return value;
}

void refuse_option(const std::string& name, const std::string& why) {
  throw CLI::ValidationError(name, why);
}

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
    return name != "config" && name != "check-config" && name != "elsewhere" && name != "help" &&
           name != "version";
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
          "TOML file with options; `secret_key = \"FILE\"` sets --secret-key")
      ->check(refuse_no_name);
}

} // namespace l3
