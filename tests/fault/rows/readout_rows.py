# SPDX-License-Identifier: Apache-2.0
"""R32: the whole readout, 284 boards and 590 kB an event, at a rate that two shared cores carry, with the selection that is shipped. The
outbox is small, so that what waits for a receiver overflows to the disk. The events that the selection keeps, and no other, must be stored,
each bit; which these are is computed here from the lines that fired and the hash of docs/formats.md, section 7."""
import ledgers
import level2
import store_reader
from scenario import Scenario
from table import Row

RUN, CHUNK = 7, 8000
EVENTS = 16  # of a spill: simulated once, and sent spill after spill
DAEMON = {"frames": {"count": 4, "events": 8}, "outbox": {"memory": "4 MiB", "block": "512 KiB"}, "selection": {"lines": "built-in"},
          "spool": {"segment": "16 MiB", "size": "256 MiB"}}


def simulated(run):
    """Events as `koto-l3 simulate` makes them, and the lines that fire on each."""
    run.crate_lines, run.crates, run.chunk_bytes = level2.KOTO, level2.readout(level2.KOTO), CHUNK
    run.datagrams = ledgers.Datagrams(run.crates, CHUNK)
    run.sent_file = run.folder / "sent.l2raw"
    code, said = run.run_tool("simulate", run.sent_file, "--events", EVENTS, "--seed", run.plan.seed, "--run", RUN)
    run.findings.equal(f"simulate, which said {said}", code, 0)
    run.sent = ledgers.SentFile(run.sent_file, run.crates, run.scenario.spills)
    answer = run.run_for_json("select", run.sent_file)
    run.lines = {line["line"]: line for line in answer["total"]["lines"]}
    run.fired = {event["event"]: event["fired"] for event in answer["events"]}


def is_kept(run, spill, number):
    return any(store_reader.survives_prescale(RUN, spill, number, run.lines[name]["id"], run.lines[name]["prescale"]) for name in run.fired[number])


def both_killed(run):
    """The receiver, so that events spill, and then the daemon in the middle of it, again and again."""
    for _ in range(run.plan.pick(2, 20)):
        run.wait_for_growth()
        run.kill_receiver()
        run.wait_for(lambda s: s["spool"]["spilled"] > 0 and "spilling" in s["state"]["degraded"], "events that overflow to the disk")
        if run.scenario.over == "tcp":
            run.kill_daemon()
            run.begin_daemon()
        run.begin_receiver()
    run.wait_for_growth()


def rejected(run):
    """The events that no line keeps, and over UDP as many others as the daemon counts."""
    kept = {key for key in run.keys if is_kept(run, *key)}
    stored = run.found.stored
    run.findings.equal("events stored that no line keeps", len(stored - kept), 0)
    run.findings.check(len(kept) > 20, f"only {len(kept)} events are kept: this proves little")
    may_miss = set(run.keys) - kept
    if run.scenario.over == "udp":
        ends = run.ledger["events"]
        run.findings.equal("events sent − forwarded − rejected − shed − incomplete", len(run.keys) - ends["forwarded"] - ends["rejected"] - run.shed - run.incomplete, 0)
        run.findings.equal("events forwarded − stored", ends["forwarded"] - len(stored), 0)
        run.findings.see("incomplete, on a machine without a processor to spare", run.incomplete)
        run.findings.check(len(kept - stored) <= run.incomplete + run.shed, f"{len(kept - stored)} events are missing")
        may_miss |= kept - stored
    run.findings.inject("events of 590 kB sent", len(run.keys))
    run.findings.see("events rejected by the selection", len(set(run.keys) - kept))
    run.findings.see("events that overflowed", run.spilled)
    return may_miss


ROWS = [Row("R32", "the whole readout, receiver and daemon killed while events spill", "0 lost over TCP; 590 kB an event", lambda plan: [
            Scenario("over TCP", over="tcp", rate=plan.pick(150, 150), spills=500, events=EVENTS, prepare=simulated, fault=both_killed, lost=rejected,
                     daemon=DAEMON, replay=("--window", 64)),
            Scenario("over UDP", over="udp", rate=100, spills=500, events=EVENTS, prepare=simulated, fault=both_killed, lost=rejected, daemon=DAEMON)])]
