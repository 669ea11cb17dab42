// SPDX-License-Identifier: Apache-2.0
// `koto-l3 evaluate`: evaluates a selection on simulated events with known truth. With several
// selections it shows where their decisions differ.
#include <algorithm>
#include <memory>

#include <boost/json.hpp>

#include "tools/command_line.hpp"
#include "tools/evaluate/evaluation.hpp"
#include "tools/evaluate/selection_run.hpp"
#include "tools/info/information.hpp"
#include "tools/print.hpp"

namespace l3 {
namespace {

namespace json = boost::json;

struct options {
  selection_options run;
  std::vector<std::string> selections{built_in};
  std::string truth;
  std::string signal_line = usual_signal_line;
  bool json = false;
};

evaluated_file evaluate_one(const options& o, const std::string& selection_file, file_batches& in,
                            interrupt& signals) {
  selection_options run = o.run;
  run.files.lines = selection_file;
  return evaluate_file(run, o.truth, o.signal_line, in, signals);
}

void print_comparison(const std::vector<evaluated_file>& all) {
  for (std::size_t i = 1; i < all.size(); ++i) {
    std::uint64_t only_first = 0;
    std::uint64_t only_other = 0;
    for (std::size_t e = 0; e < all[0].kept.size(); ++e) {
      only_first += all[0].kept[e] && !all[i].kept[e] ? 1 : 0;
      only_other += !all[0].kept[e] && all[i].kept[e] ? 1 : 0;
    }
    print_plain("{0} keeps {1} events that {2} rejects, and rejects {3} events that {2} keeps\n",
                all[i].name, only_other, all[0].name, only_first);
  }
}

int evaluate(options o) {
  interrupt signals;
  refuse_other_kind(o.run.in, stored_format::level2);
  check_readable(o.run.in);
  if (o.truth.empty()) o.truth = o.run.in + ".truth.jsonl";
  check_readable(o.truth);
  file_batches in(o.run.in);
  std::vector<evaluated_file> all;
  for (const std::string& file : o.selections) all.push_back(evaluate_one(o, file, in, signals));
  if (all[0].result.sum.events == 0) throw command_error(o.run.in + " holds no events");
  if (o.json) {
    json::array list;
    for (const evaluated_file& e : all) {
      json::object one = evaluation_json(e.result, e.lines, o.signal_line);
      one["selection"] = e.name;
      list.push_back(std::move(one));
    }
    print_json("{}\n", json::serialize(json::object{{"evaluations", list}}));
    return 0;
  }
  for (const evaluated_file& e : all) {
    if (all.size() > 1) print_plain("{}\n", e.name);
    print_plain("{}", text_lines{evaluation_text(e.result, e.lines, o.signal_line)});
    if (all.size() > 1) print_plain("\n");
  }
  print_comparison(all);
  return 0;
}

} // namespace

void add_evaluate(command_line program, command_body& run) {
  auto o = std::make_shared<options>();
  const auto c =
      program.add_subcommand("evaluate", "measure how good a selection is on simulated events");
  c.footer(
      "Percentages are of the events of a true type. Errors are one standard deviation of a "
      "binomial (Wilson). The events must come from `simulate`, with their truth beside them.");
  c.add_option("in", o->run.in, "the .l2raw file").required();
  add_selecting_options(c, o->run);
  c.add_option("--selection", o->selections,
               "cuts, counters and lines; several are compared with the first")
      .capture_default_str();
  c.add_option("--truth", o->truth, "the truth of the events; by default IN.truth.jsonl");
  c.add_option("--signal-line", o->signal_line, "the line that should keep the signal")
      .capture_default_str();
  c.add_flag("--json", o->json, "report as JSON");
  c.callback([o, &run] { run = [o] { return evaluate(*o); }; });
}

} // namespace l3
