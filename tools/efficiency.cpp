// SPDX-License-Identifier: Apache-2.0
// `koto-l3 efficiency`: the fraction of unbiased events on which each line fires, from a store
// alone.
#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <boost/json.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "selection/trigger/load_selection.hpp"
#include "selection/trigger/parse_selection.hpp"
#include "tools/command_line.hpp"
#include "tools/efficiency/line_efficiency.hpp"
#include "tools/evaluate/selection_run.hpp"
#include "tools/evaluate/stored_events.hpp"
#include "tools/info/information.hpp"
#include "tools/interrupt.hpp"
#include "tools/print.hpp"
#include "tools/verify/agreement.hpp"
#include "tools/verify/payload_tally.hpp"
#include "transport/accounting/ledger.hpp"

namespace l3 {
namespace {

namespace json = boost::json;

const std::vector<std::string> usual_references{"pass_through", "minimum_bias"};

struct options {
  std::string store;
  std::vector<std::string> references; ///< empty: the usual ones, if they exist
  std::vector<std::string> ledgers;
  bool skip_damaged = false;
  bool json = false;
};

/// The settings that decided a group of events. `reprocess` may have used settings that a daemon
/// had, too.
struct decided_by {
  std::uint32_t settings = 0;
  bool chosen = false; ///< by `reprocess`, from events that another selection had kept

  friend auto operator<=>(const decided_by&,
                          const decided_by&) = default; // NOLINT(modernize-use-nullptr)
};

struct efficiencies {
  std::map<decided_by, settings_efficiency> by_settings;
  std::set<std::uint64_t> sessions; ///< of daemons with events
  std::uint64_t without_summary = 0;
  unreadable_parts lost;
};

/// The lines that decided each block, from its session's settings in the store. A reference that no
/// line has is refused before the store is read.
class known_settings {
public:
  known_settings(const options& o, interrupt& signals) : options_(o), told_(o.store, signals) {
    std::set<std::string> names;
    for (const auto& settings : told_.known())
      for (const auto& [id, name] : line_names(settings->lines)) names.insert(name);
    for (const std::string& name : o.references)
      if (!names.contains(name))
        throw command_error(
            fmt::format("--reference {}: there is no such line; there are {}", name,
                        names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "))),
            exit_usage);
  }

  [[nodiscard]] settings_efficiency of(const block_header& block) {
    const auto known = told_.of(block).all;
    const auto names = known ? line_names(known->lines) : line_names(default_selection());
    if (is_chosen(block)) return {names, false, {}};
    return {names, known && known->mode == selection_mode::record,
            options_.references.empty() ? usual_references : options_.references};
  }

  /// Whether another selection chose these events before, so that no sample of them is unbiased.
  [[nodiscard]] bool is_chosen(const block_header& block) {
    const auto& known = told_.of(block).all;
    return known && known->software.starts_with("koto-l3 ");
  }

private:
  const options& options_;
  stored_settings told_;
};

efficiencies measure(const options& o, interrupt& signals) {
  known_settings settings(o, signals);
  efficiencies e;
  std::uint64_t damaged = 0;
  stored_events in(o.store, "efficiency", signals);
  while (const auto event = in.next()) {
    const auto summary = summary_view::parse(event->summary());
    if (!summary) {
      ++(event->summary().empty() ? e.without_summary : damaged);
      continue;
    }
    const decided_by how{summary->head.settings, settings.is_chosen(in.block())};
    if (!how.chosen) e.sessions.insert(in.block().session);
    auto at = e.by_settings.find(how);
    if (at == e.by_settings.end()) at = e.by_settings.emplace(how, settings.of(in.block())).first;
    at->second.add(*summary, event->bytes().size());
  }
  e.lost = in.left_out();
  e.lost.events += damaged;
  return e;
}

/// The dropped events in the daemons' ledgers.
class daemon_ledgers {
public:
  explicit daemon_ledgers(const std::vector<std::string>& files) {
    for (const std::string& file : files) {
      check_readable(file);
      const ledger l = read_ledger(file);
      if (l.program != daemon_program)
        throw command_error(
            fmt::format("--ledger {}: {} wrote it; give the ledgers of the daemons (`run.ledger`)",
                        file, l.program),
            exit_usage);
      if (l.ended)
        sessions_.insert(l.sessions.begin(), l.sessions.end());
      else
        not_final_.push_back(file);
      const auto shed = l.events.shed.find("priority");
      if (shed != l.events.shed.end() && shed->second > 0)
        throw command_error(fmt::format("{}: {} events were shed by priority; the remaining events "
                                        "are a biased sample and give no efficiency",
                                        file, shed->second),
                            exit_failure);
    }
  }

  /// Ledgers of daemons that were killed or are still running: their counts are outdated.
  [[nodiscard]] const std::vector<std::string>& not_final() const { return not_final_; }

  /// Number of sessions without a final ledger.
  [[nodiscard]] std::size_t unknown_of(const std::set<std::uint64_t>& sessions) const {
    return static_cast<std::size_t>(
        std::ranges::count_if(sessions, [&](std::uint64_t s) { return !sessions_.contains(s); }));
  }

private:
  std::set<std::uint64_t> sessions_;
  std::vector<std::string> not_final_;
};

constexpr double per_cent = 100;

std::string text_of(const proportion& p) {
  if (p.all == 0) return fmt::format("{:>24}", "none");
  return fmt::format("{:8.2f} +{:5.2f} -{:5.2f} %", per_cent * p.value(),
                     per_cent * (p.upper() - p.value()), per_cent * (p.value() - p.lower()));
}

json::value json_of(const proportion& p) {
  return p.all == 0 ? json::value(nullptr) : json::value(to_json(p));
}

void print_text(const decided_by& how, const settings_efficiency& s) {
  print_plain("settings {:08x}: {} events\n", how.settings, s.events());
  if (how.chosen)
    print_plain("  no unbiased sample: these events were decided again; events that the first "
                "selection rejected are missing\n");
  else if (s.samples().empty())
    print_plain("  no unbiased sample: the selection has no reference line and does not record\n");
  for (const reference_sample& of : s.samples()) {
    print_plain("\n{}: {} events, a sample of one in {}\n", of.name, of.events, of.one_in);
    print_plain("{:<16} {:>9} {:>9}  {:>24}  {:>24}   reasons of refusal, most frequent first\n",
                "line", "prescale", "link, MB", "fires on", "of its level-1 bits");
    for (std::size_t n = 0; n < of.lines.size(); ++n) {
      const line_efficiency& l = of.lines[n];
      std::vector<std::string> reasons;
      for (const auto& [events, why] : reasons_by_frequency(l.refused))
        reasons.push_back(fmt::format("{} {}", why, events));
      print_plain("{:<16} {:>9} {:>9.2f}  {}  {}   {}\n", l.name, l.prescale,
                  static_cast<double>(s.link_bytes(n)) / 1e6, text_of(l.of_all),
                  text_of(l.of_triggered), fmt::join(reasons, ", "));
    }
  }
  print_plain("\n");
}

json::object to_json(const decided_by& how, const settings_efficiency& s) {
  json::array samples;
  for (const reference_sample& of : s.samples()) {
    json::array lines;
    for (std::size_t n = 0; n < of.lines.size(); ++n) {
      const line_efficiency& l = of.lines[n];
      lines.push_back(json::object{{"line", l.name},
                                   {"prescale", l.prescale},
                                   {"bytes_on_the_link", s.link_bytes(n)},
                                   {"fired", json_of(l.of_all)},
                                   {"fired_of_triggered", json_of(l.of_triggered)},
                                   {"refused", reasons_to_json(l.refused)}});
    }
    samples.push_back(json::object{{"reference", of.name},
                                   {"one_in", of.one_in},
                                   {"events", of.events},
                                   {"lines", std::move(lines)}});
  }
  return {{"settings", fmt::format("{:08x}", how.settings)},
          {"events", s.events()},
          {"decided_again", how.chosen},
          {"samples", std::move(samples)}};
}

/// Why there is no event of an unbiased sample, with a remedy if there is one.
std::string why_none(const options& o, const efficiencies& e) {
  if (e.by_settings.empty())
    return e.without_summary > 0
               ? "no selection ran on the stored events, so there are no efficiencies"
               : o.store + " holds no readable event, so there are no efficiencies";
  const auto is_chosen = [](const auto& of) { return of.first.chosen; };
  if (std::ranges::all_of(e.by_settings, is_chosen))
    return "no event of an unbiased sample is stored: give the store that `reprocess` read";
  return "no event of an unbiased sample is stored: name a line by --reference";
}

int efficiency(const options& o) {
  interrupt signals;
  check_folder(o.store);
  check_store(o.store);
  const daemon_ledgers ledgers(o.ledgers);
  const efficiencies e = measure(o, signals);
  bool any = false;
  json::array all;
  for (const auto& [how, s] : e.by_settings) {
    for (const reference_sample& of : s.samples()) any = any || of.events > 0;
    if (o.json)
      all.push_back(to_json(how, s));
    else
      print_text(how, s);
  }
  const unreadable_parts& lost = e.lost;
  if (o.json)
    print_json("{}\n", json::serialize(json::object{
                           {"settings", std::move(all)},
                           {"sessions_without_ledger", ledgers.unknown_of(e.sessions)},
                           {"not_selected", e.without_summary},
                           {"unreadable", json::object{{"places", lost.places},
                                                       {"blocks", lost.blocks},
                                                       {"events", lost.events},
                                                       {"torn_ends", lost.torn_ends.size()}}}}));
  if (e.without_summary > 0) print_error("no selection ran on {} events\n", e.without_summary);
  const int damage = tell(lost, o.skip_damaged);
  for (const std::string& file : ledgers.not_final())
    print_error("{} is not final: the daemon still runs or was killed, and events that it shed "
                "since are not in it\n",
                file);
  if (const auto unknown = ledgers.unknown_of(e.sessions); any && unknown > 0)
    print_error("for {} session{} it is unknown whether events were shed by priority: if so, these "
                "efficiencies are too high; name the daemons' ledgers by --ledger\n",
                unknown, unknown == 1 ? "" : "s");
  if (!any) print_error("{}\n", why_none(o, e));
  return any ? damage : exit_failure;
}

} // namespace

void add_efficiency(command_line program, command_body& run) {
  auto o = std::make_shared<options>();
  const auto c = program.add_subcommand(
      "efficiency", "show for what fraction of unbiased stored events each line fires");
  c.footer("Intervals are one standard deviation (Wilson). Prescales do not matter, because a "
           "line fires before its prescale. \"link\" counts all stored events that a line kept. "
           "If a run recorded every event, all its events are the sample. Names of lines are "
           "those of the settings in the store; --reference with another name is refused.");
  c.add_option("store", o->store, "the folder that `receive` wrote, or a spool").required();
  c.add_option("--reference", o->references,
               "lines that keep events unconditionally, or by level-1 bits alone")
      .default_str(fmt::format("{}", fmt::join(usual_references, " ")));
  c.add_option("--ledger", o->ledgers,
               "ledger of a daemon that sent these events; refused if the daemon shed events by "
               "priority, which biases the sample; may be repeated");
  add_skip_damaged_flag(c, o->skip_damaged);
  c.add_flag("--json", o->json, "report as JSON");
  c.callback([o, &run] { run = [o] { return efficiency(*o); }; });
}

} // namespace l3
