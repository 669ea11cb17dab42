// SPDX-License-Identifier: Apache-2.0
#include "tools/rehearsal/workload.hpp"

#include <vector>

#include <fmt/format.h>

#include "tools/command.hpp"
#include "tools/rehearsal/child_process.hpp"
#include "tools/whole_number.hpp"

namespace l3 {

void add_workload_options(CLI::App& command, workload& to) {
  command.add_option("--events", to.events, "events to simulate, in all spills together")
      ->capture_default_str()
      ->check(CLI::Range(1U, 10'000'000U));
  command.add_option("--spills", to.spills, "spills, numbered from 1")
      ->capture_default_str()
      ->check(CLI::Range(1U, 511U));
  command.add_option("--seed", to.seed, "the same seed simulates the same bytes")
      ->capture_default_str()
      ->check(whole_number<std::uint64_t>);
  command.add_option("--waveforms", to.waveforms,
                     "recorded waveforms (little-endian u16) in place of simulated ones");
  command.add_option("--samples", to.samples, "samples of a recorded waveform")
      ->capture_default_str()
      ->check(CLI::IsMember({"64", "256"}));
  command.add_option("--backend", to.backend, "where the daemon's kernels run")
      ->capture_default_str()
      ->check(
          CLI::IsMember({"auto", "pool", "cuda", "hip", "sycl"}));
}

void simulate(const workload& what, const std::filesystem::path& file,
              const std::filesystem::path& log, const std::function<bool()>& interrupted) {
  std::vector<std::string> arguments{(program_folder() / "koto-l3").string(),
                                     "simulate",
                                     file.string(),
                                     "--events",
                                     fmt::to_string(what.events),
                                     "--spills",
                                     fmt::to_string(what.spills),
                                     "--seed",
                                     fmt::to_string(what.seed)};
  if (!what.waveforms.empty()) {
    arguments.insert(arguments.end(),
                     {"--waveforms", what.waveforms, "--samples", fmt::to_string(what.samples)});
  }
  child_process p(arguments, log);
  const auto code = p.wait(std::chrono::minutes(30), interrupted);
  if (code == 0) return;
  throw command_error::of_lines("the simulation failed" + (log.empty() ? "" : see_log(log)),
                                code.value_or(exit_failure));
}

} // namespace l3
