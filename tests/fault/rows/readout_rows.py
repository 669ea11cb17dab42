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
SPILLS = 500  # each of the same events, which are simulated once
DAEMON = {"frames": {"count": 4, "events": 8}, "outbox": {"memory": "4 MiB", "block": "512 KiB"}, "selection": {"lines": "built-in"},
          "spool": {"segment": "16 MiB", "size": "256 MiB"}}


def simulated(run):
    """Events as `koto-l3 simulate` makes them, and the lines that fire on each."""
    run.crate_lines, run.crates, run.chunk_bytes = level2.KOTO, level2.readout(level2.KOTO), CHUNK
    run.datagrams = ledgers.Datagrams(run.crates, CHUNK)
    run.sent_file = run.folder / "sent.l2raw"
    code, said = run.run_tool("simulate", run.sent_file, "--events", run.scenario.events, "--seed", run.plan.seed, "--run", RUN)
    run.findings.equal(f"simulate, which said {said}", code, 0)
    run.sent = ledgers.SentFile(run.sent_file, run.crates, run.scenario.spills)
    answer = run.run_for_json("select", run.sent_file)
    run.lines = {line["line"]: line for line in answer["total"]["lines"]}
    run.fired = {event["event"]: event["fired"] for event in answer["events"]}


def is_kept(run, spill, number):
    return any(store_reader.survives_prescale(RUN, spill, number, run.lines[name]["id"], run.lines[name]["prescale"]) for name in run.fired[number])


def both_killed(run):
    """The receiver, so that events spill, and then the daemon in the middle of it, again and again."""
    for _ in range(run.plan.pick(2 if run.scenario.over == "tcp" else 1, 20)):
        run.wait_for_growth()
        run.kill_receiver()
        run.wait_for(lambda s: s["spool"]["spilled"] > 0, "events that overflow to the disk")
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
    run.findings.check(len(kept) > 10, f"only {len(kept)} events are kept: this proves little")
    may_miss = set(run.keys) - kept
    if run.scenario.over == "udp":
        ends = run.ledger["events"]
        counted = ends["forwarded"] + ends["rejected"] + run.shed + run.incomplete
        # An event in whose middle replay was interrupted is in its ledger, or not.
        run.findings.check(0 <= counted - len(run.keys) <= 1, f"{len(run.keys)} events sent, {counted} forwarded, rejected, shed or incomplete")
        run.findings.equal("events forwarded − stored", ends["forwarded"] - len(stored), 0)
        run.findings.see("incomplete, on a machine without a processor to spare", run.incomplete)
        run.findings.check(len(kept - stored) <= run.incomplete + run.shed, f"{len(kept - stored)} events are missing")
        may_miss |= kept - stored
    run.findings.inject("events of 590 kB sent", len(run.keys))
    run.findings.see("events rejected by the selection", len(set(run.keys) - kept))
    run.findings.see("events that overflowed", run.spilled)
    return may_miss


def readout(plan):
    load = {"spills": SPILLS, "events": plan.pick(16, 64), "prepare": simulated, "lost": rejected}
    yield Scenario("over TCP", over="tcp", rate=150, fault=both_killed, daemon=DAEMON, replay=("--window", 64), **load)
    yield Scenario("over UDP", over="udp", rate=100, fault=both_killed, daemon=DAEMON, **load)


ROWS = [Row("R32", "the whole readout, receiver and daemon killed while events spill", "0 lost over TCP; 590 kB an event", readout)]
