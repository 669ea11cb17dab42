// SPDX-License-Identifier: Apache-2.0
// The daemon's configuration: any text is settings or a list of mistakes, each with its place in
// the text, and settings that are printed read the same.
#include <algorithm>

#include "config/load.hpp"
#include "tests/fuzz/targets/fuzz.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
  using namespace l3;
  using test::require;
  const auto text = test::fuzz_input(data, bytes).text();
  const auto lines = 1 + std::count(text.begin(), text.end(), '\n');
  const auto read = read_config(text, "fuzz.toml");
  for (const auto& e : read.errors) {
    require(!e.text.empty(), "a mistake is told");
    require(e.at.line <= lines, "a mistake is where the text is");
  }
  if (!read.ok()) return 0;
  const auto printed = print_config(read.settings, read.origins);
  const auto again = read_config(printed, "printed.toml");
  require(again.ok(), "what is printed can be read");
  require(print_config(again.settings, {}) == print_config(read.settings, {}),
          "what is printed says the same");
  return 0;
}
