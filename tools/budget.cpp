// SPDX-License-Identifier: Apache-2.0
// `koto-l3 budget`: what each trigger line costs of the output line, with each payload, and which
// prescales would fill it, so that a menu can be tried before it is switched on.
#include <algorithm>
#include <compare>
#include <filesystem>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "selection/algorithms/keep_waveforms.hpp"
#include "tools/budget/budget_report.hpp"
#include "tools/command.hpp"
#include "tools/evaluate/selection_run.hpp"
#include "tools/evaluate/truth_beside.hpp"
#include "tools/print.hpp"
#include "tools/skip_damaged_option.hpp"
#include "tools/unit_option.hpp"
#include "tools/write_file.hpp"

namespace l3 {
namespace {

struct options {
  std::vector<std::string> files;
  selection_options run;
  double gigabits = 4; // a second
  double cycle = 4.24; // s
  double events_per_spill = 50'000;
  std::string codec; ///< empty: each
  bool no_truth = false;
  bool skip_damaged = false;
  std::string svg;
  bool json = false;
};

/// The menu without prescales, of whose events so much is kept, with samples that may be so far
/// off.
loaded_selection with_payload(const options& o, const file_batches& in, event_payload payload,
                              const error_settings& rounding) {
  return opened([&] {
    return load_selection(o.run.files, in.crates(), in.run(), [&](selection_settings& s) {
      for (line_settings& line : s.lines) {
        line.prescale = 1;
        line.control = 0;
        line.payload = payload;
        line.greatest_error = rounding;
      }
      if (s.sequence.back().value != keep_waveforms::name)
        s.sequence.emplace_back(std::string(keep_waveforms::name));
    });
  });
}

std::uint32_t kind_named(std::string_view name, budget& b) {
  for (std::uint32_t k = 0; k < b.kinds.size(); ++k)
    if (b.kinds[k].name == name) return k;
  b.kinds.push_back({std::string(name), 0});
  return static_cast<std::uint32_t>(b.kinds.size() - 1);
}

/// The true types of a file's events, in their order; "all" for each where no truth is beside it.
class true_kinds {
public:
  true_kinds(const options& o, const std::string& file, const detector& d) {
    const std::string name = file + ".truth.jsonl";
    if (!o.no_truth && std::filesystem::exists(name)) truth_.emplace(name, file, d, o.skip_damaged);
  }
  std::uint32_t next(const decided_event& e, budget& b) {
    return kind_named(truth_ ? name_of(truth_->of(e).type) : "all", b);
  }
  void finish() {
    if (truth_) truth_->finish();
  }

private:
  std::optional<truth_beside> truth_;
};

/// Adds the file's events on which lines fire, with their length under each rounding and payload.
/// `is_first`: what is damaged is told.
void add_file(const options& o, const std::string& name, codec_id codec,
              const std::vector<error_settings>& roundings, bool is_first, budget& to,
              interrupt& signals) {
  check_readable(name);
  file_batches in(name, with_flag(o.skip_damaged));
  const std::size_t first = to.events.size();
  for (std::size_t k = 0; k < roundings.size() * event_payloads; ++k) {
    const std::size_t rounding = k / event_payloads;
    const std::size_t p = k % event_payloads;
    const auto payload = static_cast<event_payload>(p);
    if (rounding != 0 && !has_samples(payload)) continue; // as without rounding
    const loaded_selection selection = with_payload(o, in, payload, roundings[rounding]);
    const auto compute = make_selecting_engine(o.run, in.capacity(o.run.batch), selection, codec);
    true_kinds kinds(o, name, selection.what);
    std::size_t next = first;
    in.rewind();
    for_each_decided(
        in, *compute,
        [&](const decided_event& e) {
          if (k == 0) {
            const std::uint32_t kind = kinds.next(e, to);
            ++to.kinds[kind].events;
            ++to.events_seen;
            if (e.summary.kept != 0)
              to.events.push_back({e.summary.fired, kind, packed_lengths(roundings.size())});
          }
          if (e.summary.kept != 0)
            to.events[next++].bytes[rounding][p] = static_cast<std::uint32_t>(e.packed.size());
        },
        fmt::format("{} {}", to.codec, name_of(payload)).c_str(), signals);
    if (k == 0) kinds.finish();
  }
  if (is_first) tell(name, in.skipped());
}

/// What the samples of an event may be off: the greatest error that the event states, and the
/// error of each board; empty boards: exact.
struct board_rounding {
  std::uint32_t greatest = 0;
  std::vector<std::uint8_t> boards;

  auto operator<=>(const board_rounding&) const = default; // NOLINT(modernize-use-nullptr)
};

/// As the selection does for an event that lines of both keep.
board_rounding least_of(const board_rounding& a, const board_rounding& b) {
  if (a.boards.empty() || b.boards.empty()) return {};
  board_rounding least{std::min(a.greatest, b.greatest), a.boards};
  for (std::size_t n = 0; n < least.boards.size(); ++n)
    least.boards[n] = std::min(a.boards[n], b.boards[n]);
  return least;
}

board_rounding rounding_of(const loaded_selection& menu, std::size_t line) {
  const std::uint32_t greatest = menu.tables.lines[line].greatest_error;
  if (greatest == 0) return {};
  const auto& all = menu.tables.board_errors;
  const std::size_t boards = all.size() / menu.settings.lines.size();
  const auto of_line = std::span(all).subspan(line * boards, boards);
  return {greatest, {of_line.begin(), of_line.end()}};
}

/// Roundings with settings that have them.
using rounding_table = std::map<board_rounding, error_settings>;

/// Adds what two roundings have in common until that adds none.
void close_under_least(rounding_table& table) {
  constexpr std::size_t most = 64; // each costs a pass over the files
  std::vector<rounding_table::value_type> all(table.begin(), table.end());
  for (std::size_t k = 1; k < all.size(); ++k)
    for (std::size_t j = 0; j < k; ++j) {
      const auto [at, is_new] = table.try_emplace(least_of(all[j].first, all[k].first),
                                                  least_of(all[j].second, all[k].second));
      if (is_new) all.emplace_back(*at);
      if (table.size() > most)
        throw command_error(
            fmt::format("the events of this menu have more than {} different errors by counter, "
                        "too many to reckon with: give the lines fewer different greatest_error",
                        most));
    }
}

/// Takes the menu's lines, with their roundings and the least of any of these.
std::vector<error_settings> take_menu(const options& o, budget& b) {
  const file_batches in(o.files.front());
  const loaded_selection menu = load_selection(o.run, in.crates(), in.run());
  rounding_table table{{{}, {}}}; // exact
  for (std::size_t n = 0; n < menu.settings.lines.size(); ++n)
    table.try_emplace(rounding_of(menu, n), menu.settings.lines[n].greatest_error.value);
  close_under_least(table);
  const auto place_of = [&](const board_rounding& rounding) {
    return static_cast<std::size_t>(std::distance(table.begin(), table.find(rounding)));
  };
  std::vector<error_settings> roundings;
  b.roundings.clear();
  b.least.clear();
  for (const auto& [rounding, settings] : table) {
    roundings.push_back(settings);
    b.roundings.push_back(rounding.greatest);
    auto& row = b.least.emplace_back();
    for (const auto& other : table) row.push_back(place_of(least_of(rounding, other.first)));
  }
  for (std::size_t n = 0; n < menu.settings.lines.size(); ++n) {
    const line_settings& line = menu.settings.lines[n];
    b.lines.push_back({line.name.value, double(line.prescale), line.payload.value, line.control,
                       place_of(rounding_of(menu, n))});
  }
  return roundings;
}

/// What the lines cost with this codec.
budget budget_of(const options& o, const std::string& name, codec_id codec, bool is_first,
                 interrupt& signals) {
  budget b;
  b.codec = name;
  const auto roundings = take_menu(o, b);
  for (const std::string& file : o.files) add_file(o, file, codec, roundings, is_first, b, signals);
  if (b.events_seen == 0) throw command_error("the files hold no events");
  constexpr double giga = 1e9;
  constexpr double bits = 8;
  b.events_per_spill = o.events_per_spill;
  b.link_bytes = o.gigabits * giga / bits * o.cycle;
  return b;
}

int plan_budget(const options& o) {
  check_replaced("--svg", o.svg, is_svg);
  interrupt signals;
  std::vector<budget> all;
  for (const auto& [name, codec] :
       {std::pair{"koto", codec_id::koto}, {"strong", codec_id::strong}})
    if (o.codec == name || o.codec.empty())
      all.push_back(budget_of(o, name, codec, all.empty(), signals));
  if (!o.svg.empty()) write_file("--svg", o.svg, is_svg, budget_svg(all));
  if (o.json)
    print_json("{}", budget_json(all));
  else
    print_plain("{}", text_lines{budget_table(all)});
  return 0;
}

} // namespace

void add_budget(CLI::App& program, command_body& run) {
  auto o = std::make_shared<options>();
  auto* c = program.add_subcommand("budget", "what each trigger line costs of the output line");
  c->footer(
      "Runs the selection without prescales over the files, once for each codec, payload and\n"
      "greatest_error of the menu, and reckons with the menu's prescales: expected values, for "
      "events of the files' mixture. `fills "
      "at`\n"
      "is the prescale of a line that fills the link beside the others as they are. Kinds of "
      "events\n"
      "are the true types, where FILE.truth.jsonl is beside a file.");
  c->add_option("files", o->files,
                "files of level-2 data (.l2raw), and nothing else: a store lacks what was rejected")
      ->required();
  add_selecting_options(*c, o->run);
  c->add_option("--selection", o->run.files.lines, "the menu")->capture_default_str();
  c->add_option("--line-rate", o->gigabits, "what the link carries, in Gb/s")
      ->transform(in_unit({dimension::rate, 1'000'000'000, "Gb/s", true}))
      ->check(CLI::Range(1e-6, 1e6))
      ->capture_default_str();
  c->add_option("--cycle", o->cycle, "from spill to spill, in seconds")
      ->transform(in_unit({dimension::duration, 1'000'000'000, "s", true}))
      ->check(CLI::Range(1e-6, 1e6))
      ->capture_default_str();
  c->add_option("--events", o->events_per_spill, "events in a spill")
      ->check(CLI::Range(1.0, 1e9))
      ->capture_default_str();
  c->add_option("--codec", o->codec, "koto or strong, as in output.codec; without it both")
      ->check(CLI::IsMember({"koto", "strong"}));
  add_skip_damaged_flag(*c, o->skip_damaged);
  c->add_flag("--no-truth", o->no_truth, "do not tell events apart by their true types");
  c->add_option("--svg", o->svg, "write a picture to this file");
  c->add_flag("--json", o->json, "as JSON");
  c->callback([o, &run] { run = [o] { return plan_budget(*o); }; });
}

} // namespace l3
