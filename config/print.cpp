// SPDX-License-Identifier: Apache-2.0
#include "config/print.hpp"

#include <sstream>
#include <string_view>

#include "config/key.hpp"

namespace l3 {
namespace {

bool is_in(const key& k, const section& s) { return k.path.substr(0, k.path.find('.')) == s.name; }

std::string_view name_in_section(const key& k) { return k.path.substr(k.path.find('.') + 1); }

constexpr const char* page_head = R"(# Configuration

<!-- Made by l3-config-reference from the key descriptions in config/keys.cpp. -->

`koto-l3d --config FILE` reads one TOML file at its start. Every key has a default, so an empty file
is a valid configuration; `deploy/l3.toml` lists every key with its default, commented out.

* `koto-l3d --config FILE --check-config` reads and checks the file, says everything that is wrong
  with it at once, and ends with exit code 0 (good) or 78 (bad).
* `koto-l3d --config FILE --print-config` prints the effective value of every key and where it comes
  from: the default, or a line of the file. Its output is itself a valid configuration.

A running daemon reads the file, and the files that it names, again on SIGHUP (`systemctl reload
koto-l3d`). If anything is wrong, all of it goes to the log with file, line and column, and nothing
changes. Otherwise the settings marked *live* below take effect at once; of the others the log names
those that differ from the running ones, because they need a restart.

Numbers with a unit are strings: sizes `"64 MiB"` (B, kB, KiB, MB, MiB, GB, GiB), durations `"5 ms"`
(ns, us, ms, s, min), rates `"4 Gb/s"` (b/s, kb/s, Mb/s, Gb/s). Addresses are `"127.0.0.1:42000"`;
an empty one switches that part off.

A key that does not exist is an error, and so is a value out of its range:

```
/etc/koto-l3/l3.toml:12:1: forward.rat is not a key; did you mean forward.rate?
/etc/koto-l3/l3.toml:41:9: frames.count = 1 is out of range 2..64 (default 4)
```
)";

constexpr const char* file_head =
    R"(# Configuration of koto-l3d: every key with its default, commented out.
# docs/configuration.md explains the form; `koto-l3d --config FILE --check-config` checks this file,
# `koto-l3d --config FILE --print-config` shows the effective values. A running daemon takes new values of
# the keys that are called live when it is told to reload; the others need a restart.
)";

} // namespace

std::string print_config(const daemon_settings& settings, const config_origins& origins) {
  std::ostringstream out;
  out << "# Effective configuration of koto-l3d, and where each value comes from.\n";
  for (const section& s : sections()) {
    out << "\n[" << s.name << "]\n";
    for (const key& k : keys()) {
      if (!is_in(k, s)) continue;
      out << name_in_section(k) << " = " << k.show(settings) << "  # ";
      const auto from = origins.find(k.path);
      if (from == origins.end()) {
        out << "default\n";
      } else {
        out << from->second.file << ":" << from->second.line << "\n";
      }
    }
  }
  return out.str();
}

std::string default_config_file() {
  const daemon_settings defaults;
  std::ostringstream out;
  out << file_head;
  for (const section& s : sections()) {
    out << "\n# " << s.text << "\n[" << s.name << "]\n";
    for (const key& k : keys()) {
      if (!is_in(k, s)) continue;
      out << "\n# " << k.text << "\n# " << k.form << ": " << k.allowed << (k.live ? "; live" : "")
          << "\n";
      out << "#" << name_in_section(k) << " = " << k.show(defaults) << "\n";
    }
  }
  return out.str();
}

std::string reference_page() {
  const daemon_settings defaults;
  std::ostringstream out;
  out << page_head;
  for (const section& s : sections()) {
    out << "\n## [" << s.name << "]\n\n" << s.text << "\n\n";
    out << "| key | takes | default | what it sets |\n| --- | --- | --- | --- |\n";
    for (const key& k : keys()) {
      if (!is_in(k, s)) continue;
      out << "| `" << k.path << "` | " << k.form << ": " << k.allowed << " | `" << k.show(defaults)
          << "` | " << k.text << (k.live ? " *Live.*" : "") << " |\n";
    }
  }
  return out.str();
}

} // namespace l3
