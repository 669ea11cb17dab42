// SPDX-License-Identifier: Apache-2.0
#include "daemon/monitor/troubles.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "daemon/monitor/trouble_rules.hpp"
#include "monitor/log.hpp"

namespace l3 {
namespace {

using kind = trouble_kind<metrics_snapshot>;
using enum ends;

constexpr std::string_view shift = "the shift";
constexpr std::string_view level_2 = "the level-2 expert";
constexpr std::string_view node_expert = "the expert of this node";
constexpr std::string_view detector = "the detector's expert";

/// The kinds that lose events come first, then those that will, then the others.
constexpr std::array kinds{
    kind{{"stuck", at_once, node_expert,
          "A thread of the data path makes no progress. The service manager restarts the daemon.",
          "keep the log and tell the experts", "0s", ""},
         rules::stuck},
    kind{{"engine_error", at_once, shift,
          "Not even the CPU can compute events. Only a bug can cause this.",
          "restart the daemon (`systemctl restart koto-l3d`) and keep the log", "0s", "", true},
         rules::engine_error},
    kind{{"data_without_run", with_data, shift,
          "Crates send, but no run is active: all data are dropped and counted "
          "(`koto_l3_no_run_datagrams_total`). The daemon was restarted, or no run was started.",
          "begin a run: `koto-l3 run start`; it begins with the next pause of the beam", "0s", "",
          true},
         rules::data_without_run},
    kind{{"nothing_admitted", with_data, shift,
          "Data arrive, but no event is admitted: everything is lost. The text names the likeliest "
          "cause by the counted reasons, and the action names further ones.\n\n* `duplicate`, "
          "`late`, `wrong_spill`: a sender was restarted or level 2 was reset inside a run. Begin "
          "a new run.\n* `too_long`, `chunk_length`, `chunk_index`, `malformed`: "
          "`building.chunk_bytes` or `readout.crates` does not fit level 2. The text suggests a "
          "size.\n* `source`: `udp.allow` or `tcp.allow` does not list the senders.\n* "
          "`fragment_id`, `discriminator`: event or crate numbers that the configuration does not "
          "allow.\n* `stream_content`: a sender over TCP has another run number or readout.\n* "
          "`kernel_drops`: this machine does not keep up.",
          "look at refused datagrams and fragments on the page", "0s", "", true},
         rules::nothing_admitted},
    kind{{"crate_fault", at_once, level_2,
          "A crate behaves differently from the other crates. The page, the log and `crates[]` of "
          "`/status` name the crate and its fault. It is critical if events are lost because of "
          "it, as `building.incomplete` says.\n\n| fault | the crate … | most often |\n| --- | --- "
          "| --- |\n| `other_spill` | sends another spill than the others; its fragments are late, "
          "or refused as `wrong_spill` | it missed a spill signal: reset its spill counter |\n| "
          "`jumped` | sends other event numbers than the others at the same time | it missed or "
          "doubled a trigger: reset its event counter |\n| `repeats` | repeats fragments, and the "
          "others do not | its event counter is stuck, or a switch doubles its packets |\n| "
          "`malformed` | sends fragments whose content is wrong; `crates[].malformed` has the "
          "reasons ([formats.md](formats.md), section 10) | its firmware, or a bad link; "
          "`wrong_l1a`: a board's event counter is off; `conflicting_chunks`: another crate uses "
          "its number |\n| `silent` | has sent nothing of the last ten events or more | power, "
          "fibre, switch port |\n| `loses` | loses more fragments than the others: events have "
          "ended without them | a switch or a fibre; if all crates lose, no crate is named |\n| "
          "`overdue` | is late with more fragments than the others: events have waited for them "
          "for more than 250 ms, and are whole if they still come. If they do not, it is `loses` "
          "after `building.event_time_limit` | its sender stalls now and then; else as `loses` "
          "|\n| `drifts` | has time stamps more than 1 µs from the others', at two looks in a row "
          "by the same amount, or at four if they run away | its clock, or a counter that jumped "
          "by a few events |",
          "check that crate, its fibre and its switch, and tell the level-2 expert its number",
          "0s", "0s", true, "koto_l3_crate_fault", "crate"},
         rules::crate_fault},
    kind{
        {"events_incomplete", with_data, level_2,
         "Events lack fragments, and are dropped or forwarded with a flag, as "
         "`building.incomplete` says. It is critical from a quarter of the events of a spill on, a "
         "warning from one in a hundred on, and a note below. A single bad crate is a crate_fault. "
         "If all lose equally, check what they share: a switch, a network card, this machine.",
         "check kernel drops and refused datagrams first, then crates and switches", "0s", "15s",
         true},
        rules::events_incomplete},
    kind{{"events_missing", at_once, level_2,
          "Events did not arrive at all, by the numbers that the crates send at the end of a spill "
          "(`expected` in `latest_spills`). Nothing else shows this loss: the cable or the switch "
          "lost all their datagrams, or they were refused. The trouble ends with the next whole "
          "spill.",
          "check the network between level 2 and this node, and whether every crate sends each "
          "event to this node",
          "0s", "0s", true},
         rules::events_missing},
    kind{{"datagrams_refused", with_data, level_2,
          "Datagrams or records were refused and are not stored. `refused` of `/status` counts "
          "them by reason ([formats.md](formats.md), section 10). Below one in a hundred it is a "
          "note. `source`: a machine sends that is not in `udp.allow` or `tcp.allow`.",
          "find out which machine sends them", "", "15s"},
         rules::datagrams_refused},
    kind{{"no_ends_of_spill", at_once, level_2,
          "No crate has sent an end of spill in the last two spills, so it is unknown how many "
          "events level 2 sent. Events of which no datagram comes are lost unseen: events_missing, "
          "`expected` and the ledger do not know them ([formats.md](formats.md), section 3).",
          "let every crate send its number of events at the end of a spill", "", "30s"},
         rules::no_ends_of_spill},
    kind{{"outbox_full", at_once, shift,
          "Neither memory nor disk has room, and frames wait. TCP senders wait and lose nothing. "
          "Over UDP the daemon sheds events as soon as no frame is free; then the trouble is "
          "critical. If `spool.folder` is empty, set it.",
          "bring back the receiver, or find out why it is slower than the input (forward.rate, its "
          "disk)",
          "0s", "15s", true},
         rules::outbox_full},
    kind{
        {"no_frame", with_data, node_expert,
         "Every frame is busy. TCP senders wait; events that begin over UDP are shed "
         "(`koto_l3_events_shed_total{reason=\"no_frame\"}`), and the trouble is critical. If "
         "outbox_full is shown, too, follow its section. Otherwise the kernels are too slow for "
         "the input: look at `koto_l3_stage_duration_seconds`, at engine_bypassed, and at other "
         "load on the node. `frames.count` helps only against bursts.",
         "look for outbox_full, engine_bypassed, other load, or a compute.backend that is too slow",
         "0s", "30s", true},
        rules::no_frame},
    kind{{"shedding", at_once, shift,
          "Memory and disk are more than 95 % full, and events come over UDP. The daemon sheds "
          "events of the lines with the lowest priority, by prescales of 2, 8, 32, then all; it is "
          "critical when lines of the highest priority are prescaled. Shed events are lost, and "
          "counted in `koto_l3_events_shed_total{reason=\"priority\"}` and "
          "`koto_l3_line_shed_total`. The state ends below 80 %. If it comes and goes while "
          "`koto_l3_spool_room_bytes` is large, the disk is too slow: look for other programs that "
          "write to it, at its health, and at `spool.sync`.",
          "bring back the receiver; room on the disk of spool.folder only gains time; note run and "
          "spills",
          "0s", "0s", true},
         rules::shedding},
    kind{
        {"kernel_drops", with_data, node_expert,
         "The kernel dropped datagrams because the socket buffers were full: the daemon did not "
         "keep up. Their events are incomplete. It is critical from a quarter of the datagrams on.",
         "look for other load on this node, compare udp.socket_buffer with net.core.rmem_max, "
         "raise udp.threads",
         "0s", "0s"},
        rules::kernel_drops},
    kind{
        {"conflicting_events", with_data, shift,
         "An event came with the number of an earlier event of this run, but other bytes. Over TCP "
         "the daemon refused it, `koto-l3 replay` ended and names spill and event; the first event "
         "stays. Over UDP two senders at the same moment show as `conflicting_chunks` (a warning).",
         "stop one of two senders that use the same numbers; send a file of another run under "
         "another run number",
         "0s", "0s"},
        rules::conflicting_events},
    kind{{"spool_missing", with_data, node_expert,
          "Blocks are missing from the spool: their events are lost, and no sum counts them. "
          "Somebody touched `spool.folder`, or a power cut took blocks that had not been synced "
          "(`spool.sync`).",
          "check the file system (fsck), and find out who touched spool.folder", "0s", ""},
         rules::spool_missing},
    kind{{"spool_damaged", with_data, node_expert,
          "Blocks on disk are damaged: their events are lost, counted as shed(spool), or in "
          "`spool.lanes[].damaged` of the ledger if an earlier start wrote them.",
          "check that disk (dmesg, smartctl), and tell the experts", "0s", "", true},
         rules::spool_damaged},
    kind{{"spool_full", at_once, shift,
          "The spool is full: `spool.size` is reached, or the file system has no more than "
          "`spool.floor` free (`koto_l3_spool_disk_bytes` and `df` say which). Nothing is lost "
          "while memory has room; then outbox_full follows. Remove no files from the folder while "
          "the daemon runs.",
          "bring back the receiver now; room on that disk only gains time", "0s", ""},
         rules::spool_full},
    kind{{"spool_fails", at_once, node_expert,
          "The disk of `spool.folder` refused a block within the last seconds, for a reason other "
          "than lack of room. The log has its error (`the disk refuses a block of the spool: …`). "
          "The daemon tries another file every 0.1 s. Nothing is lost while memory has room; then "
          "outbox_full follows. A disk that has refused every block for a minute ends the daemon "
          "with exit code 1; the service manager starts it again. `File too large`: see "
          "`LimitFSIZE`.",
          "check that disk (dmesg, smartctl), its mount options, and the limits of the process",
          "0s", ""},
         rules::spool_fails},
    kind{{"receiver_absent", at_once, shift,
          "No receiver answers at `forward.to`. Nothing is lost: events wait in the outbox's "
          "memory, then on disk. It is critical if events will be lost within half an hour. If the "
          "log reports wrong keys, see \"Keys and strangers\" below. If the name has no address, "
          "correct `forward.to` or the machine's name service (`getent hosts NAME`).",
          "start `koto-l3 receive` there, or check its log and the network; the daemon's log says "
          "why (`journalctl -u koto-l3d -g 'output link'`)",
          "0s", "15s"},
         rules::receiver_absent},
    kind{
        {"receiver_refuses", at_once, shift,
         "The receiver answers but stores nothing: its disk is full, or fails. The log has the "
         "reason (`output link: the receiver refuses: …`). Nothing is lost: events wait in memory, "
         "then on disk, and are sent again every second. If the log says `the receiver answers but "
         "does not accept block … of session …`, check that both have the same version.",
         "make room on the receiver's disk; its log and `journalctl -u koto-l3d -g 'output link'` "
         "say more",
         "0s", "15s"},
        rules::receiver_refuses},
    kind{{"spool_fills_up", at_once, shift,
          "The disk of the spool will be full within half an hour at the rate of the last minute. "
          "It is critical for the last ten minutes.",
          "bring back the receiver; room on the disk of spool.folder only gains time; once it is "
          "full, events are shed",
          "0s", "30s"},
         rules::spool_fills_up},
    kind{
        {"receiver_wrong", at_once, node_expert,
         "The receiver claims to have blocks that the daemon never sent (`the receiver claims to "
         "have blocks up to …` in the log). The daemon ignores the claim and keeps its blocks. "
         "Another program listens at `forward.to`, or a program in between changes messages: find "
         "it. The state ends with the next possible claim.",
         "check that forward.to names the right receiver, and that no other program uses its store",
         "0s", ""},
        rules::receiver_wrong},
    kind{{"no_pause", at_once, level_2,
          "Crates have sent for ten seconds without a pause of 0.4 s, and no run is active, or a "
          "run waits for a pause in order to end. It is critical while a run waits to begin. "
          "After a minute the run begins or ends within a spill, and a part of that spill is in "
          "no run. Either a trigger without pauses is on, or a crate sends without a beam: find "
          "it with its expert, or keep its address out (`udp.allow`, a restart).",
          "find the crate or the trigger that never pauses", "0s", "30s"},
         rules::no_pause},
    kind{{"wrong_results", at_once, node_expert,
          "A packed event did not unpack to its input, the CPU decided otherwise on an event, or "
          "the selection's tables on the device changed; they are compared once a spill. The "
          "daemon found the error before the event was forwarded, and computed the frame again. "
          "Unchecked events since the last good check may be stored or rejected wrong. Keep the "
          "`.l3batch` file: `koto-l3 rerun FILE` names the events that differ, `--backend cuda` "
          "shows whether the device repeats the error. If the log says \"on the CPU, and no other "
          "engine can compute it\", suspect the memory of the machine, or koto-l3: remove the "
          "node from the run. The trouble lasts as long as the run.",
          "keep the files in compute.dumps, note run and time, and tell the experts", "0s", ""},
         rules::wrong_results},
    kind{{"ledger_missing", at_once, shift,
          "The final ledger of the latest run could not be written. Its folder (`run.ledger`) is "
          "gone, on another disk or full. Its first ledger says that the run has not ended. The "
          "trouble stays until the next run begins. If the text says so, the record of an active "
          "run (`.live`, beside the ledger) is not written.",
          "mount the disk of run.ledger or make room, then begin a run; note the run and its sums "
          "in the log",
          "", "0s"},
         rules::ledger_missing},
    kind{{"device_lost", at_once, node_expert,
          "The process has lost the device for good: an illegal address, a failed launch, an "
          "uncorrectable memory error, or ten tries in vain. The CPU computes, with the same "
          "results. Under a service manager the daemon ends between two spills, no sooner than ten "
          "minutes after its start, when every event is stored or on disk, with exit code 75, and "
          "is started again. With `run.control` it ends between two runs: stop the run (`koto-l3 "
          "run stop`). Events that arrive over UDP during the restart are lost.\n\nKeep the file "
          "in `compute.dumps`, and look at `dmesg` (`NVRM: Xid`) and at the device's memory "
          "(`nvidia-smi -q -d ECC`). If the new process does not get the device either, it "
          "computes on the CPU and says why (`compute.backend = \"auto\"`), or ends with exit code "
          "69 (`\"cuda\"`). If one of several devices fails at the start, the others compute "
          "without it until the next restart (`device … is left out`).",
          "restart the daemon between spills; under a service manager it restarts by itself", "",
          "0s"},
         rules::device_lost},
    kind{{"engine_bypassed", at_once, node_expert,
          "The device failed, or a frame was not computed within `compute.time_limit`. The CPU "
          "computes instead, with the same results. Nothing is lost as long as the CPU keeps up, "
          "except events over UDP that found no frame while the daemon waited for the device ([the "
          "cost of a hang](reliability.md#faults-of-the-compute-side)). The log says why "
          "(`compute: error in batch …`, `hang`, `wrong`) and when the device is tried again. If "
          "it returns, look at `nvidia-smi` and `dmesg`, and set `compute.backend = \"pool\"` to "
          "continue without the device. Keep the file in `compute.dumps` for the experts.",
          "wait: the device is tried again within a minute, and the daemon's log has its error; if "
          "that does not help, restart the daemon between spills",
          "", "2m"},
         rules::engine_bypassed},
    kind{{"engine_fails", with_data, node_expert,
          "The device failed on frames. The CPU computed each of them. It is a warning from the "
          "third frame of a run on.",
          "keep the files in compute.dumps and tell the experts", "", "0s"},
         rules::engine_fails},
    kind{{"backlog_on_disk", at_once, shift,
          "Events wait in `spool.folder`, because the outbox's memory was full. Nothing is lost, "
          "and they survive a crash. The receiver is slower than the input, or was absent. They "
          "get at least a quarter of the link.",
          "check the receiver, its disk, the network and forward.rate", "", "1m"},
         rules::backlog_on_disk},
    kind{{"spool_waits", at_once, shift,
          "No run is active, and events of an earlier run wait on disk for the next one. Nothing "
          "is lost.",
          "begin a run (`koto-l3 run start`) when the receiver is there, until "
          "koto_l3_spool_events is 0",
          "", "10m"},
         rules::spool_waits},
    kind{{"lost_at_run_end", at_once, shift,
          "Events were shed at the end of the latest run, because the receiver had not stored them "
          "in time. The trouble, and `koto_l3_ended_run_lost_events`, stay until the next run has "
          "ended.",
          "set spool.folder, or stop runs when the receiver has stored everything; note the run",
          "", "0s"},
         rules::lost_at_run_end},
    kind{{"events_not_judged", with_data, detector,
          "More than one in a hundred events cannot be judged: they have more hits or clusters "
          "than there is room for, or boards that cannot be decoded. Lines that ask for photons "
          "or counters do not judge the former; the line `overfull` keeps a few. Noise, a hot "
          "crate or a wrong calibration makes hits.",
          "check the detector first, then the thresholds of the selection", "", "0s"},
         rules::events_not_judged},
    kind{{"hot_inputs", at_once, detector,
          "Inputs have a pulse in more than half of their waveforms (`histograms.hot_above`), and "
          "five times as often as the median input of their counter. Such an input makes a crystal "
          "or a hit in most events, so lines refuse events that they should keep: decide soon. "
          "`hot_inputs` of `/status` names up to a hundred. Until an input is repaired, a line "
          "`0/3/7,,,,1` in the table of `selection.calibration` removes it from the next run on "
          "([selection](selection.md#hot-inputs)). If many are hot, look for what they share: a "
          "crate, its voltage, a wrong threshold, LEDs that flash in the spill. The state ends "
          "with the first spill without hot inputs.",
          "tell the detector's expert", "", "30s"},
         rules::hot_inputs},
    kind{{"inputs_changed", at_once, detector,
          "Pedestal, noise, occupancy or time of inputs, or the share of events in which they are "
          "read out, differ from the reference run (`histograms.reference`) by more than "
          "statistics and a limit allow ([selection](selection.md#histograms)). No event is lost, "
          "but the selection may decide wrongly.\n\n* All inputs of one crate: look at that crate, "
          "its power, its clock or its firmware.\n* Single inputs: look at their detector "
          "channels.\n* All inputs: the reference may be of a run with other conditions.\n* `not "
          "in the reference` and `only in the reference`: a crate has another number or other "
          "boards.\n\nHistograms begin with the run, so the state may last until the next.",
          "tell the detector's expert; if the detector was changed on purpose, make a new "
          "reference from a good run with `koto-l3 histograms URL --save FILE`",
          "", "30s"},
         rules::inputs_changed},
    kind{{"histograms_changed", at_once, detector,
          "Histograms of events (energies, multiplicities, vertex, π⁰ mass) differ from those of "
          "the reference run (`histograms.reference`) by more than statistics and a limit allow "
          "([selection](selection.md#histograms)). Changed inputs are the most frequent cause. If "
          "`calorimeter_energy` and `photon_energy` moved together, the gain of all crystals "
          "changed: high voltage, temperature, or `selection.calibration`. If only multiplicities "
          "moved, the trigger or the beam's intensity changed. The state may stay until the next "
          "run.",
          "check inputs_changed first, then compare selection.calibration and the conditions of "
          "both runs, and tell the detector's expert",
          "", "30s"},
         rules::histograms_changed},
    kind{{"duplicates", with_data, level_2,
          "Fragments of events that were already accepted came again, and were dropped: a sender "
          "connected again, a file was given twice, or another sender uses the same numbers. With "
          "the same bytes nothing is lost.",
          "if no sender was interrupted, find out which senders are in the run", "", "30s"},
         rules::duplicates},
    kind{{"crashed_before", at_once, node_expert,
          "The run before this start did not end properly: see \"After a crash\". The trouble "
          "lasts ten minutes.",
          "note the run, the time and the numbers in the log, and find out why it ended", "", "0s"},
         rules::crashed_before},
    kind{{"reload_refused", at_once, node_expert,
          "A changed configuration has a mistake; the one before stays active. The log lines that "
          "begin with `reload:` name file, line and mistake.",
          "correct the file and reload again", "", "0s"},
         rules::reload_refused},
    kind{{"farm_not_one_run", at_once, shift,
          "A node is in another run than the farm, or in none. Data from level 2 go to that run, "
          "or are dropped and counted. It is critical on the node that could not join.",
          "`koto-l3 run status` names the nodes with the reason: correct it, then begin a new run "
          "on all nodes; perhaps somebody used --here on purpose",
          "30s", "1m"},
         rules::farm_not_one_run},
    kind{{"farm_cut_off", at_once, node_expert,
          "This daemon cannot use etcd: runs cannot begin or end on all nodes. The active run goes "
          "on, and nothing is lost.",
          "look at the lines `farm: …` in the log, at etcd and the network", "", "30s"},
         rules::farm_cut_off},
    kind{{"farm_node_missing", at_once, shift,
          "A node that joined the farm is not connected to etcd: it died, or is cut off. A start "
          "is refused until it is back.",
          "check its service and its connection to etcd, or begin the run with `--without NODE`",
          "", "30s"},
         rules::farm_node_missing},
    kind{{"no_data", at_once, shift,
          "A run is active, and no data came for five minutes. Without beam this is normal.",
          "with beam, ask the level-2 expert whether level 2 sends to this node's addresses", "",
          ""},
         rules::no_data},
};

} // namespace

std::span<const trouble_kind<metrics_snapshot>> daemon_troubles() { return kinds; }

std::string state_text(const metrics_snapshot& s) {
  std::string text(name_of(s.state.now));
  auto names = s.troubles.degraded();
  if (names.empty()) return text;
  std::ranges::sort(names); // their order changes often
  return text + fmt::format("; {}: {}", s.troubles.level(), fmt::join(names, " "));
}

void trouble_watch::look(metrics_snapshot& s, time_point now, double wall) {
  const auto data = [](const metrics_snapshot& of) {
    return of.account.datagrams.received + of.run.datagrams_without_run;
  };
  const bool came = data(s) != data(before_);
  if (s.account.sessions != before_.account.sessions) before_ = {}; // counts start from 0
  s.time = wall;
  board_.look(daemon_troubles(), before_, s, came, now, wall);
  for (const trouble_board::line& line : board_.news()) log_line(line.level, line.text);
  before_ = s;
  s.troubles = board_.list();
  if (const std::string text = state_text(s); changes_.empty() || changes_.back().text != text) {
    changes_.push_back({wall, text});
    if (changes_.size() > most_changes) changes_.pop_front();
  }
  s.changes.assign(changes_.begin(), changes_.end());
}

} // namespace l3
