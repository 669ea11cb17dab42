// SPDX-License-Identifier: Apache-2.0
// `koto-l3 histograms`: shows the histograms of a daemon or of a file, and the inputs that changed
// since a reference.
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

#include "config/usage_mistake.hpp"
#include "tools/command.hpp"
#include "tools/command_error.hpp"
#include "tools/histograms/histogram_table.hpp"
#include "tools/histograms/stored_histograms.hpp"
#include "tools/interrupt.hpp"
#include "tools/pending_file.hpp"
#include "tools/print.hpp"
#include "tools/replay/file_fault.hpp"
#include "tools/status/http_get.hpp"
#include "tools/whole_number.hpp"
#include "transport/system/reason_of.hpp"

namespace l3 {
namespace {

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
    throw command_error(url.text() + ": the daemon makes no histograms: no run is in force, no "
                                     "selection runs, or histograms.one_in is 0");
  try {
    return read_histograms(answer.body);
  } catch (const std::runtime_error& e) {
    throw command_error(fmt::format("{} answers with no histograms that this version reads: {}",
                                    url.text(), reason_of(e)));
  }
}

bool is_kept(std::string_view begin) { return begin.starts_with(R"({"histograms":)"); }

/// Throws command_error, and std::filesystem::filesystem_error.
void save(const std::string& name, std::string_view content) {
  check_replaced("--save", name, is_kept);
  pending_file file(name);
  std::ofstream out(file.path(), std::ios::binary | std::ios::trunc);
  if (!out)
    throw command_error("cannot write " + name + ": " + std::generic_category().message(errno),
                        exit_missing_resource);
  if (!(out << content) || (out.close(), !out)) throw command_error("cannot write " + name);
  file.finish();
}

int show_them(const options& o) {
  interrupt signals;
  bool whole = true;
  check_replaced("--save", o.save, is_kept);
  const bool is_file = std::filesystem::exists(o.from);
  if (!(is_file && is_stored(o.from)) && (o.choice.run || o.choice.node || o.choice.spill))
    throw command_error("--run, --node and --spill choose from a store, and " + o.from + " is none",
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
  c.footer(
      "Exit code 1 if inputs or histograms of events changed, or if a part of a store that may "
      "hold histograms cannot be read or is not there, or if what answers at the address is no "
      "daemon with histograms; 69 if nothing answers there. Of other blocks it reads the headers "
      "only. What --save writes can be the reference of later runs.");
  c.add_option("from", o->from,
               "a store, a file of one, a file that --save has written, or the monitoring address "
               "of a daemon")
      .capture_default_str();
  c.add_option("--reference", o->reference,
               "a file or store to compare with, of a run that was good")
      .check(refuse_no_name);
  c.add_option("--run", o->choice.run, "of a store: the histograms of this run only")
      .check(whole_number<std::uint32_t>);
  c.add_option("--node", o->choice.node, "likewise of this node")
      .check(whole_number<std::uint32_t>);
  c.add_option("--spill", o->choice.spill, "likewise of this spill")
      .check(whole_number<std::uint32_t>);
  c.add_option("--save", o->save, "write them, as JSON, into this file").check(refuse_no_name);
  add_skip_damaged_flag(c, o->skip_damaged);
  c.add_flag("--json", o->json, "as JSON, with the changes");
  c.callback([o, &run] { run = [o] { return show_them(*o); }; });
}

} // namespace l3
