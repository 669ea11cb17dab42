// SPDX-License-Identifier: Apache-2.0
// `koto-l3 histograms`: shows the histograms of a daemon or of a file, and the inputs that changed
// since a reference.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "config/usage_mistake.hpp"
#include "tools/command_error.hpp"
#include "tools/command_line.hpp"
#include "tools/histograms/stored_histograms.hpp"
#include "tools/interrupt.hpp"
#include "tools/pending_file.hpp"
#include "tools/print.hpp"
#include "tools/status/http_get.hpp"
#include "transport/histograms/comparison.hpp"
#include "transport/system/reason_of.hpp"

namespace l3 {

namespace {

std::string with_unit(const std::string& name, const std::string& unit) {
  return unit.empty() ? name : name + ", " + unit;
}

void add_histogram_rows(std::string& text, const std::vector<named_histogram>& all) {
  for (const named_histogram& h : all) {
    const moments m = moments_of(h);
    append(text, "{:<28} {:>10} {:>10.4g} {:>10.4g} {:>8} {:>8}\n", with_unit(h.name, h.unit),
           m.entries, m.mean, m.rms, h.counts.front(), h.counts.back());
  }
}

using property = std::optional<double> (*)(const channel_sums&);

/// The minimum, median and maximum over all inputs with a value.
void add_inputs(std::string& text, const char* name, const shown_histograms& h, property of) {
  std::vector<double> values;
  for (const channel_sums& c : h.channels)
    if (const auto v = of(c)) values.push_back(*v);
  if (values.empty()) return append(text, "{:<28} {:>10}\n", name, 0);
  std::ranges::sort(values);
  append(text, "{:<28} {:>10} {:>10.4g} {:>10.4g} {:>10.4g}\n", name, values.size(), values.front(),
         values[values.size() / 2], values.back());
}

void add_crates(std::string& text, const std::vector<std::string>& inputs, const char* where) {
  for (const crate_inputs& c : by_crate(inputs))
    append(text, "crate {}: {} input{} {}\n", c.crate, c.inputs, c.inputs == 1 ? "" : "s", where);
}

std::string inputs_of(const run_changes& changes, std::size_t most) {
  const std::size_t inputs = changed_inputs(changes.inputs).size() + changes.only_here.size() +
                             changes.only_in_reference.size();
  if (inputs == 0) return "no input changed since the reference\n";
  std::string text =
      fmt::format("{} input{} changed since the reference\n", inputs, inputs == 1 ? "" : "s");
  add_crates(text, changes.only_here, "not in the reference");
  add_crates(text, changes.only_in_reference, "only in the reference");
  if (changes.inputs.empty()) return text;
  append(text, "\n{:<12} {:<12} {:>10} {:>10}\n", "input", "what", "was", "is");
  for (std::size_t i = 0; i < changes.inputs.size() && i < most; ++i) {
    const channel_change& c = changes.inputs[i];
    append(text, "{:<12} {:<12} {:>10.4g} {:>10.4g} {}\n", c.input, name_of(c.what), c.was, c.is,
           unit_of(c.what));
  }
  if (changes.inputs.size() > most) append(text, "… and {} more\n", changes.inputs.size() - most);
  return text;
}

std::string table_of(const shown_histograms& h) {
  std::string text = fmt::format(
      "run {}, {}: {} events, {} of them with a sample of the inputs{}\n", h.run,
      h.spill ? fmt::format("spill {}", *h.spill) : std::string("all spills"), h.events, h.sampled,
      h.left_out == 0 ? "" : fmt::format("; {} events left out for lack of room", h.left_out));
  append(text, "\n{:<28} {:>10} {:>10} {:>10} {:>8} {:>8}\n", "histogram", "entries", "mean", "rms",
         "below", "above");
  add_histogram_rows(text, h.histograms);
  add_histogram_rows(text, h.counters);
  append(text, "\n{:<28} {:>10} {:>10} {:>10} {:>10}\n", "by input", "inputs", "least", "middle",
         "greatest");
  add_inputs(text, "pedestal, counts", h, pedestal_of);
  add_inputs(text, "noise, counts rms", h, noise_of);
  add_inputs(text, "occupancy", h, occupancy_of);
  add_inputs(text, "mean time, ns", h, mean_time_of);
  return text;
}

/// At most `most` rows of changes. Inputs that only one of the two runs has are counted by crate.
std::string table_of(const run_changes& changes, std::size_t most) {
  std::string text = inputs_of(changes, most);
  if (!changes.inputs.empty()) text += "\n";
  if (changes.histograms.empty())
    return text + "no histogram of events changed since the reference\n";
  const std::size_t number = changes.histograms.size();
  append(text,
         "{} histogram{} of events changed since the reference\n\n{:<28} {:>10} {:>10} {:>10}\n",
         number, number == 1 ? "" : "s", "histogram", "mean was", "is", "distance");
  for (const histogram_change& c : changes.histograms)
    append(text, "{:<28} {:>10.4g} {:>10.4g} {:>10.2f}\n", with_unit(c.name, c.unit), c.was, c.is,
           c.distance);
  return text;
}

struct options {
  std::string from = "127.0.0.1:9420";
  std::string reference;
  std::string save;
  stored_choice choice;
  bool skip_damaged = false;
  bool json = false;
};

constexpr auto patience = std::chrono::seconds(5);
constexpr std::size_t most_changes_told = 40;

shown_histograms read_file(const options& o, const std::string& name, const stored_choice& choice,
                           interrupt& signals, bool& whole) {
  try {
    if (is_stored(name)) {
      const auto tell_missed = [&](const std::string& line) {
        print_error("left out: {}{}\n", line,
                    o.skip_damaged ? "" : " (--skip-damaged accepts that)");
        whole = false;
      };
      return read_stored_histograms(
          name, choice, [&] { return signals.check(), false; }, tell_missed);
    }
    return read_histogram_file(name);
  } catch (const command_error&) {
    throw;
  } catch (const std::runtime_error& e) {
    throw command_error(reason_of(e));
  }
}

shown_histograms ask(const std::string& address, interrupt& signals) {
  const http_url url = from_option(
      "from", address, [](const std::string& t) { return parse_url(t, "/histograms"); });
  const http_answer answer = http_get(std::span(&url, 1), patience).front();
  signals.check();
  if (!answer.good())
    throw command_error(fmt::format("{}: {}", url.text(), answer.failure),
                        answer.wrong ? exit_failure : exit_missing_resource);
  if (answer.body == "null")
    throw command_error(url.text() + ": the daemon makes no histograms: no run is active, no "
                                     "selection runs, or histograms.one_in is 0");
  try {
    return read_histograms(answer.body);
  } catch (const std::runtime_error& e) {
    throw command_error(fmt::format("{} returned histograms that this version cannot read: {}",
                                    url.text(), reason_of(e)));
  }
}

bool is_kept(std::string_view begin) { return begin.starts_with(R"({"histograms":)"); }

void save(const std::string& name, std::string_view content) {
  check_replaced("--save", name, is_kept);
  whole_file file(name);
  file.write(std::as_bytes(std::span(content)));
  file.finish();
}

int show_them(const options& o) {
  interrupt signals;
  bool whole = true;
  check_replaced("--save", o.save, is_kept);
  const bool is_file = std::filesystem::exists(o.from);
  if (!(is_file && is_stored(o.from)) && (o.choice.run || o.choice.node || o.choice.spill))
    throw command_error("--run, --node and --spill need a store, but " + o.from + " is not one",
                        exit_usage);
  const shown_histograms h =
      is_file ? read_file(o, o.from, o.choice, signals, whole) : ask(o.from, signals);
  std::optional<shown_histograms> reference;
  run_changes changes;
  if (!o.reference.empty()) {
    reference = read_file(o, o.reference, {}, signals, whole);
    if (const std::string wrong = wrong_reference(h, *reference, o.reference); !wrong.empty())
      throw command_error(wrong);
    changes = changes_between(h, *reference);
  }
  if (!o.save.empty()) save(o.save, to_json(h) + "\n");
  if (o.json) {
    print_json("{{\"run\":{},{}}}\n", to_json(h), members_of(changes));
  } else {
    print_plain("{}", text_lines{table_of(h)});
    if (reference) print_plain("\n{}", text_lines{table_of(changes, most_changes_told)});
  }
  return changes.none() && (whole || o.skip_damaged) ? 0 : exit_failure;
}

} // namespace

void add_histograms(command_line program, command_body& run) {
  auto o = std::make_shared<options>();
  const auto c = program.add_subcommand(
      "histograms", "show the histograms of a run, and what changed since a reference");
  c.footer("Exits with 1 if inputs or histograms changed since the reference, if a part of the "
           "store that may hold histograms is damaged or missing, or if the address is not that of "
           "a daemon with histograms. Exits with 69 if nothing answers there. A file written by "
           "--save can be the reference for later runs.");
  c.add_option("from", o->from,
               "a store or one of its files, a file written by --save, or the monitoring address "
               "of a daemon")
      .capture_default_str();
  c.add_option("--reference", o->reference, "a file or store of a good run to compare with")
      .check(refuse_no_name);
  c.add_option("--run", o->choice.run, "from a store: only the histograms of this run");
  c.add_option("--node", o->choice.node, "from a store: only the histograms of this node");
  c.add_option("--spill", o->choice.spill, "from a store: only the histograms of this spill");
  c.add_option("--save", o->save, "write the histograms as JSON to this file")
      .check(refuse_no_name);
  add_skip_damaged_flag(c, o->skip_damaged);
  c.add_flag("--json", o->json, "report as JSON, with the changes");
  c.callback([o, &run] { run = [o] { return show_them(*o); }; });
}

} // namespace l3
