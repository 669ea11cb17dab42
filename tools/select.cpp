// SPDX-License-Identifier: Apache-2.0
// `koto-l3 select`: shows the selection's decision and its reason for every event of a file of
// level-2 data, a store or a spool.
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <boost/json.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/command_line.hpp"
#include "tools/evaluate/selection_run.hpp"
#include "tools/evaluate/stored_events.hpp"
#include "tools/info/information.hpp"
#include "tools/print.hpp"

namespace l3 {
namespace {

namespace json = boost::json;

struct options {
  selection_options run;
  bool json = false;
  bool totals = false;
  bool as_recorded = false;
  bool skip_damaged = false;
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

json::object to_json(const decided_event& e, std::uint32_t run,
                     const std::vector<std::string>& lines,
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
  json::array hits;
  for (std::uint32_t k = 0; k < s.hits; ++k) {
    const veto_hit_summary& h = s.hit[k];
    hits.push_back(json::object{{"counter", counters[h.counter]},
                                {"module", h.module},
                                {"energy", h.energy},
                                {"time", h.time}});
  }
  json::object reasons;
  for (std::uint32_t n = 0; n < s.lines; ++n)
    if (s.reason[n] != line_fired) reasons[lines[n]] = name_of_reason(s.reason[n]);
  json::array unknown = names_of(s.unknown, counters);
  if ((s.unknown & trigger_unknown) != 0) unknown.emplace_back("trigger");
  if ((s.unknown & calorimeter_unknown) != 0) unknown.emplace_back("calorimeter");
  return {{"run", run},
          {"spill", e.event.spill},
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
          {"photons", photons},
          {"hits", hits}};
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
  print_plain("{:5} {:8}  {:<8} {:#06x} {:3} {:10.1f} {:#010x}  {}\n", e.event.spill,
              e.event.number,
              (s.status & recorded) != 0 ? "recorded"
              : s.kept != 0              ? "kept"
                                         : "rejected",
              s.trigger, s.photons_found,
              s.quantity[static_cast<std::size_t>(quantity::calorimeter_energy)] / kev_per_mev,
              s.vetoes, fired.empty() ? "-" : fired);
}

/// Prints the decisions.
class report {
public:
  report(const options& o, std::string_view executor, const loaded_selection& selection)
      : json_(o.json), totals_only_(o.totals), lines_(selection.line_names()),
        counters_(counter_names(selection.what)), totals_(lines_.size()) {
    if (json_)
      print_json("{{\"executor\":{},\"settings\":{},\"events\":[",
                 json::serialize(json::value(executor)), selection.tables.constants.settings);
    if (!json_ && !totals_only_)
      print_plain("spill    event  decision trigger photons energy/MeV vetoes    lines\n");
  }

  void add(const decided_event& e, std::uint32_t run) {
    if (json_ && !totals_only_)
      print_json("{}\n{}", totals_.events == 0 ? "" : ",",
                 json::serialize(to_json(e, run, lines_, counters_)));
    if (!json_ && !totals_only_) print_text(e, lines_);
    totals_.add(e.summary);
  }

  void end(const loaded_selection& selection) const {
    if (json_) {
      print_json("],\"total\":{}}}\n",
                 json::serialize(json::object{{"events", totals_.events},
                                              {"kept", totals_.kept},
                                              {"not_judged", totals_.not_judged},
                                              {"lines", lines_to_json(totals_, selection)}}));
    } else {
      if (!totals_only_) print_plain("\n");
      print_totals(totals_, selection);
    }
  }

private:
  bool json_;
  bool totals_only_;
  std::vector<std::string> lines_;
  std::vector<std::string> counters_;
  decision_totals totals_;
};

int select_level2(const options& o, interrupt& signals) {
  file_batches in(o.run.in);
  const loaded_selection selection = load_selection(o.run, in.crates(), in.run());
  const auto compute = make_selecting_engine(o.run, in.capacity(o.run.batch), selection);
  report said(o, compute->name(), selection);
  for_each_decided(
      in, *compute, [&](const decided_event& e) { said.add(e, in.run()); }, "select", signals);
  said.end(selection);
  return 0;
}

int select_stored(const options& o, interrupt& signals) {
  check_store(o.run.in);
  const readout crates = stored_readout(o.run.in, signals);
  // For names, which do not depend on the run.
  const loaded_selection any_run = load_selection(o.run, crates, std::nullopt);
  std::optional<report> said;
  const unreadable_parts lost = for_each_stored(
      o.run.in, o.run, crates,
      [&](const block_selector& by, const decided_event& e) {
        if (!said) said.emplace(o, by.executor(), by.selection());
        said->add(e, by.run());
      },
      signals);
  if (!said) said.emplace(o, "none: there is no event", any_run);
  said->end(any_run);
  return tell(lost, o.skip_damaged);
}

/// Prints the decisions of stored events with their own settings.
class recorded_report {
public:
  explicit recorded_report(const options& o) : json_(o.json), totals_only_(o.totals) {
    if (json_) print_json("{{\"events\":[");
  }

  void add(const recorded_event& e) {
    const bool decided = e.now != nullptr;
    ++(!e.refusal.empty() ? refused_[e.refusal]
       : !decided         ? unselected_
       : e.as_stored      ? as_stored_
                          : different_);
    if (totals_only_) return;
    if (json_)
      print_event(e);
    else if (decided && !e.as_stored)
      print_plain("run {} spill {} event {}: the decision differs from the stored one\n", e.run,
                  e.key.spill, e.key.number);
    else if (!e.refusal.empty())
      print_plain("run {} spill {} event {}: refused: {}\n", e.run, e.key.spill, e.key.number,
                  e.refusal);
  }

  /// Returns the exit code.
  int end() const {
    std::uint64_t refused = 0;
    json::object reasons;
    for (const auto& [reason, events] : refused_) {
      refused += events;
      reasons[reason] = events;
    }
    const std::uint64_t all = as_stored_ + different_ + unselected_ + refused;
    if (json_) {
      const json::object total{{"events", all},           {"as_stored", as_stored_},
                               {"different", different_}, {"not_selected", unselected_},
                               {"refused", refused},      {"reasons", reasons}};
      print_json("],\"total\":{}}}\n", json::serialize(total));
    } else {
      print_plain("{} events: {} decided as stored, bit for bit, {} differently; {} refused; {} "
                  "without a selection\n",
                  all, as_stored_, different_, refused, unselected_);
      for (const auto& [reason, events] : refused_) print_plain("  {}: {}\n", events, reason);
    }
    return different_ + refused == 0 ? 0 : exit_failure;
  }

private:
  void print_event(const recorded_event& e) {
    json::object o{{"run", e.run}, {"spill", e.key.spill}, {"event", e.key.number}};
    if (e.now != nullptr) {
      const loaded_selection& by = e.by->selection();
      o = to_json(*e.now, e.run, by.line_names(), counter_names(by.what));
      o["settings"] = by.tables.constants.settings;
      o["as_stored"] = e.as_stored;
    }
    if (!e.refusal.empty()) o["refused_because"] = e.refusal;
    print_json("{}\n{}", std::exchange(first_, false) ? "" : ",", json::serialize(o));
  }

  bool json_;
  bool totals_only_;
  bool first_ = true;
  std::uint64_t as_stored_ = 0;
  std::uint64_t different_ = 0;
  std::uint64_t unselected_ = 0;
  std::map<std::string, std::uint64_t> refused_; ///< by reason
};

int select_recorded(const options& o, interrupt& signals) {
  check_folder(o.run.in);
  check_store(o.run.in);
  recorded_report said(o);
  const unreadable_parts lost = for_each_recorded(
      o.run.in, o.run, [&](const recorded_event& e) { said.add(e); }, signals);
  const int verdict = said.end();
  const int damage = tell(lost, o.skip_damaged);
  return verdict != 0 ? verdict : damage;
}

int select(const options& o) {
  interrupt signals;
  if (o.as_recorded) return select_recorded(o, signals);
  if (std::filesystem::is_directory(o.run.in)) return select_stored(o, signals);
  refuse_other_kind(o.run.in, stored_format::level2,
                    "a .l2raw file, a store or a spool is needed here");
  check_readable(o.run.in);
  return select_level2(o, signals);
}

} // namespace

void add_select(command_line program, command_body& run) {
  auto o = std::make_shared<options>();
  const auto c =
      program.add_subcommand("select", "show what the selection decides about each event, and why");
  c.footer("Energies are in keV, lengths in 0.1 mm, times in 1/128 ns (docs/selection.md).");
  add_selection_options(c, o->run);
  const option selection =
      c.add_option("--selection", o->run.files.lines, "cuts, counters and lines")
          .capture_default_str();
  const option as_recorded =
      c.add_flag("--as-recorded", o->as_recorded,
                 "decide each stored event by the settings stored with it, and compare with the "
                 "stored decision; exits with 0 only if all are equal")
          .excludes(selection);
  add_record_flag(c, o->run.files);
  for (const char* other : {"--detector", "--calibration"})
    as_recorded.excludes(c.get_option(other));
  add_skip_damaged_flag(c, o->skip_damaged);
  c.add_flag("--totals", o->totals, "print only the totals");
  c.add_flag("--json", o->json, "report as JSON");
  c.callback([o, &run] { run = [o] { return select(*o); }; });
}

} // namespace l3
