// SPDX-License-Identifier: Apache-2.0
// The benches, each in the source of its name, `pack` and `unpack` in codec.cpp. A figure means
// something only beside the limit that was measured in the same run on the same machine, so every
// bench measures both and prints their ratio. `show` makes a table of what one left as JSON.
#pragma once

#include <CLI/CLI.hpp>

#include "tools/command.hpp"

namespace l3 {

void add_bench_pack(CLI::App& bench, command_body& run);
void add_bench_unpack(CLI::App& bench, command_body& run);
void add_bench_decode(CLI::App& bench, command_body& run);
void add_bench_device(CLI::App& bench, command_body& run);
void add_bench_engine(CLI::App& bench, command_body& run);
void add_bench_memory(CLI::App& bench, command_body& run);
void add_bench_pipeline(CLI::App& bench, command_body& run);
void add_bench_select(CLI::App& bench, command_body& run);
void add_bench_show(CLI::App& bench, command_body& run);
void add_bench_sort(CLI::App& bench, command_body& run);

} // namespace l3
