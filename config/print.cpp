// SPDX-License-Identifier: Apache-2.0
#include "config/load.hpp"

#include <string_view>

#include <fmt/format.h>

#include "config/key.hpp"
#include "transport/format/plain_text.hpp"

namespace l3 {
namespace {

bool is_in(const key& k, const section& s) { return k.path.substr(0, k.path.find('.')) == s.name; }

std::string_view name_in_section(const key& k) { return k.path.substr(k.path.find('.') + 1); }

constexpr const char* page_head = R"(# Configuration

<!-- Made by l3-config-reference from the key descriptions in config/keys.cpp. -->

`koto-l3d --config FILE` reads one TOML file at its start. Every key has a default, so an empty file
is a valid configuration; `deploy/l3.toml` lists every key with its default, commented out.

* `koto-l3d --config FILE --check-config` reads and checks the file, reports all mistakes at once,
  and exits with 0 (good), 78 (bad) or 69 (the file is good, but the daemon cannot start with it
  here: memory, devices, addresses, or folders that this user cannot write). `--elsewhere` checks
  the file of another machine: it leaves out what depends on the machine, and the keys.
* `koto-l3d --config FILE --print-config` prints the effective value of every key and where it comes
  from: the default, or a line of the file. Its output is itself a valid configuration.

On SIGHUP (`systemctl reload koto-l3d`) a running daemon reads the file, and the files that it
names, again. If there are mistakes, the log names each with file, line and column, and nothing
changes; only an unreadable `histograms.reference` is logged and ignored, as at a start. Otherwise
the settings marked *live* below take effect at once. The log names the other settings that
differ from the running ones, because they need a restart.

Numbers with a unit are strings: sizes `"64 MiB"` (B, kB, KiB, MB, MiB, GB, GiB), durations `"5 ms"`
(ns, us, ms, s, min), rates `"4 Gb/s"` (b/s, kb/s, Mb/s, Gb/s). Addresses are `"127.0.0.1:42000"`;
an empty one switches that part off.

A key that does not exist is an error, and so is a value out of its range:

```
/etc/koto-l3/l3.toml:12:1: forward.rat is not a key; did you mean forward.rate?
/etc/koto-l3/l3.toml:41:9: frames.count = 1 is out of range 2..64 (default "auto")
```
)";

constexpr const char* file_head =
    R"(# Configuration of koto-l3d: every key with its default, commented out.
# docs/configuration.md explains the form; `koto-l3d --config FILE --check-config` checks this file,
# `koto-l3d --config FILE --print-config` shows the effective values. A running daemon applies
# new values of the keys marked live when it reloads; the others need a restart.
)";

} // namespace

std::string print_config(const daemon_settings& settings, const config_origins& origins) {
  std::string out = "# Effective configuration of koto-l3d, and where each value comes from.\n";
  for (const section& s : sections()) {
    out += fmt::format("\n[{}]\n", s.name);
    for (const key& k : keys()) {
      if (!is_in(k, s)) continue;
      const auto from = origins.find(k.path);
      out += fmt::format("{} = {}  # {}\n", name_in_section(k), k.show(settings),
                         from == origins.end() ? "default"
                                               : fmt::format("{}:{}", plain_line(from->second.file),
                                                             from->second.line));
    }
  }
  return out;
}

std::string default_config_file() {
  std::string out = file_head;
  for (const section& s : sections()) {
    out += fmt::format("\n# {}\n[{}]\n", s.text, s.name);
    for (const key& k : keys())
      if (is_in(k, s))
        out += fmt::format("\n# {}\n# {}: {}{}\n#{} = {}\n", k.text, k.form, k.allowed,
                           k.live ? "; live" : "", name_in_section(k), k.show({}));
  }
  return out;
}

std::string reference_page() {
  std::string out = page_head;
  for (const section& s : sections()) {
    out += fmt::format(
        "\n## [{}]\n\n{}\n\n| key | takes | default | what it sets |\n| --- | --- | --- | --- |\n",
        s.name, s.text);
    for (const key& k : keys())
      if (is_in(k, s))
        out += fmt::format("| `{}` | {}: {} | `{}` | {}{} |\n", k.path, k.form, k.allowed,
                           k.show({}), k.text, k.live ? " *Live.*" : "");
  }
  return out;
}

} // namespace l3
