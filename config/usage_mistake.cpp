// SPDX-License-Identifier: Apache-2.0
#include "config/usage_mistake.hpp"

#include <algorithm>
#include <cctype>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "config/toml/complaints.hpp"
#include "transport/format/plain_text.hpp"

namespace l3 {
namespace {

/// The first argument that looks like an option but is not one of the command's.
std::string unknown_option(const CLI::App& command) {
  for (const std::string& text : command.remaining()) {
    const bool option = text.size() > 1 && text[0] == '-' &&
                        std::isdigit(static_cast<unsigned char>(text[1])) == 0 && text[1] != '.';
    if (option) return text.substr(0, text.find('='));
  }
  return {};
}

std::vector<std::string> options_of(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* o : command.get_options())
    for (const std::string& name : o->get_lnames()) names.push_back(name);
  return names;
}

std::string what_was_meant(const CLI::App& command, std::string_view option) {
  const std::vector<std::string> names = options_of(command);
  option.remove_prefix(std::min(option.find_first_not_of('-'), option.size()));
  const std::string_view meant = nearest(option, {names.begin(), names.end()});
  return meant.empty() ? "" : "--" + std::string(meant);
}

std::vector<std::string> subcommands_of(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::App* c : command.get_subcommands([](const CLI::App* /*any*/) { return true; }))
    names.push_back(c->get_name());
  return names;
}

/// Replaces three messages of CLI11: a bad number ("Could not convert: --number = x"), a repeated
/// option, and surplus words, of which CLI11 names the last one first. Other messages stay.
std::string words_of(const CLI::App& command, const CLI::Error& error) {
  if (const auto words = command.remaining();
      error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError) && words.size() > 1)
    return fmt::format("The following arguments were not expected: {}; quote a text with blanks",
                       fmt::join(words, " "));
  constexpr std::string_view begin = "Could not convert: ";
  constexpr std::string_view once = ": At Most 1 required but received ";
  std::string text = error.what();
  if (const auto at = text.find(once); at != text.npos)
    return fmt::format("{} is given {} times; give it once", text.substr(0, at),
                       text.substr(at + once.size()));
  const auto equals = text.find(" = ");
  if (!text.starts_with(begin) || equals == text.npos) return text;
  const std::string option = text.substr(begin.size(), equals - begin.size());
  return fmt::format("{}: {} is not a number, or is out of range", option, text.substr(equals + 3));
}

/// The word given as a subcommand where one is expected. Empty for an option, or without a word.
std::string unknown_subcommand(const CLI::App& command) {
  const auto given = command.remaining();
  if (subcommands_of(command).empty() || given.empty() || given.front().starts_with('-')) return {};
  return given.front();
}

std::string mistake_in_words(const CLI::App* program, const CLI::Error& error) {
  const CLI::App* command = program;
  std::string name = program->get_name();
  while (!command->get_subcommands().empty()) {
    command = command->get_subcommands().front();
    name += " " + command->get_name();
  }
  if (const std::string word = unknown_subcommand(*command); !word.empty()) {
    const std::vector<std::string> names = subcommands_of(*command);
    const std::string_view meant = nearest(word, {names.begin(), names.end()});
    return fmt::format("{0}: no command '{1}'; {2}see {0} --help", name, word,
                       meant.empty() ? "" : fmt::format("did you mean {}? ", meant));
  }
  const std::string option = unknown_option(*command);
  if (option.empty())
    return fmt::format("{0}: {1}; see {0} --help", name, words_of(*command, error));
  const std::string meant = what_was_meant(*command, option);
  return fmt::format("{0}: no option {1}; {2}see {0} --help", name, option,
                     meant.empty() ? "" : "did you mean " + meant + "? ");
}

} // namespace

std::string usage_mistake(const CLI::App* program, const CLI::Error& error) {
  return plain_line(mistake_in_words(program, error)) + '\n'; // arguments may contain anything
}

} // namespace l3
