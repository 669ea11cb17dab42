// SPDX-License-Identifier: Apache-2.0
// `koto-l3 verify`: compares the sent events with the stored ones, and both with the ledgers.
#include <map>
#include <memory>
#include <optional>
#include <set>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "tools/command_line.hpp"
#include "tools/evaluate/selection_run.hpp"
#include "tools/evaluate/stored_events.hpp"
#include "tools/info/information.hpp"
#include "tools/print.hpp"
#include "tools/progress.hpp"
#include "tools/replay/source.hpp"
#include "tools/verify/agreement.hpp"
#include "tools/verify/comparison.hpp"
#include "tools/verify/payload_tally.hpp"
#include "transport/file/l2raw.hpp"

namespace l3 {
namespace {

struct options {
  std::string sent;
  std::string folder;
  std::vector<std::string> ledgers;
  std::vector<std::uint32_t> runs;
  std::uint32_t loops = 1;
  selection_options selection;
  bool json = false;
  bool skip_damaged = false;
};

struct table_row {
  const char* name;
  std::uint64_t count;
};

std::vector<table_row> rows_of(const comparison& c) {
  return {{"sent", c.sent},           {"stored", c.stored},         {"equal", c.equal},
          {"rejected", c.rejected},   {"missing", c.missing},       {"extra", c.extra},
          {"different", c.different}, {"duplicated", c.duplicated}, {"repeated", c.repeated},
          {"damaged", c.damaged}};
}

void print_table(const std::string& sent, const comparison& c, const boost::json::object& payloads,
                 const std::vector<agreement>& agreements) {
  print_plain("events\n");
  for (const auto& r : rows_of(c)) print_plain("  {:<12} {:12}\n", r.name, r.count);
  for (const auto& e : c.examples) print_plain("  {}\n", e);
  for (const auto& text : payload_words(payloads)) print_plain("  {}\n", text);
  if (!c.sent_damage.empty()) print_plain("  {} {}\n", sent, c.sent_damage);
  if (!agreements.empty()) print_plain("ledgers\n");
  for (const auto& a : agreements)
    print_plain("  {:<52} {:12} {:12}  {}\n", a.what, a.one, a.other,
                !a.holds()         ? "DIFFER"
                : a.one == a.other ? "agree"
                                   : "agree: the daemon did not know about all of them");
}

/// The state of the receiver's ledger, if there is one: a ledger that is not final may be older
/// than the store.
std::optional<bool> receiver_is_final(const std::vector<given_ledger>& ledgers) {
  std::optional<bool> final;
  for (const auto& [path, l, of_folder] : ledgers)
    if (is_of_store(l)) final = final.value_or(true) && l.ended;
  return final;
}

/// Remarks beside the counts.
struct remarks {
  std::set<std::uint32_t> runs;         ///< that are compared
  std::set<std::uint32_t> not_compared; ///< others that are stored
  std::uint32_t run_sent = 0;           ///< of the .l2raw file
  std::vector<std::string> torn_ends;
  std::optional<bool> receiver_final;
  std::vector<std::string> not_final;  ///< paths of daemons' ledgers
  std::vector<std::string> unfinished; ///< paths of replay clients' ledgers
  std::vector<std::string> objections; ///< what is wrong with ledgers, beside their figures
  std::size_t without_ledger = 0;      ///< sessions
  std::optional<event_fates> fates;
};

void print_remarks(const remarks& r) {
  if (!r.not_compared.empty())
    print_plain("compared with {}; {} also stored, not compared\n", words_of(r.runs),
                words_of(r.not_compared) + (r.not_compared.size() == 1 ? " is" : " are"));
  if (!r.runs.empty() && !r.runs.contains(r.run_sent))
    print_plain("the file is of run {}, but is compared with {}\n", r.run_sent, words_of(r.runs));
  for (const auto& end : r.torn_ends) print_plain("{}\n", end);
  if (r.receiver_final == false)
    print_plain("the receiver's ledger is not final: the receiver still runs or was killed; the "
                "ledger may count less than is stored\n");
  for (const auto& path : r.not_final)
    print_plain("{} is not final: the daemon still runs or was killed; the ledger may count less "
                "than is stored, and sent events are not compared with admitted ones\n",
                path);
  for (const auto& path : r.unfinished)
    print_plain("{} is of a replay that did not send everything, or still runs\n", path);
  if (r.without_ledger > 0)
    print_plain("{} sessions are missing from the daemons' ledgers: sent and admitted events are "
                "not compared\n",
                r.without_ledger);
  if (r.fates && r.fates->shed_and_again > 0)
    print_plain(
        "{} events that a daemon shed at its stop, shed(drain), were sent again to a later start\n",
        r.fates->shed_and_again);
  if (r.fates && r.fates->stored_and_again > 0)
    print_plain("{} stored events were sent again to another start of a daemon\n",
                r.fates->stored_and_again);
}

void print_left_out(const comparison& c) {
  if (c.skip_damaged && c.damaged > 0)
    print_plain("the store is damaged at {} places, which are skipped; {} events are missing, of "
                "which {} may have been there according to the ledgers\n",
                c.damaged, c.missing,
                c.unreadable ? fmt::to_string(*c.unreadable) : "an unknown number");
}

/// Tells counted loss from uncounted.
void print_missing(std::uint64_t missing, const event_fates& f) {
  print_plain("{} events missing, {} shed and counted", missing, f.shed);
  if (f.rejected > 0) print_plain(", {} rejected", f.rejected);
  if (f.left > 0) print_plain(", {} left on disk or in flight", f.left);
  if (f.incomplete > 0)
    print_plain(", {} counted as incomplete because fragments were missing or damaged",
                f.incomplete);
  if (f.unknown > 0) print_plain(", {} without an entry in the daemons' ledgers", f.unknown);
  print_plain("\n");
}

std::string verdict_on(const comparison& c, bool damage_skipped, bool selected) {
  if (!c.holds()) return "the stored events are NOT those that were sent";
  const bool limited = c.payloads.events() > 0;
  if (!limited && !damage_skipped)
    return selected ? "every event that was sent and not rejected is stored, byte for byte"
                    : "every event that was sent is stored, byte for byte";
  std::string text = !limited ? "all readable events are stored as they were sent"
                     : damage_skipped
                         ? "the kept parts of all readable events are as they were sent"
                         : "the kept parts of every stored event are as they were sent";
  text += limited ? ", byte for byte; some events lack waveforms on purpose" : ", byte for byte";
  if (damage_skipped) text += "; the rest is damaged, and was left out";
  return text;
}

void print_verdict(const comparison& c, bool damage_skipped, bool ledgers_hold, bool selected,
                   const std::vector<std::string>& objections) {
  print_plain("{}\n", verdict_on(c, damage_skipped, selected));
  if (!ledgers_hold) print_plain("the ledgers do NOT agree\n");
  for (const auto& text : objections) print_plain("NOT right: {}\n", text);
}

boost::json::value json_of(const std::optional<event_fates>& f) {
  if (!f) return nullptr;
  return boost::json::object{{"shed", f->shed},
                             {"rejected", f->rejected},
                             {"left", f->left},
                             {"incomplete", f->incomplete},
                             {"unknown", f->unknown},
                             {"shed_and_again", f->shed_and_again},
                             {"stored_and_again", f->stored_and_again}};
}

void print_json(const comparison& c, const boost::json::object& payloads,
                const std::vector<agreement>& agreements, const remarks& r) {
  namespace json = boost::json;
  json::object events;
  for (const auto& row : rows_of(c)) events[row.name] = row.count;
  json::array examples(c.examples.begin(), c.examples.end());
  json::array not_final(r.not_final.begin(), r.not_final.end());
  json::array unfinished(r.unfinished.begin(), r.unfinished.end());
  json::array objections(r.objections.begin(), r.objections.end());
  json::array ledgers;
  for (const auto& a : agreements) {
    ledgers.push_back(json::object{{"what", a.what},
                                   {"one", a.one},
                                   {"other", a.other},
                                   {"unknown", a.unknown},
                                   {"agree", a.holds()}});
  }
  const json::object all{
      {"holds", c.holds() && hold(agreements) && r.objections.empty()},
      {"events_hold", c.holds()},
      {"ledgers_agree", hold(agreements)},
      {"sessions_without_ledger", r.without_ledger},
      {"runs", json::array(r.runs.begin(), r.runs.end())},
      {"runs_not_compared", json::array(r.not_compared.begin(), r.not_compared.end())},
      {"events", events},
      {"examples", examples},
      {"payloads", payloads},
      {"sent_damage", c.sent_damage},
      {"ledgers", ledgers},
      {"fates", json_of(r.fates)},
      {"torn_ends", r.torn_ends.size()},
      {"receiver_ledger_final",
       r.receiver_final ? json::value(*r.receiver_final) : json::value(nullptr)},
      {"daemon_ledgers_not_final", not_final},
      {"replay_ledgers_unfinished", unfinished},
      {"objections", objections}};
  l3::print_json("{}\n", json::serialize(all));
}

/// Decides every event that was sent as if it were of this run.
std::vector<expected_event> decide_for(std::uint32_t run, const options& o, interrupt& signals) {
  file_batches in(o.sent);
  const loaded_selection selection = load_selection(o.selection, in.crates(), run);
  const auto compute =
      make_selecting_engine(o.selection, in.capacity(o.selection.batch), selection);
  std::vector<expected_event> expected;
  for_each_decided(
      in, *compute,
      [&](const decided_event& e) {
        expected_event& to = expected.emplace_back();
        to.kept = e.summary.kept != 0;
        if (!to.kept) return;
        to.summary = summary_of(e);
        const auto packed = packed_event_view::parse(e.packed);
        to.payload_crc = packed ? crc_of_payload(*packed) : 0;
      },
      "select", signals);
  return expected;
}

/// The selection's decisions on every event that was sent. Over UDP the daemon's run may differ
/// from the file's, and a file may be sent over several runs: the stored events name theirs.
expected_events decide_all(const options& o, std::uint32_t run_sent,
                           std::span<const event_index::session> stored, interrupt& signals) {
  if (o.loops != 1)
    throw command_error(
        "--loop and --selection exclude each other, because prescales depend on spill numbers",
        exit_usage);
  std::set<std::uint32_t> runs;
  for (const event_index::session& s : stored) runs.insert(s.run);
  if (runs.empty()) runs.insert(run_sent);
  expected_events expected;
  for (const std::uint32_t run : runs) expected[run] = decide_for(run, o, signals);
  return expected;
}

/// The named ledgers, and the one in the folder.
std::vector<given_ledger> ledgers_of(const options& o) {
  std::vector<given_ledger> all;
  const auto read = [&](const std::string& path, bool of_folder) {
    check_readable(path);
    all.push_back({path, read_ledger(path), of_folder});
  };
  for (const auto& path : o.ledgers) read(path, false);
  const auto of_folder = std::filesystem::path(o.folder) / "ledger.json";
  if (std::filesystem::exists(of_folder)) read(of_folder.string(), true);
  return all;
}

int verify(const options& o) {
  interrupt signals;
  refuse_other_kind(o.sent, stored_format::level2, "give the .l2raw file first, then the store");
  check_readable(o.sent);
  check_folder(o.folder);
  const std::vector<given_ledger> given = ledgers_of(o);
  std::vector<ledger> ledgers;
  remarks said;
  for (const auto& [path, l, of_folder] : given) {
    ledgers.push_back(l);
    if (l.program == daemon_program && !l.ended) said.not_final.push_back(path);
    if (l.program == replay_program && !l.clean) said.unfinished.push_back(path);
  }
  said.receiver_final = receiver_is_final(given);
  // A receiver without blocks leaves a ledger only.
  if (!said.receiver_final) check_store(o.folder);

  event_index stored(o.folder, [&] { return signals.check(), false; });
  said.runs = runs_to_compare(o.runs, given, stored);
  stored.keep_events_of(said.runs);
  const auto sessions = sessions_of_runs(said.runs, stored.sessions());
  for (const auto& s : stored.sessions())
    if (!said.runs.contains(s.run)) said.not_compared.insert(s.run);
  said.run_sent = l2raw_reader(o.sent).run();
  const expected_events expected = o.selection.files.lines.empty()
                                       ? expected_events{}
                                       : decide_all(o, said.run_sent, sessions, signals);
  progress line("verify", 0, "events");
  auto c =
      compare(o.sent, o.folder, stored, o.loops, expected, o.skip_damaged, [&](std::uint64_t n) {
        signals.check();
        line.update(n);
      });
  line.clear();
  for (const auto& end : stored.torn_ends()) said.torn_ends.push_back(text_of(end));
  said.without_ledger = sessions_without_ledger(ledgers, sessions);
  said.fates = fates_of(ledgers, sessions, c, !expected.empty());
  said.objections = objections_to(
      given, {said.run_sent, o.folder, kind_of(o.folder), stored.sessions(), said.not_compared});
  const auto agreements = check_ledgers(ledgers, stored.sessions(),
                                        {said.fates ? said.fates->came_again() : 0, c.sent,
                                         kind_of(o.folder), said.runs, c.sent_bytes});
  c.unreadable = unreadable_events(agreements);
  const bool skipped = c.skip_damaged && c.damaged > 0;
  const bool ledgers_hold = hold(agreements, skipped);
  const auto payloads =
      json_of(c.payloads, c.payloads.events() > 0 ? stored_settings(o.folder, signals).line_names()
                                                  : std::map<std::uint32_t, std::string>{});
  if (o.json) {
    print_json(c, payloads, agreements, said);
  } else {
    print_table(o.sent, c, payloads, agreements);
    print_remarks(said);
    print_left_out(c);
    print_verdict(c, skipped, ledgers_hold, !expected.empty(), said.objections);
    if (c.missing > 0 && said.fates) print_missing(c.missing, *said.fates);
  }
  return c.holds() && ledgers_hold && said.objections.empty() ? 0 : exit_failure;
}

} // namespace

void add_verify(command_line program, command_body& run) {
  auto o = std::make_shared<options>();
  const auto c = program.add_subcommand("verify", "compare what was sent with what was stored");
  c.footer(
      "Exits with 0 only if every event is stored as it was sent and no ledger is wrong. A "
      "ledger is wrong if its sums do not balance, or it misstates whether they do, if its figures "
      "differ from those of other ledgers or from the content of the folder, if it belongs to "
      "another run or store, or if another ledger is of the same start of the daemon. A store "
      "must have its receiver's ledger. Ledgers that are not final and sessions without a "
      "ledger are reported, but are not faults. An event that was sent again to a restarted "
      "daemon and stored twice counts as repeated, not as different. If an event lacks "
      "waveforms, all bytes that are present are compared; missing waveforms, and the pulses "
      "stored instead, are checked only with --selection.");
  c.add_option("sent", o->sent, "the .l2raw file that was sent").required();
  c.add_option("folder", o->folder,
               "the store that `receive` wrote, or the spool that a daemon left behind")
      .required();
  c.add_option(
      "--ledger", o->ledgers,
      "ledgers of the replay client and the daemon; the receiver's ledger is in the store");
  c.add_option("--run", o->runs,
               "the run that was sent, if the store has several; may be repeated (default: the "
               "runs of the given ledgers, or else all)");
  c.add_option("--loop", o->loops, "how often the file was sent, as with `replay --loop`")
      .check(in_range(1U, spill_numbers))
      .capture_default_str();
  o->selection.files.lines.clear();
  const option selection = c.add_option("--selection", o->selection.files.lines,
                                        "the selection that the daemon used (built-in, or a file): "
                                        "events that it rejects must not be stored");
  c.add_option("--detector", o->selection.files.detector,
               "the description of the detector that the daemon used")
      .capture_default_str();
  c.add_option("--calibration", o->selection.files.calibration,
               "the calibration that the daemon used");
  add_record_flag(c, o->selection.files).needs(selection);
  c.add_flag("--skip-damaged", o->skip_damaged,
             "skip damaged places of the store, report how many, and compare the rest")
      .excludes(selection);
  c.add_flag("--json", o->json, "report as JSON");
  c.callback([o, &run] { run = [o] { return verify(*o); }; });
}

} // namespace l3
