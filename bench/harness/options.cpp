// SPDX-License-Identifier: Apache-2.0
#include "bench/harness/options.hpp"

#include <map>

#include "selection/engine/make_engine.hpp"
#include "tools/command_line.hpp"

namespace l3::bench {

void add_turn_options(command_line command, turn_options& o) {
  add_count(command, "--rounds", o.rounds, "Rounds of measurement", 1, 10'000);
  command.add_flag("--json", o.as_json, "Report as JSON");
}

void add_count(command_line command, const std::string& option, std::uint32_t& n,
               const std::string& what, std::uint32_t least, std::uint32_t most) {
  command.add_option(option, n, what).check(in_range(least, most)).capture_default_str();
}

void add_size(command_line command, const std::string& option, std::uint64_t& bytes,
              const std::string& what, std::uint64_t least, std::uint64_t most) {
  command.add_option(option, bytes, what)
      .transform(size_in_bytes())
      .check(in_range(least, most))
      .capture_default_str();
}

void add_compute_options(command_line command, compute_settings& settings) {
  static const std::map<std::string, backend> backends{{"auto", backend::automatic},
                                                       {"serial", backend::serial},
                                                       {"pool", backend::pool},
                                                       {"cuda", backend::cuda}};
  // CLI11 would show the one-byte enumerators as characters.
  command
      .add_option_function(
          "--backend", [&](const std::string& name) { settings.where = backends.at(name); },
          "Where the kernels run")
      .check(one_of(backends))
      .default_str("auto");
  command.add_option("--threads", settings.threads, "Threads of the pool; 0: one per processor")
      .capture_default_str();
}

bool on_device(const compute_settings& settings) {
  const bool asked = settings.where == backend::cuda;
  if (!asked && settings.where != backend::automatic) return false;
  return why_no_device(asked ? "cuda" : "auto").empty();
}

void add_device_option(command_line command, std::string& backend) {
  command
      .add_option("--backend", backend,
                  "auto: a device if there is one; cuda: fail without a "
                  "device; none: no device")
      .check(one_of({"auto", "cuda", "none"}))
      .capture_default_str();
}

std::string why_no_device(const std::string& backend) {
  if (backend == "none") return "by request";
  std::string why = why_no_cuda();
  if (backend == "cuda" && !why.empty())
    throw command_error("backend cuda was asked for, but " + why, exit_missing_resource);
  return why;
}

} // namespace l3::bench
