// SPDX-License-Identifier: Apache-2.0
// `koto-l3 evaluate`: how good a selection is on simulated events, whose truth is beside them. With
// several selections it shows where their decisions differ.
#include <algorithm>
#include <fstream>
#include <memory>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "tools/command.hpp"
#include "tools/evaluate/evaluation.hpp"
#include "tools/evaluate/evaluation_figures.hpp"
#include "tools/evaluate/evaluation_report.hpp"
#include "tools/evaluate/selection_run.hpp"
#include "tools/pending_file.hpp"
#include "tools/simulation/truth_reader.hpp"

namespace l3 {
namespace {

namespace json = boost::json;

constexpr const char* usual_signal_line = "pi0nunu"; // which a selection may lack

struct options {
  selection_options run;
  std::vector<std::string> selections{built_in};
  std::string truth;
  std::string signal_line = usual_signal_line;
  std::string figures;
  bool json = false;
};

struct evaluated {
  std::string name; ///< of the selection's file
  std::vector<std::string> lines;
  evaluation result;
  std::vector<bool> kept; ///< by event, for the comparison
};

std::uint32_t index_of_line(const std::vector<std::string>& lines, const std::string& name) {
  const auto found = std::find(lines.begin(), lines.end(), name);
  return found == lines.end() ? max_lines : static_cast<std::uint32_t>(found - lines.begin());
}

evaluated evaluate_one(const options& o, const std::string& selection_file, file_batches& in) {
  selection_options run = o.run;
  run.files.lines = selection_file;
  const loaded_selection selection = load_selection(run, in, in.run());
  const auto compute = make_selecting_engine(run, in, selection);
  evaluated one{selection_file, selection.line_names(), {}, {}};
  const std::uint32_t signal = index_of_line(one.lines, o.signal_line);
  if (signal == max_lines && o.signal_line != usual_signal_line)
    throw command_error(selection_file + " has no line " + o.signal_line, exit_usage);
  truth_reader truth = opened([&] { return truth_reader(o.truth, selection.what); });
  true_event event;
  event_key key;
  in.rewind();
  for_each_decided(
      in, *compute,
      [&](const decided_event& e) {
        if (!truth.next(event, key) || key.spill != e.event.spill || key.number != e.event.number)
          throw command_error(
              fmt::format("{} is not the truth of {}: spill {} event {} is not where it must be",
                          o.truth, o.run.in, e.event.spill, e.event.number));
        one.result.add(event, e.summary, selection.what, signal);
        one.kept.push_back(e.summary.kept != 0);
      },
      "evaluate");
  if (truth.next(event, key)) throw command_error(o.truth + " goes on behind " + o.run.in);
  return one;
}

void print_comparison(const std::vector<evaluated>& all) {
  for (std::size_t i = 1; i < all.size(); ++i) {
    std::uint64_t only_first = 0;
    std::uint64_t only_other = 0;
    for (std::size_t e = 0; e < all[0].kept.size(); ++e) {
      only_first += all[0].kept[e] && !all[i].kept[e] ? 1 : 0;
      only_other += !all[0].kept[e] && all[i].kept[e] ? 1 : 0;
    }
    fmt::print("{} keeps {} events that {} does not, and rejects {} that it keeps\n", all[i].name,
               only_other, all[0].name, only_first);
  }
}

void write_figures(const std::string& folder, const evaluation& e) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  for (const figure_file& f : figures_of(e)) {
    const std::string path = folder + '/' + f.name;
    pending_file pending(path);
    std::ofstream out(pending.path());
    if (!(out << f.svg) || (out.close(), !out))
      throw command_error("cannot write " + path, exit_missing_resource);
    pending.finish();
  }
}

int evaluate(options o) {
  check_readable(o.run.in);
  if (o.truth.empty()) o.truth = o.run.in + ".truth.jsonl";
  check_readable(o.truth);
  file_batches in(o.run.in);
  std::vector<evaluated> all;
  for (const std::string& file : o.selections) all.push_back(evaluate_one(o, file, in));
  if (all[0].result.sum.events == 0) throw command_error(o.run.in + " holds no events");
  if (!o.figures.empty()) write_figures(o.figures, all[0].result);
  if (o.json) {
    json::array list;
    for (const evaluated& e : all) {
      json::object one = evaluation_json(e.result, e.lines, o.signal_line);
      one["selection"] = e.name;
      list.push_back(std::move(one));
    }
    fmt::print("{}\n", json::serialize(json::object{{"evaluations", list}}));
    return 0;
  }
  for (const evaluated& e : all) {
    if (all.size() > 1) fmt::print("{}\n", e.name);
    fmt::print("{}", evaluation_text(e.result, e.lines, o.signal_line));
    if (all.size() > 1) fmt::print("\n");
  }
  print_comparison(all);
  return 0;
}

} // namespace

void add_evaluate(CLI::App& program, command_body& run) {
  auto o = std::make_shared<options>();
  auto* c = program.add_subcommand("evaluate", "how good a selection is on simulated events");
  c->footer("Percentages are of the events of a true type; errors are one standard deviation, "
            "binomial (Wilson). Events of `simulate` are needed: their truth lies beside them.");
  add_selection_options(*c, o->run);
  c->add_option("--selection", o->selections,
                "cuts, counters and lines; several are compared with the first")
      ->capture_default_str();
  c->add_option("--truth", o->truth, "instead of IN.truth.jsonl");
  c->add_option("--signal-line", o->signal_line, "the line that is to keep the signal")
      ->capture_default_str();
  c->add_option("--svg", o->figures, "folder for figures");
  c->add_flag("--json", o->json, "report as JSON");
  c->callback([o, &run] { run = [o] { return evaluate(*o); }; });
}

} // namespace l3
