// SPDX-License-Identifier: Apache-2.0
// `koto-l3 extract`: writes the original fragments of a store, or of a spool that no daemon uses.
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "tools/command_line.hpp"
#include "tools/evaluate/stored_events.hpp"
#include "tools/info/information.hpp"
#include "tools/interrupt.hpp"
#include "tools/print.hpp"
#include "tools/progress.hpp"
#include "tools/verify/extraction.hpp"
#include "tools/verify/payload_tally.hpp"

namespace l3 {
namespace {

struct options {
  std::string folder;
  std::string out;
  bool skip_damaged = false;
  bool skip_limited = false;
  bool json = false;
};

int extract_store(const options& o) {
  check_folder(o.folder);
  check_store(o.folder);
  interrupt signals;
  const auto check = [&] { signals.check("interrupted: nothing is written"); };
  const event_index stored(o.folder, [&] { return check(), false; });
  progress line("extract", stored.entries().size(), "events");
  const auto tell = [&](std::uint64_t n) {
    check();
    line.update(n);
  };
  const auto done = from_option(
      "out", o.out, [&](const std::string& out) { return extract(o.folder, stored, out, tell); });
  line.clear();
  const auto left_out = json_of(done.payloads, done.payloads.events() > 0
                                                   ? stored_settings(o.folder, signals).line_names()
                                                   : std::map<std::uint32_t, std::string>{});
  if (o.json) {
    const boost::json::object all{{"events", done.events},
                                  {"fragments", done.fragments},
                                  {"bytes", done.bytes},
                                  {"repeats", done.repeats},
                                  {"damaged", done.damaged},
                                  {"left_out", left_out},
                                  {"torn_ends", stored.torn_ends().size()},
                                  {"file", o.out}};
    print_json("{}\n", boost::json::serialize(all));
  } else {
    print_plain("{}: {} events, {} fragments, {:.1f} MB\n", o.out, done.events, done.fragments,
                static_cast<double>(done.bytes) / 1e6);
  }
  if (done.repeats > 0)
    print_error("{} events were stored more than once and are written once\n", done.repeats);
  for (const auto& end : stored.torn_ends()) print_error("{}\n", text_of(end));
  for (const auto& text : payload_words(left_out)) print_error("left out: {}\n", text);
  if (done.payloads.events() > 0 && !o.skip_limited)
    throw command_error(
        fmt::format("{} events do not have all their waveforms as received, so their fragments "
                    "cannot be written (--skip-limited accepts that)",
                    done.payloads.events()));
  const std::string damage =
      fmt::format("{} places of the store are damaged; their events are skipped", done.damaged);
  if (done.damaged > 0 && o.skip_damaged)
    print_error("{}\n", damage);
  else if (done.damaged > 0)
    throw command_error(damage + " (--skip-damaged accepts that)");
  return 0;
}

} // namespace

void add_extract(command_line program, command_body& run) {
  auto o = std::make_shared<options>();
  const auto c =
      program.add_subcommand("extract", "write the original fragments of all stored events");
  c.footer("Fragments are written in ascending order of spill, event number and crate.");
  c.add_option("folder", o->folder,
               "the store that `receive` wrote, or the spool that a daemon left behind")
      .required();
  c.add_option("out", o->out, "the file to write").required();
  add_skip_damaged_flag(c, o->skip_damaged);
  c.add_flag("--skip-limited", o->skip_limited,
             "exit with 0 even if events were skipped that lack waveforms");
  c.add_flag("--json", o->json, "report as JSON");
  c.callback([o, &run] { run = [o] { return extract_store(*o); }; });
}

} // namespace l3
