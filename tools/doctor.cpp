// SPDX-License-Identifier: Apache-2.0
// `koto-l3 doctor`: checks whether this machine meets the daemon's needs, and prints remedies.
#include <algorithm>
#include <memory>

#include <boost/json.hpp>

#include "config/load.hpp"
#include "selection/engine/engine.hpp"
#include "tools/command_line.hpp"
#include "tools/doctor/checks.hpp"
#include "tools/interrupt.hpp"
#include "tools/print.hpp"

namespace l3 {
namespace {

struct options {
  std::string config;
  std::string store;
  bool json = false;
};

constexpr const char* installed_config = "/etc/koto-l3/l3.toml";

daemon_settings settings_of(const options& o) {
  std::string file = o.config;
  std::error_code error;
  if (file.empty() && std::filesystem::exists(installed_config, error)) file = installed_config;
  if (file.empty()) return {};
  check_readable(file);
  const loaded_config loaded = load_config(file);
  if (!loaded.ok()) throw command_error(bad_file(loaded.errors), exit_bad_configuration);
  return loaded.settings;
}

void check_disks(const options& o, const daemon_settings& s, findings& to) {
  constexpr double bits = 8;
  if (!s.spool.folder.empty())
    check_disk({"spool.folder", s.spool.folder, s.spool.size.bytes + s.spool.floor.bytes,
                s.forward.rate.bits_per_second / bits},
               to);
  if (!o.store.empty())
    check_disk({"store", o.store, 0, s.forward.rate.bits_per_second / bits}, to);
}

void print_text(const findings& all) {
  for (const health_finding& f : all) {
    print_plain("{:<8} {:<24} {}\n", name_of(f.how), f.what, f.text);
    if (!f.remedy.empty()) print_plain("{:<8} {:<24}   fix: {}\n", "", "", f.remedy);
  }
  const auto count = [&](health h) { return std::ranges::count(all, h, &health_finding::how); };
  print_plain("{} ok, {} warnings, {} bad\n", count(health::ok), count(health::warning),
              count(health::bad));
}

void print_json(const findings& all) {
  namespace json = boost::json;
  json::array list;
  for (const health_finding& f : all)
    list.push_back(
        json::object{{"health", name_of(f.how)},
                     {"what", f.what},
                     {"text", f.text},
                     {"remedy", f.remedy.empty() ? json::value(nullptr) : json::value(f.remedy)}});
  l3::print_json("{}\n", json::serialize(json::object{{"findings", std::move(list)}}));
}

int examine(const options& o) {
  const daemon_settings s = settings_of(o);
  interrupt signals;
  host h = this_host();
  h.why_no_device = [&] { return why_no_device(s.compute); };
  findings all;
  check_memory(h, s, all);
  check_processors(h, all);
  check_network(h, s, all);
  check_clock(h, all);
  check_device(h, s, all);
  check_disks(o, s, all);
  if (signals.came()) throw command_error("interrupted");
  if (o.json)
    print_json(all);
  else
    print_text(all);
  const bool bad =
      std::ranges::any_of(all, [](const health_finding& f) { return f.how == health::bad; });
  return bad ? exit_failure : 0;
}

} // namespace

void add_doctor(command_line program, command_body& run) {
  auto o = std::make_shared<options>();
  const auto c =
      program.add_subcommand("doctor", "check whether this machine is fit for the daemon");
  c.footer("Checks memory, processors, network cards, ports, clock, GPU and disks within a "
           "few seconds, and writes up to 256 MiB to an unnamed file to measure the speed of a "
           "disk. Exits with 1 if something is bad. Run it as the daemon's user.");
  c.add_option("--config", o->config,
               "the daemon's configuration; without it /etc/koto-l3/l3.toml, or the defaults");
  c.add_option("--store", o->store, "also check this folder, where `receive` will store");
  c.add_flag("--json", o->json, "report as JSON");
  c.callback([o, &run] { run = [o] { return examine(*o); }; });
}

} // namespace l3
