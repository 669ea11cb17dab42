// SPDX-License-Identifier: Apache-2.0
// Pairs of snapshots half a second apart, and what each kind of trouble says about them.
#include "daemon/monitor/troubles.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace l3 {
namespace {

using namespace std::chrono_literals;
using snap = metrics_snapshot;

/// A run in which 500 events of 18 crates have been admitted, 100 since the last look.
struct looks {
  snap before;
  snap now;
};

looks healthy() {
  looks l;
  for (snap* s : {&l.before, &l.now}) {
    s->state.now = phase::receiving;
    s->uptime = 1000;
    s->account.sessions = {1};
    s->account.datagrams.received = 8000;
    s->account.fragments.seen = 7200;
    s->account.events.admitted = 400;
    for (unsigned c = 0; c < 18; ++c) s->account.crates.emplace_back().crate = c;
    s->crates.resize(18);
    s->inputs = {{{}, "udp0"}};
    s->inputs[0].longest.add(8000);
    s->named = {8000, 108, false, 50, "good.json"};
    s->frames = {2, 1, 1, 0, 0};
    s->receiver = "tcp://10.0.0.1:42200";
    s->latest_spills = {{6, 1000, 0, 1000, 0}};
    s->spill_age = 3;
    s->data_age = 0;
    s->spool.emplace();
    s->outbox_capacity = 1000;
    s->this_spill = {400, 0, 300, 100, 0, false};
  }
  l.before.lately = l.now.lately = l.before.account;
  l.now.account.datagrams.received = 10'000;
  l.now.account.fragments.seen = 9000;
  l.now.account.events.admitted = 500;
  l.now.at_admission = l.now.account;
  l.before.at_admission = l.before.account;
  l.now.this_spill.admitted = 500;
  return l;
}

/// No event was admitted since two looks, while this happened to the account at each.
template <class Change>
void nothing_is_admitted(looks& l, Change change) {
  l.before.at_admission = l.now.at_admission = l.before.account;
  l.now.account = l.before.account;
  change(l.before.account);
  change(l.now.account);
  change(l.now.account);
  l.now.account.datagrams.received += 2000;
  l.now.lately = l.before.at_admission;
}

void without_run(looks& l) {
  for (snap* s : {&l.before, &l.now}) {
    s->account = {};
    s->run.state = "configured";
    s->state.now = phase::configured;
    s->spill_age.reset();
    s->latest_spills.clear();
  }
}

void lose(looks& l, std::uint64_t incomplete, std::uint64_t admitted) {
  l.now.building.events_incomplete.add(incomplete);
  l.now.this_spill.admitted = admitted;
  l.now.this_spill.incomplete = incomplete;
}

void blame(looks& l, std::size_t crate, std::uint64_t lost) {
  crate_report& r = l.now.crates[crate];
  r.fault = crate_fault::silent;
  r.text = fmt::format("crate {} is silent: it has sent nothing of the last 600 events", crate);
  r.lost = r.lost_now = lost;
  l.now.account.crates[crate].missing += lost;
}

line_snapshot line(const char* name, std::uint8_t priority, std::uint32_t shed_prescale) {
  line_snapshot l;
  l.name = name;
  l.priority = priority;
  l.shed_prescale = shed_prescale;
  return l;
}

struct row {
  const char* name;
  void (*happens)(looks& l);
  severity how_bad;
  losing loses;
  const char* text; ///< a part of text and action
};

const row rows[] = {
    {"nothing_admitted",
     [](looks& l) { nothing_is_admitted(l, [](ledger& a) { a.fragments.duplicate += 900; }); },
     severity::critical, losing::now,
     "data arrive, but no event is admitted: in this run, fragments repeat event numbers of "
     "this run: 1800; likely cause: a sender was restarted or level 2 was reset"},
    {"nothing_admitted",
     [](looks& l) {
       nothing_is_admitted(l, [](ledger& a) {
         a.datagrams.malformed["wrong_spill"] += 300;
         a.fragments.late += 50;
       });
     },
     severity::critical, losing::now,
     "datagrams belong to a spill far from the current one: 600; likely cause: level 2 was reset, "
     "or "
     "the spill counter of crates is wrong; begin a new run (`koto-l3 run stop`, then `koto-l3 run "
     "start`; without run control restart the daemon); other signs: fragments came after their "
     "events had ended: 100"},
    {"nothing_admitted",
     [](looks& l) {
       nothing_is_admitted(l, [](ledger& a) { a.datagrams.malformed["too_long"] += 1000; });
       l.now.inputs[0].longest.add(960);
     },
     severity::critical, losing::now,
     "sends chunks of 8960 bytes, and building.chunk_bytes is 8000 here; events were admitted "
     "before"},
    {"nothing_admitted",
     [](looks& l) {
       nothing_is_admitted(l, [](ledger& a) { a.datagrams.malformed["source"] += 1000; });
     },
     severity::critical, losing::now, "udp.allow or tcp.allow does not list the senders"},
    {"nothing_admitted",
     [](looks& l) {
       nothing_is_admitted(l, [](ledger& a) { a.datagrams.malformed["stream_content"] += 1000; });
     },
     severity::critical, losing::now, "the sender sends for another run number"},
    {"nothing_admitted",
     [](looks& l) { nothing_is_admitted(l, [](ledger& a) { a.fragments.late += 500; }); },
     severity::critical, losing::now, "fragments came after their events had ended: 1000"},
    {"nothing_admitted",
     [](looks& l) {
       nothing_is_admitted(l, [](ledger& a) { a.datagrams.malformed["too_short"] += 500; });
     },
     severity::critical, losing::now, "datagrams or records were refused (too_short): 1000"},
    {"nothing_admitted", // the events of the other crates lack the refused fragments
     [](looks& l) {
       nothing_is_admitted(l, [](ledger& a) {
         a.datagrams.malformed["discriminator"] += 450;
         a.fragments.incomplete += 600;
       });
     },
     severity::critical, losing::now, "datagrams name crates that the readout does not have: 900"},
    {"events_incomplete", // the crate is late, and its fault does not count lost events yet
     [](looks& l) {
       lose(l, 300, 0);
       blame(l, 7, 300);
       l.now.crates[7].fault = crate_fault::overdue;
       l.now.crates[7].lost = 0;
     },
     severity::critical, losing::now, "300 of 300 events of this spill are lost"},
    {"crate_fault",
     [](looks& l) {
       lose(l, 577, 423);
       blame(l, 7, 577);
     },
     severity::critical, losing::now,
     "577 of 1000 events of this spill are lost: crate 7 is silent: it has sent nothing"},
    {"crate_fault",
     [](looks& l) {
       lose(l, 5, 995);
       blame(l, 7, 5);
     },
     severity::warning, losing::now, "5 of 1000 events of this spill are lost"},
    {"crate_fault", [](looks& l) { blame(l, 3, 0); }, severity::warning, losing::no,
     "crate 3 is silent"},
    {"crate_fault",
     [](looks& l) {
       lose(l, 577, 423);
       blame(l, 0, 1);
       blame(l, 7, 577);
     },
     severity::critical, losing::now,
     "crate 7 is silent: it has sent nothing of the last 600 events "
     "(1 more crate too)"},
    {"events_incomplete",
     [](looks& l) {
       lose(l, 577, 423);
       for (crate_account& c : l.now.account.crates) c.missing += 30 + c.crate;
     },
     severity::critical, losing::now,
     "577 of 1000 events of this spill are lost: they lack fragments (in the last 4 s: crate 17 in "
     "47, crate 16 in "
     "46, crate 15 in 45 and 15 more crates); the losses are spread over crates, and nothing was "
     "dropped "
     "here; "
     "likely cause: the network between level 2 and this node loses datagrams"},
    {"events_incomplete",
     [](looks& l) {
       lose(l, 10, 990);
       l.now.account.datagrams.kernel_drops += 100;
     },
     severity::warning, losing::now, "datagrams were dropped by the kernel: 100; likely cause"},
    {"events_incomplete", [](looks& l) { lose(l, 9, 991); }, severity::note, losing::now,
     "9 of 1000 events of this spill are lost"},
    {"events_incomplete",
     [](looks& l) {
       l.now.named.incomplete_are_kept = true;
       lose(l, 577, 1000);
     },
     severity::warning, losing::no, "577 of 1000 events of this spill lack fragments and are kept"},
    {"events_incomplete",
     [](looks& l) {
       lose(l, 2, 1);
       l.now.latest_spills = {{6, 900, 1, 1000, 0}};
     },
     severity::note, losing::now, "1 of 901 events of the last spill"},
    {"events_missing",
     [](looks& l) {
       l.now.latest_spills = {{35, 920, 0, 1400, 480}};
       l.now.ended_spills.missing += 480;
     },
     severity::critical, losing::now,
     "480 of 1400 events of spill 35 did not arrive at all, according to the ends of spill"},
    {"events_missing",
     [](looks& l) {
       l.now.latest_spills = {{35, 1399, 0, 1400, 1}};
       l.now.ended_spills.missing += 1;
     },
     severity::warning, losing::now, "1 of 1400 events"},
    {"no_ends_of_spill",
     [](looks& l) {
       l.now.account.datagrams.data = 1;
       l.now.latest_spills = {{34, 1000, 0, 1000, 0}, {35, 900, 0, {}, 0}, {36, 900, 1, {}, 0}};
     },
     severity::warning, losing::no, "no crate sends an end of spill"},
    {"datagrams_refused",
     [](looks& l) {
       l.now.account.datagrams.malformed["discriminator"] += 200;
       l.now.account.datagrams.malformed["too_short"] += 1;
     },
     severity::warning, losing::no, "datagrams name crates that the readout does not have: 200"},
    {"datagrams_refused", [](looks& l) { l.now.account.datagrams.malformed["source"] += 3; },
     severity::note, losing::no, "datagrams or connections came from machines that may not send: 3"},
    {"datagrams_refused",
     [](looks& l) { l.now.account.datagrams.malformed["stream_content"] += 1; }, severity::warning,
     losing::no, "records do not fit the run or the readout: 1"},
    {"datagrams_refused",
     [](looks& l) { l.now.account.datagrams.malformed["connection_limit"] += 1; },
     severity::warning, losing::no, "or raise tcp.max_connections"},
    {"kernel_drops", [](looks& l) { l.now.account.datagrams.kernel_drops += 500; },
     severity::warning, losing::now, "the kernel dropped 500 of 2500 datagrams"},
    {"kernel_drops",
     [](looks& l) {
       l.now.account.datagrams.kernel_drops += 500;
       l.now.latest_spills = {{35, 920, 0, 1400, 480}};
     },
     severity::critical, losing::now,
     "the daemon did not keep up; 480 of 1400 events of spill 35 did not arrive at all"},
    {"conflicting_events",
     [](looks& l) { l.now.account.datagrams.malformed["stream_conflict"] += 1; },
     severity::critical, losing::no, "other bytes; it was refused, and the first event stays"},
    {"conflicting_events",
     [](looks& l) { l.now.account.fragments.malformed["conflicting_chunks"] += 12; },
     severity::warning, losing::no, "12 fragments came twice with different bytes"},
    {"duplicates", [](looks& l) { l.now.account.fragments.duplicate += 18; }, severity::note,
     losing::no, "18 fragments of events that were already accepted came again"},
    {"duplicates", [](looks& l) { l.now.account.fragments.duplicate += 900; }, severity::warning,
     losing::no, "900 fragments"},
    {"data_without_run",
     [](looks& l) {
       without_run(l);
       l.now.run.beam_without_run = 0.4;
       l.now.run.datagrams_without_run = 5000;
     },
     severity::critical, losing::now,
     "data arrive, but no run is active: 5000 datagrams were dropped since the daemon started 16 "
     "min ago"},
    {"no_pause",
     [](looks& l) {
       without_run(l);
       l.now.run.beam_without_run = 10;
       l.now.run.state = "armed";
     },
     severity::critical, losing::now, "a run waits for one for a minute"},
    {"no_pause",
     [](looks& l) {
       without_run(l);
       l.now.run.beam_without_run = 10;
     },
     severity::warning, losing::no, "without a pause of 0.4 s"},
    {"no_pause", [](looks& l) { l.now.run.waits = 10; }, severity::warning, losing::no,
     "then begins or ends within a spill"},
    {"no_data", [](looks& l) { l.now.data_age = 301; }, severity::note, losing::no,
     "no data have arrived for 5 min"},
    {"no_frame",
     [](looks& l) {
       l.now.account.events.shed["no_frame"] = 30;
       l.now.frames[0] = 0;
     },
     severity::critical, losing::now, "every frame is busy: 30 events were shed"},
    {"no_frame", [](looks& l) { l.before.frames[0] = l.now.frames[0] = 0; }, severity::warning,
     losing::no, "every frame is busy: TCP senders wait"},
    {"engine_error", [](looks& l) { l.now.state.engine_failed = true; }, severity::critical,
     losing::now, "not even the CPU"},
    {"wrong_results",
     [](looks& l) {
       l.before.engine.failures.add(engine_failure::wrong); // it lasts as long as the run
       l.now.engine.failures.add(engine_failure::wrong);
       l.now.engine.events_wrong.add(1);
       l.now.engine.events_verified.add(70);
     },
     severity::critical, losing::no, "in 1 frame: 1 of 70 checked events were packed or decided wrong"},
    {"engine_fails", [](looks& l) { l.now.engine.failures.add(engine_failure::hang); },
     severity::note, losing::no, "the device failed on 1 frame of this run"},
    {"engine_fails", [](looks& l) { l.now.engine.failures.add(engine_failure::hang, 3); },
     severity::warning, losing::no, "3 frames"},
    {"engine_bypassed", [](looks& l) { l.now.engine.bypassed = true; }, severity::warning,
     losing::no, "the device () failed 0 times in this run, and the CPU computes instead"},
    {"device_lost", [](looks& l) { l.now.parts.device_lost = true; }, severity::warning, losing::no,
     "this process has lost the device;"},
    {"device_lost", [](looks& l) { l.now.engine.devices_left_out = 1; }, severity::warning,
     losing::no, "1 device failed when the daemon started, and computes nothing"},
    {"events_not_judged", [](looks& l) { l.now.events_not_judged = 12; }, severity::warning,
     losing::no, "12 of 100 events have too many hits or clusters to be judged"},
    {"events_not_judged", [](looks& l) { l.now.outcomes.boards_damaged.add(100); },
     severity::warning, losing::no, "100 boards of 100 events cannot be decoded"},
    {"hot_inputs",
     [](looks& l) {
       l.now.hot_inputs = {{"0/3/7", "12/4/0"}};
     },
     severity::warning, losing::no,
     "2 inputs are hot: 0/3/7, 12/4/0: more than 50 % of their waveforms in a spill have a pulse; "
     "tell the detector's expert; the line 0/3/7,,,,1 in selection.calibration"},
    {"inputs_changed",
     [](looks& l) {
       l.now.since_reference = {3, "0/3/7 (noise)", 0, ""};
     },
     severity::warning, losing::no, "3 inputs differ from the reference good.json: 0/3/7 (noise)"},
    {"histograms_changed",
     [](looks& l) {
       l.now.since_reference = {0, "", 1, "energy (mean 1)"};
     },
     severity::warning, losing::no, "1 histograms differ from the reference good.json: energy"},
    {"outbox_full", [](looks& l) { l.now.parts.waits_for_outbox = true; }, severity::warning,
     losing::soon, "the outbox is full, and frames wait"},
    {"outbox_full",
     [](looks& l) {
       l.now.parts.waits_for_outbox = true;
       l.now.account.events.shed["no_frame"] = 30;
     },
     severity::critical, losing::now, "the outbox is full"},
    {"outbox_full",
     [](looks& l) {
       l.now.spool.reset();
       l.now.outbox_bytes = 850;
       l.now.outbox_seconds_left = 40;
     },
     severity::critical, losing::soon,
     "the outbox is 85 % full; at this rate events are lost in 40 s"},
    {"shedding",
     [](looks& l) {
       l.now.parts.sheds = true;
       l.now.account.events.shed["priority"] = 20;
       l.now.this_spill.shed = 77;
       l.now.lines = {line("signal", 200, 1), line("minimum_bias", 50, 0)};
     },
     severity::warning, losing::now,
     "events are shed for lack of room: 77 of this spill, 20 of the run; no event of the highest "
     "priority is lost yet; kept: nothing of 1 line"},
    {"shedding",
     [](looks& l) {
       l.now.parts.sheds = true;
       l.now.lines = {line("signal", 200, 8)};
     },
     severity::critical, losing::now,
     "events of the highest priority are lost; kept: 1 in 8 of signal"},
    {"lost_at_run_end",
     [](looks& l) {
       l.now.ended_run = {7, {{"drain", 50}, {"priority", 3}}};
     },
     severity::warning, losing::no, "50 events of run 7 were shed at its end"},
    {"ledger_missing", [](looks& l) { l.now.ledger_error = "run 7 has no final ledger: full"; },
     severity::warning, losing::no, "run 7 has no final ledger"},
    {"receiver_absent", [](looks& l) { l.now.parts.receiver_absent = true; }, severity::warning,
     losing::no,
     "no receiver answers at tcp://10.0.0.1:42200, or it refuses this daemon, and none has "
     "answered "
     "in this run; events wait in memory, then on disk; this loses no event now"},
    {"receiver_absent",
     [](looks& l) { l.now.parts.receiver_absent = l.now.parts.receiver_silent = true; },
     severity::warning, losing::no, "was connected, but has not answered"},
    {"receiver_absent",
     [](looks& l) {
       l.now.parts.receiver_absent = true;
       l.now.spool->seconds_left = 180;
     },
     severity::critical, losing::soon, "at this rate events are lost in 3 min"},
    {"receiver_absent",
     [](looks& l) {
       l.now.parts.receiver_absent = true;
       l.now.unknown = {"tcp://no.invalid:42200", "forward.from", "Name or service not known"};
     },
     severity::warning, losing::no,
     "the name in tcp://no.invalid:42200 (forward.from) has no address on this machine: Name or "
     "service not known; this loses no event now; correct the name"},
    {"receiver_refuses", [](looks& l) { l.now.parts.receiver_refuses = true; }, severity::warning,
     losing::no, "answers, but stores nothing"},
    {"receiver_wrong", [](looks& l) { l.now.parts.receiver_wrong = true; }, severity::critical,
     losing::no, "blocks that were never sent"},
    {"receiver_absent",
     [](looks& l) {
       l.now.parts.receiver_absent = true;
       l.now.blocks_stored = 3;
       l.now.spool->seconds_left = 180'000;
     },
     severity::warning, losing::soon,
     "the receiver at tcp://10.0.0.1:42200 no longer answers, or refuses this daemon; events wait "
     "in memory, then on disk; at this rate nothing is lost for 2 d 2 h"},
    {"backlog_on_disk", [](looks& l) { l.now.parts.spilling = true; }, severity::warning,
     losing::no,
     "events wait on disk until the receiver at tcp://10.0.0.1:42200 accepts more; this loses no "
     "event now"},
    {"backlog_on_disk", [](looks& l) { l.now.parts.spilling = l.now.parts.sheds = true; },
     severity::warning, losing::no, "accepts more; check the receiver"},
    {"receiver_absent", // at the end of a run the rest is shed after run.drain_time_limit
     [](looks& l) {
       l.now.parts.receiver_absent = true;
       l.now.state.now = phase::draining;
     },
     severity::warning, losing::no, "then on disk; start"},
    {"backlog_on_disk",
     [](looks& l) {
       l.now.parts.spilling = true;
       l.now.output_rate = 125'000;
       l.now.rates = {{"bytes_sent", 119'000}};
     },
     severity::warning, losing::no, "forward.rate limits the output to 0.125 MB/s"},
    {"spool_fills_up", [](looks& l) { l.now.spool->seconds_left = 0; }, severity::critical,
     losing::soon, "the disk of the spool is full"},
    {"spool_fills_up", [](looks& l) { l.now.spool->seconds_left = 1799; }, severity::warning,
     losing::soon, "will be full in 29 min"},
    {"spool_full", [](looks& l) { l.now.parts.spool_full = true; }, severity::critical,
     losing::soon, "no room on disk"},
    {"spool_fails", [](looks& l) { l.now.parts.spool_fails = true; }, severity::critical,
     losing::soon, "refuses blocks"},
    {"spool_damaged",
     [](looks& l) {
       l.now.spool->damaged = 1;
       l.now.account.events.shed["spool"] = 12;
     },
     severity::critical, losing::now, "1 blocks on disk are damaged: their events are lost"},
    {"spool_damaged", [](looks& l) { l.now.spool->damaged = 1; }, severity::critical, losing::now,
     "1 blocks on disk"},
    {"spool_missing",
     [](looks& l) {
       l.before.spool.reset(); // found at the start
       l.now.spool->missing = 2;
     },
     severity::critical, losing::now, "2 blocks on disk are missing"},
    {"spool_waits",
     [](looks& l) {
       without_run(l);
       l.now.spool->events = 20;
     },
     severity::warning, losing::no, "20 events on disk (spool.folder) wait for the next run"},
    {"stuck", [](looks& l) { l.now.parts.stuck = "drain"; }, severity::critical, losing::now,
     "no progress: the thread drain stands still"},
    {"crashed_before",
     [](looks& l) {
       l.now.last_run_crashed = true;
       l.now.last_run_lost = 40;
       l.now.uptime = 599;
     },
     severity::warning, losing::no, "up to 40 events were in memory"},
    {"reload_refused", [](looks& l) { l.now.last_reload_refused = true; }, severity::warning,
     losing::no, "the settings stay as they were"},
    {"farm_cut_off",
     [](looks& l) {
       l.now.farm.emplace().state = farm_state::cut_off;
       l.now.farm->text = "etcd does not answer";
     },
     severity::warning, losing::no, "etcd does not answer"},
    {"farm_node_missing",
     [](looks& l) {
       l.now.farm.emplace().state = farm_state::joined;
       l.now.farm->nodes = {{3, farm_standing::missing, {}, {}, {}, {}, {}}};
     },
     severity::warning, losing::no, "node 3 of the farm is not connected to etcd"},
    {"farm_not_one_run",
     [](looks& l) {
       l.now.farm.emplace().state = farm_state::joined;
       l.now.farm->nodes = {{2, farm_standing::apart, "n2", "configured", {}, "no room", {}},
                            {4, farm_standing::apart, "n4", "armed", {}, {}, {}}};
       l.now.run.state = "armed"; // node 4 begins the run, too
     },
     severity::warning, losing::no, "nodes are not in the farm's run: 2 (no room); `koto-l3 run"},
    {"farm_not_one_run",
     [](looks& l) {
       l.now.node = 2;
       l.now.farm.emplace().state = farm_state::joined;
       l.now.farm->nodes = {{2, farm_standing::apart, "n2", "configured", {}, "no room", {}}};
     },
     severity::critical, losing::no, "this node is not in the farm's run: no room"},
};

std::optional<finding> found(const char* name, const looks& l) {
  for (const auto& kind : daemon_troubles())
    if (kind.name == name) return kind.look(l.before, l.now);
  ADD_FAILURE() << "no kind " << name;
  return std::nullopt;
}

std::string action_of(std::string_view name) {
  const auto kinds = daemon_troubles();
  return std::string(std::ranges::find(kinds, name, &trouble_row::name)->action);
}

TEST(daemon_troubles, say_what_is_wrong_with_numbers_and_how_bad_it_is) {
  for (const row& r : rows) {
    SCOPED_TRACE(std::string(r.name) + ": " + r.text);
    looks l = healthy();
    EXPECT_FALSE(found(r.name, l)) << "nothing is wrong";
    r.happens(l);
    const auto f = found(r.name, l);
    ASSERT_TRUE(f);
    EXPECT_EQ(name_of(f->how_bad), name_of(r.how_bad)) << f->text;
    EXPECT_EQ(name_of(f->loses), name_of(r.loses)) << f->text;
    const std::string action(f->action.empty() ? action_of(r.name) : f->action);
    const std::string said = f->text + "; " + action;
    EXPECT_NE(said.find(r.text), said.npos) << said;
  }
}

TEST(daemon_troubles, are_all_in_the_table_above_and_have_alerts_for_what_they_find) {
  for (const auto& kind : daemon_troubles()) {
    SCOPED_TRACE(kind.name);
    std::size_t found = 0;
    for (const row& r : rows) {
      if (kind.name != r.name) continue;
      ++found;
      EXPECT_TRUE(r.how_bad != severity::critical || !kind.critical_for.empty());
      EXPECT_TRUE(r.how_bad != severity::warning || !kind.warning_for.empty());
    }
    EXPECT_GT(found, 0U);
  }
}

/// Disturbed, but healthy: at most a warning.
TEST(daemon_troubles, give_no_false_critical_alarm) {
  const std::pair<const char*, void (*)(looks&)> disturbed[] = {
      {"nothing", [](looks&) {}},
      {"a daemon that begins within a spill",
       [](looks& l) {
         l.now.ended_spills.spills = 1;
         l.now.latest_spills = {{35, 0, 0, 40, 40}};
       }},
      {"a beam that pauses",
       [](looks& l) {
         l.now.account = l.before.account;
         l.now.this_spill.ended = true;
       }},
      {"a sender that stalls within events",
       [](looks& l) {
         l.now.account = l.before.account;
         l.now.account.datagrams.received += 20;
         l.now.account.fragments.seen += 17;
         for (crate_account& c : l.now.account.crates) c.overdue += c.crate < 9 ? 1 : 0;
       }},
      {"the event that was lost in a stall, and its late fragments",
       [](looks& l) {
         nothing_is_admitted(l, [](ledger& a) {
           a.fragments.late += 9;
           a.fragments.incomplete += 9;
         });
         lose(l, 1, 400);
       }},
      {"a stray datagram of another spill after the last event",
       [](looks& l) {
         l.now.account = l.before.account;
         l.now.at_admission = l.before.account;
         l.now.account.datagrams.malformed["wrong_spill"] += 300; // at one look
       }},
      {"1 % of the events incomplete, of all crates alike",
       [](looks& l) {
         lose(l, 10, 990);
         for (crate_account& c : l.now.account.crates) c.missing += 1;
       }},
      {"the first event of a spill incomplete", [](looks& l) { lose(l, 1, 0); }},
      {"drops of a busy machine",
       [](looks& l) {
         lose(l, 30, 970);
         l.now.account.datagrams.kernel_drops += 100;
       }},
      {"a run that waits for a pause",
       [](looks& l) {
         without_run(l);
         l.now.run.state = "armed";
         l.now.run.beam_without_run = 3;
       }},
  };
  for (const auto& [what, happens] : disturbed) {
    looks l = healthy();
    happens(l);
    for (const auto& kind : daemon_troubles()) {
      const auto f = kind.look(l.before, l.now);
      EXPECT_TRUE(!f || f->only_lasts || f->how_bad != severity::critical)
          << what << ": " << kind.name << ": " << f->text;
    }
  }
}

TEST(daemon_troubles, name_the_cause_of_most_losses_first) {
  looks l = healthy();
  lose(l, 577, 423);
  blame(l, 7, 577);
  l.now.parts.receiver_absent = true;
  l.now.spool->seconds_left = 180;
  l.now.engine.failures.add(engine_failure::wrong);
  trouble_watch watch;
  watch.look(l.before, time_point(1s), 100);
  watch.look(l.now, time_point(1500ms), 100.5);
  std::vector<std::string_view> names;
  for (const trouble& t : l.now.troubles.now) names.push_back(t.name);
  EXPECT_EQ(names, (std::vector<std::string_view>{"crate_fault", "receiver_absent", "wrong_results",
                                                  "engine_fails"}))
      << "incomplete events and a disk that fills up are said with their causes";
  EXPECT_EQ(state_text(l.now), "receiving; critical: crate_fault receiver_absent wrong_results");
  EXPECT_EQ(l.now.changes.size(), 2U);
  EXPECT_EQ(l.now.changes.back().text, state_text(l.now));
}

TEST(daemon_troubles, stay_while_repeats_are_counted_by_their_chunks_only) {
  looks l = healthy();
  nothing_is_admitted(l, [](ledger& a) { a.fragments.duplicate += 900; });
  EXPECT_EQ(found("nothing_admitted", l)->events, 100U) << "2000 datagrams, 20 for each";
  EXPECT_TRUE(found("duplicates", l)->is_said);
  l.before.account = l.now.account;
  EXPECT_FALSE(found("nothing_admitted", l)) << "no data come";
  l.now.account.datagrams.received += 2000;
  l.now.building.late_chunks.add(1900);
  EXPECT_EQ(found("nothing_admitted", l)->events, 100U);
}

TEST(daemon_troubles, say_once_that_the_device_fails) {
  looks l = healthy();
  l.now.engine.failures.add(engine_failure::error, 3);
  EXPECT_FALSE(found("engine_fails", l)->is_said);
  l.now.engine.bypassed = true;
  EXPECT_TRUE(found("engine_fails", l)->is_said);
}

TEST(daemon_troubles, last_while_the_receiver_answers_now_and_then_or_events_wait_on_disk) {
  looks l = healthy();
  l.now.parts.receiver_slow = l.now.parts.spilling = true;
  EXPECT_TRUE(found("receiver_absent", l)->only_lasts);
  EXPECT_TRUE(found("backlog_on_disk", l)->is_said);
  l.now.parts = {};
  EXPECT_FALSE(found("backlog_on_disk", l));
  l.now.spool->blocks = 1;
  EXPECT_TRUE(found("backlog_on_disk", l)->only_lasts);
}

TEST(trouble_watch, blames_the_kernel_for_the_events_whose_datagrams_it_dropped) {
  looks l = healthy();
  l.now.latest_spills = {{35, 1390, 0, 1400, 10}};
  l.now.ended_spills.missing += 10;
  l.now.account.datagrams.kernel_drops += 90; // of 20 an event
  EXPECT_FALSE(found("events_missing", l)->is_said);
  l.now.account.datagrams.kernel_drops += 10;
  EXPECT_TRUE(found("events_missing", l)->is_said);
  l.now.account.datagrams.kernel_drops = 0;
  l.before.ended_spills.missing = l.now.ended_spills.missing;
  EXPECT_TRUE(found("events_missing", l)->only_lasts) << "the spill before was said";
}

TEST(trouble_watch, sheds_the_share_of_the_last_spill_when_a_spill_begins) {
  looks l = healthy();
  l.now.parts.sheds = true;
  l.now.this_spill = {};
  l.now.spill_outcomes = {spill_counts{.admitted = 100, .shed = 25}};
  EXPECT_EQ(found("shedding", l)->share, 0.25);
}

TEST(trouble_watch, counts_from_zero_in_another_run) {
  trouble_watch watch;
  looks l = healthy();
  l.before.account.datagrams.kernel_drops = 500;
  watch.look(l.before, time_point(1s), 100);
  EXPECT_EQ(l.before.troubles.now.size(), 1U) << "drops since the begin of the run";
  l.now.account.sessions = {2};
  l.now.account.datagrams.kernel_drops = 3;
  watch.look(l.now, time_point(1500ms), 100.5);
  EXPECT_NE(l.now.troubles.now.at(0).text.find("dropped 3 of"), std::string::npos)
      << l.now.troubles.now.at(0).text;
}

} // namespace
} // namespace l3
