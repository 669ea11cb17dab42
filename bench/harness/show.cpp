// SPDX-License-Identifier: Apache-2.0
// `koto-l3-bench show FILE`: shows a bench's JSON file as a table.
#include <cstdio>
#include <memory>
#include <stdexcept>

#include "bench/harness/report.hpp"
#include "tools/command_line.hpp"
#include "transport/system/input_file.hpp"

namespace l3 {
namespace {

int show(const std::string& path) {
  constexpr std::uint64_t most_bytes = 16 << 20;
  const input_text in = read_input(path, most_bytes);
  if (!in.refusal.empty()) throw command_error(path + " " + in.refusal, exit_missing_resource);
  try {
    std::fputs(bench::report_table(in.text).c_str(), stdout);
  } catch (const std::runtime_error& e) {
    throw command_error(path + " " + e.what());
  }
  return 0;
}

} // namespace

void add_bench_show(command_line program, command_body& run) {
  auto path = std::make_shared<std::string>();
  const auto c = program.add_subcommand("show", "show the JSON report of a bench as a table");
  c.add_option("FILE", *path, "file with the report").required();
  c.callback([path, &run] { run = [path] { return show(*path); }; });
}

} // namespace l3
