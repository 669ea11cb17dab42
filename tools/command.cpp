// SPDX-License-Identifier: Apache-2.0
#include "tools/command_line.hpp"
#include "tools/print.hpp"

#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <exception>
#include <iostream>
#include <string_view>
#include <system_error>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "config/toml/complaints.hpp"
#include "config/usage_mistake.hpp"
#include "monitor/service_manager.hpp"
#include "monitor/version.hpp"
#include "transport/system/file_descriptor.hpp"
#include "transport/system/reason_of.hpp"

namespace l3 {
namespace {

constexpr const char* unwritten = "standard output could not be written";

int no_such_command(const std::string& program, const std::string& asked,
                    std::span<const command> commands) {
  std::vector<std::string_view> names;
  for (const command& c : commands) names.push_back(c.name);
  const std::string_view meant = nearest(asked, names);
  print_error("{0}: no command '{1}'; {2}see {0} --help\n", program, asked,
              meant.empty() ? "" : fmt::format("did you mean {}? ", meant));
  return exit_usage;
}

/// Numbers are decimal. CLI11 would read 000123, as in ledger names, as octal, accept 0x10, 0b1 and
/// 1_000, and take an empty text, from an unset shell variable, for no option at all.
std::string plain_number(std::string& text) {
  if (text.empty()) return "the value is empty";
  const std::string_view digits =
      std::string_view(text).substr(text.find_first_of("+-") == 0 ? 1 : 0);
  const bool other_base = digits.size() > 1 && digits[0] == '0' &&
                          std::string_view("xXbBoO").find(digits[1]) != std::string_view::npos;
  const bool in_groups = digits.find_first_of("_'") != std::string_view::npos &&
                         digits.find_first_not_of("0123456789_'") == std::string_view::npos;
  if (other_base || in_groups) return text + " is not a decimal number";
  if (!digits.empty() && digits.find_first_not_of('0') == digits.npos) text = "0"; // also -0
  const auto first = std::min(text.find_first_not_of('0'), text.size() - 1);
  if (text.find_first_not_of("0123456789") == text.npos) text.erase(0, first);
  return {};
}

/// CLI11 alone would take −1, or a number beyond 64 bits, for the largest number.
std::string whole_number(const std::string& text) {
  std::uint64_t n = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data() + (text.starts_with('+') ? 1 : 0), end, n);
  if (read.ec == std::errc{} && read.ptr == end) return {};
  return text + " is not a whole number from 0 on, or is too large";
}

std::string real_number(const std::string& text) {
  return read_real_number(text) ? "" : text + " is not a finite decimal number";
}

/// Checks a number before the option reads its unit. real_number() checks the rest.
std::string plain_real_number(std::string& text) {
  if (read_real_number(text) == 0.0) text = "0";
  return plain_number(text);
}

void take_plain_numbers(CLI::App& command) {
  for (CLI::Option* o : command.get_options(nullptr)) {
    const std::string type = o->get_type_name();
    if (type.starts_with("UINT") || type.starts_with("INT"))
      o->transform(CLI::Validator(plain_number, ""));
    if (type.starts_with("UINT")) o->check(whole_number);
    if (type.starts_with("FLOAT"))
      o->transform(CLI::Validator(plain_real_number, ""))->check(real_number);
  }
  for (CLI::App* c : command.get_subcommands(nullptr)) take_plain_numbers(*c);
}

} // namespace

int run_program(const std::string& name, const std::string& what, std::span<const command> commands,
                int argc, const char* const* argv) {
  take_closed_streams();
  // If the reader has gone (`| head`), a write fails: the command reports it and cleans up.
  (void)std::signal(SIGPIPE, SIG_IGN);
  (void)std::signal(SIGXFSZ, SIG_IGN); // likewise for RLIMIT_FSIZE
  CLI::App program{what, name};
  const std::string version = version_line(name);
  program.set_version_flag("--version", version);
  program.require_subcommand(1);
  program.failure_message(usage_mistake);

  std::vector<const char*> words(argv, argv + argc);
  if (words.size() > 1 && words[1] == std::string_view("help")) { // "help X" is "X --help"
    words.erase(words.begin() + 1);
    words.push_back("--help");
  }

  // Creating options takes most of a program's start, so only the wanted command's are created.
  const std::string asked = words.size() > 1 ? words[1] : "";
  const auto found = std::ranges::find(commands, asked, &command::name);
  command_body run;
  const auto add = [&](const command& c) {
    c.add(command_line(&program), run);
    program.get_subcommands(nullptr).back()->group(c.group);
  };
  if (found != commands.end()) {
    add(*found);
    program.get_subcommands(nullptr).front()->set_version_flag("--version", version);
  } else if (!asked.empty() && asked[0] != '-') {
    return no_such_command(name, asked, commands);
  } else if (asked != "--version") {
    for (const command& c : commands) add(c);
  }

  take_plain_numbers(program);
  program.get_formatter()->label("SUBCOMMAND", "COMMAND");
  program.footer(name + " help COMMAND shows the options of a command.");

  const auto failed = [&](const char* text, int code, bool in_lines = false) {
    if (in_lines)
      print_error("{} {}: {}\n", name, asked, text_lines{text});
    else
      print_error("{} {}: {}\n", name, asked, text);
    if (code == exit_missing_resource) wait_for_a_later_start();
    return code;
  };
  try {
    program.parse(static_cast<int>(words.size()), words.data());
  } catch (const CLI::ParseError& e) {
    const int code = program.exit(e) == 0 ? 0 : exit_usage; // also prints help and version
    if (std::cout.flush()) return code;
    print_error("{}: {}\n", name, unwritten);
    return exit_failure;
  } catch (const command_error& e) { // from a file of options
    return failed(e.what(), e.code, e.in_lines);
  }
  try {
    const int code = run();
    // Output may still be buffered: a full disk, or a reader that has gone, is detected only now.
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0)
      return failed(unwritten, exit_failure);
    return code;
  } catch (const command_error& e) {
    return failed(e.what(), e.code, e.in_lines);
  } catch (const std::system_error& e) {
    if (std::ferror(stdout) != 0) return failed(unwritten, exit_failure);
    // A file, folder or port cannot be opened.
    return failed(reason_of(e).c_str(), exit_missing_resource);
  } catch (const std::exception& e) {
    return failed(reason_of(e).c_str(), exit_failure);
  }
}

} // namespace l3
