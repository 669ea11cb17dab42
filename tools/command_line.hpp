// SPDX-License-Identifier: Apache-2.0
// The options of a command. Only command_line.cpp uses CLI11, because its headers take longer to
// compile than a command.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tools/command_error.hpp"

namespace CLI {
class App;
class Option;
class Validator;
} // namespace CLI

namespace l3 {

/// Checks the text of an option and may rewrite it. Returns what is wrong, or an empty string.
class option_rule {
public:
  using rewrite = std::function<std::string(std::string&)>;

  /// `form`: the allowed texts, for --help.
  explicit option_rule(const rewrite& look, const std::string& form = {});
  explicit option_rule(const CLI::Validator& rule);
  [[nodiscard]] const CLI::Validator& validator() const { return *validator_; }

private:
  std::shared_ptr<const CLI::Validator> validator_;
};

/// A number from `least` to `most`: unsigned integers and real numbers.
template <class Number>
[[nodiscard]] option_rule in_range(Number least, Number most);
[[nodiscard]] option_rule one_of(const std::vector<std::string>& words);
/// The names of a table.
template <class Value>
[[nodiscard]] option_rule one_of(const std::map<std::string, Value>& named) {
  std::vector<std::string> words;
  words.reserve(named.size());
  for (const auto& [word, value] : named) words.push_back(word);
  return one_of(words);
}
/// A number of bytes, such as "64 kB" or "1 MiB". Units are powers of 1024 except kB, MB and GB.
[[nodiscard]] option_rule size_in_bytes();

/// A handle of a command's option; copied freely.
class option {
public:
  explicit option(CLI::Option* of) : of_(of) {}

  option check(const option_rule& rule) const;
  option check(const std::function<std::string(const std::string&)>& look) const;
  option transform(const option_rule& rule) const;
  option required() const;
  option needs(option other) const;
  option excludes(option other) const;
  option delimiter(char between) const;
  option group(const std::string& heading) const;
  option allow_extra_args(bool yes) const;
  option option_text(const std::string& form) const;
  /// Shows the current value of the variable in --help.
  option capture_default_str() const;
  option default_str(const std::string& text) const;
  [[nodiscard]] std::size_t count() const;
  [[nodiscard]] std::vector<std::string> results() const;

private:
  CLI::Option* of_;
};

/// A handle of a command, or of a program with its commands; copied freely.
class command_line {
public:
  explicit command_line(CLI::App* of) : of_(of) {}

  [[nodiscard]] command_line add_subcommand(const std::string& name, const std::string& what) const;
  /// For numbers, texts, and vectors and optionals of them, as instantiated in command_line.cpp.
  template <class Value>
  option add_option(const std::string& names, Value& to, const std::string& what) const;
  option add_option_function(const std::string& names,
                             const std::function<void(const std::string&)>& take,
                             const std::string& what) const;
  option add_flag(const std::string& names, bool& to, const std::string& what) const;
  option add_flag_function(const std::string& names, const std::function<void()>& take,
                           const std::string& what) const;
  [[nodiscard]] option get_option(const std::string& name) const;
  void footer(const std::string& text) const;
  /// Called after the command line is parsed.
  void callback(const std::function<void()>& then) const;
  void require_subcommand() const;
  [[nodiscard]] CLI::App& app() const { return *of_; }

private:
  CLI::App* of_;
};

/// --skip-damaged: damaged parts of a store are skipped and reported without an error.
inline option add_skip_damaged_flag(command_line command, bool& skips) {
  return command.add_flag("--skip-damaged", skips,
                          "exit with 0 even if damaged data were skipped, and report how much");
}

/// A finite decimal number with an optional sign and exponent. CLI11 also accepts hexadecimal ones,
/// infinity and not-a-number.
[[nodiscard]] std::optional<double> read_real_number(std::string_view text);

/// Reports a mistake in an option's value.
[[noreturn]] void refuse_option(const std::string& name, const std::string& why);

// Reads the options of a service command from a TOML file: `secret_key = "…"` is --secret-key.
// Options on the command line override the file.

/// Adds --config FILE to a command. Call it before adding other options: CLI11 processes options in
/// that order, so the file can set the later ones. A mistake in the file is a command_error of
/// exit_bad_configuration with its place.
void add_options_file(command_line command);

// The commands of `koto-l3` and `koto-l3-bench`: each is a name and a function that adds the
// command and its options to the program.

/// Runs after the command line is parsed; returns the exit code.
using command_body = std::function<int()>;

/// Adds one command with its options to the program; parsing it sets `run`.
using command_adder = void(command_line program, command_body& run);

struct command {
  std::string_view name;
  command_adder* add;
  const char* group = "Commands"; ///< its heading in --help
};

/// Parses a program's command line, creates only the wanted command, runs it, and returns the exit
/// code.
[[nodiscard]] int run_program(const std::string& name, const std::string& what,
                              std::span<const command> commands, int argc, const char* const* argv);

} // namespace l3
