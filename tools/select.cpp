// SPDX-License-Identifier: Apache-2.0
// `koto-l3 select`: shows the selection's decision on every event of a file, and its reason.
#include <memory>

#include <boost/json.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/command.hpp"
#include "tools/evaluate/decision_totals.hpp"
#include "tools/evaluate/selection_run.hpp"

namespace l3 {
namespace {

namespace json = boost::json;

struct options {
  selection_options run;
  bool json = false;
  bool totals = false;
};

json::array names_of(std::uint32_t mask, const std::vector<std::string>& names) {
  json::array list;
  for (std::size_t n = 0; n < names.size(); ++n)
    if ((mask >> n & 1) != 0) list.emplace_back(names[n]);
  return list;
}

std::vector<std::string> counter_names(const detector& d) {
  std::vector<std::string> names;
  for (const veto& v : d.vetoes()) names.push_back(v.name);
  return names;
}

json::object to_json(const decided_event& e, const std::vector<std::string>& lines,
                     const std::vector<std::string>& counters) {
  const event_summary& s = e.summary;
  json::object values;
  for (std::uint32_t q = 0; q < quantities; ++q) {
    values[name_of(static_cast<quantity>(q))] =
        s.quantity[q] == undefined_quantity ? json::value(nullptr) : json::value(s.quantity[q]);
  }
  json::array photons;
  for (std::uint32_t k = 0; k < s.photons; ++k) {
    const photon_summary& p = s.photon[k];
    photons.push_back(json::object{
        {"energy", p.energy}, {"x", p.x}, {"y", p.y}, {"time", p.time}, {"crystals", p.crystals}});
  }
  json::object reasons;
  for (std::uint32_t n = 0; n < s.lines; ++n)
    if (s.reason[n] != line_fired) reasons[lines[n]] = name_of_reason(s.reason[n]);
  json::array unknown = names_of(s.unknown, counters);
  if ((s.unknown & trigger_unknown) != 0) unknown.emplace_back("trigger");
  if ((s.unknown & calorimeter_unknown) != 0) unknown.emplace_back("calorimeter");
  return {{"spill", e.event.spill},
          {"event", e.event.number},
          {"kept", s.kept != 0},
          {"payload", name_of(s.payload)},
          {"asked_by", names_of(s.asked, lines)},
          {"control_of", names_of(s.control, lines)},
          {"trigger", s.trigger},
          {"fired", names_of(s.fired, lines)},
          {"kept_by", names_of(s.kept_by, lines)},
          {"refused", reasons},
          {"vetoes", names_of(s.vetoes, counters)},
          {"unknown", unknown},
          {"status", s.status},
          {"quantities", values},
          {"photons_found", s.photons_found},
          {"photons", photons}};
}

void print_text(const decided_event& e, const std::vector<std::string>& lines) {
  const event_summary& s = e.summary;
  std::string fired;
  for (std::uint32_t n = 0; n < s.lines; ++n) {
    if ((s.fired >> n & 1) == 0) continue;
    fired += (fired.empty() ? "" : " ") + lines[n];
    if ((s.kept_by >> n & 1) == 0) fired += "(prescaled)";
  }
  if ((s.status & l3::not_judged) != 0) fired += fired.empty() ? "overfull" : " (overfull)";
  if (s.payload != event_payload::all) {
    std::vector<std::string> by;
    for (std::uint32_t n = 0; n < s.lines; ++n)
      if ((s.asked >> n & 1) != 0) by.push_back(lines[n]);
    fired += fmt::format(", {} by {}", name_of(s.payload), fmt::join(by, " and "));
  }
  constexpr double kev_per_mev = 1000;
  fmt::print("{:5} {:8}  {:<8} {:#06x} {:3} {:10.1f} {:#010x}  {}\n", e.event.spill, e.event.number,
             s.kept != 0 ? "kept" : "rejected", s.trigger, s.photons_found,
             s.quantity[static_cast<std::size_t>(quantity::calorimeter_energy)] / kev_per_mev,
             s.vetoes, fired.empty() ? "-" : fired);
}

int select(const options& o) {
  interrupt signals;
  check_readable(o.run.in);
  file_batches in(o.run.in);
  const loaded_selection selection = load_selection(o.run, in.crates(), in.run());
  const auto compute = make_selecting_engine(o.run, in.capacity(o.run.batch), selection);
  const auto lines = selection.line_names();
  const auto counters = counter_names(selection.what);
  decision_totals t(lines.size());
  if (o.json)
    fmt::print("{{\"executor\":{},\"settings\":{},\"events\":[",
               json::serialize(json::value(compute->name())), selection.tables.constants.settings);
  if (!o.json && !o.totals)
    fmt::print("spill    event  decision trigger photons energy/MeV vetoes    lines\n");
  for_each_decided(
      in, *compute,
      [&](const decided_event& e) {
        if (o.json && !o.totals)
          fmt::print("{}\n{}", t.events == 0 ? "" : ",",
                     json::serialize(to_json(e, lines, counters)));
        if (!o.json && !o.totals) print_text(e, lines);
        t.add(e.summary);
      },
      "select", signals);
  if (o.json) {
    fmt::print("],\"total\":{}}}\n",
               json::serialize(json::object{{"events", t.events},
                                            {"kept", t.kept},
                                            {"not_judged", t.not_judged},
                                            {"lines", lines_to_json(t, selection)}}));
  } else {
    if (!o.totals) fmt::print("\n");
    print_totals(t, selection);
  }
  return 0;
}

} // namespace

void add_select(CLI::App& program, command_body& run) {
  auto o = std::make_shared<options>();
  auto* c = program.add_subcommand("select", "what the selection decides on each event, and why");
  c->footer("Energies are in keV, lengths in 0.1 mm, times in 1/128 ns (docs/selection.md).");
  add_selection_options(*c, o->run);
  c->add_option("--selection", o->run.files.lines, "cuts, counters and lines")
      ->capture_default_str();
  c->add_flag("--totals", o->totals, "only what all events together gave");
  c->add_flag("--json", o->json, "report as JSON");
  c->callback([o, &run] { run = [o] { return select(*o); }; });
}

} // namespace l3
