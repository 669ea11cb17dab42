// SPDX-License-Identifier: Apache-2.0
// `l3-config-reference page` prints docs/configuration.md, `l3-config-reference file` prints
// deploy/l3.toml.
#include <cstdio>
#include <string_view>

#include "config/load.hpp"

int main(int argc, char** argv) {
  const std::string_view what = argc == 2 ? argv[1] : "";
  if (what == "page") {
    std::fputs(l3::reference_page().c_str(), stdout);
  } else if (what == "file") {
    std::fputs(l3::default_config_file().c_str(), stdout);
  } else {
    std::fputs("usage: l3-config-reference page | file\n", stderr);
    return 2;
  }
}
