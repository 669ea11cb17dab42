// SPDX-License-Identifier: Apache-2.0
// `koto-l3-bench show FILE`: what a bench left as JSON, as a table.
#include <cstdio>
#include <fstream>
#include <iterator>
#include <memory>
#include <stdexcept>

#include "bench/harness/report.hpp"
#include "tools/command.hpp"

namespace l3 {
namespace {

int show(const std::string& path) {
  check_readable(path);
  std::ifstream file(path);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  try {
    std::fputs(bench::report_table(text).c_str(), stdout);
  } catch (const std::runtime_error& e) {
    throw command_error(path + " " + e.what());
  }
  return 0;
}

} // namespace

void add_bench_show(CLI::App& program, command_body& run) {
  auto path = std::make_shared<std::string>();
  auto* c = program.add_subcommand("show", "What a bench printed with --json, as a table");
  c->add_option("FILE", *path, "Where that is")->required();
  c->callback([path, &run] { run = [path] { return show(*path); }; });
}

} // namespace l3
