// SPDX-License-Identifier: Apache-2.0
#include "bench/measure/compute_options.hpp"

#include <map>
#include <string>

namespace l3 {

void add_compute_options(CLI::App& command, compute_settings& settings) {
  static const std::map<std::string, backend> backends{{"auto", backend::automatic},
                                                       {"serial", backend::serial},
                                                       {"pool", backend::pool},
                                                       {"cuda", backend::cuda}};
  // CLI11 would show the enumerators, of one byte, as characters.
  command
      .add_option_function<std::string>(
          "--backend", [&](const std::string& name) { settings.where = backends.at(name); },
          "Where the kernels run")
      ->check(CLI::IsMember(backends))
      ->default_str("auto");
  command.add_option("--threads", settings.threads, "Of the pool; 0: one per processor")
      ->capture_default_str();
}

} // namespace l3
