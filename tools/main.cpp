// SPDX-License-Identifier: Apache-2.0
// `koto-l3`: simulate, replay, receive, inspect, measure. Finds the subcommand and runs it.
#include <cstdio>
#include <exception>
#include <system_error>

#include "tools/command.hpp"

int main(int argc, char** argv) {
  CLI::App program{"koto-l3: level-2 data made, sent, stored, checked and measured", "koto-l3"};
  program.set_version_flag("--version", "koto-l3 " L3_VERSION);
  program.require_subcommand(1);

  l3::command_body run;
  l3::add_simulate(program, run);
  l3::add_replay(program, run);
  l3::add_keys(program, run);
  l3::add_receive(program, run);
  l3::add_verify(program, run);
  l3::add_extract(program, run);
  l3::add_pack(program, run);
  l3::add_unpack(program, run);
  l3::add_select(program, run);
  l3::add_evaluate(program, run);
  l3::add_demo(program, run);
  l3::add_bench(program, run);

  for (CLI::App* command : program.get_subcommands(nullptr)) {
    command->set_version_flag("--version", "koto-l3 " L3_VERSION);
  }

  try {
    program.parse(argc, argv);
  } catch (const CLI::RequiredError& e) {
    const bool misspelt = argc > 1 && argv[1][0] != '-' && program.get_subcommands().empty();
    if (!misspelt) return program.exit(e) == 0 ? 0 : l3::exit_usage;
    std::fprintf(stderr, "koto-l3: no command '%s'; see koto-l3 --help\n", argv[1]);
    return l3::exit_usage;
  } catch (const CLI::ParseError& e) {
    return program.exit(e) == 0 ? 0 : l3::exit_usage;
  }

  const char* name = program.get_subcommands().front()->get_name().c_str();
  try {
    return run();
  } catch (const l3::command_error& e) {
    std::fprintf(stderr, "koto-l3 %s: %s\n", name, e.what());
    return e.code;
  } catch (const std::system_error& e) { // what cannot be opened
    std::fprintf(stderr, "koto-l3 %s: %s\n", name, e.what());
    return l3::exit_missing_resource;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "koto-l3 %s: %s\n", name, e.what());
    return l3::exit_failure;
  }
}
