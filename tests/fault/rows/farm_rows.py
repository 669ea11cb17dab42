# SPDX-License-Identifier: Apache-2.0
"""R28: eight nodes behind one replay client that sends by turns, and one receiver or two. One node is slow, one dies and comes back, one
dies and stays away. Over TCP nothing may be missing. Over UDP the events are missing that level 2 gave to a dead node behind the last one that
the receiver named, and no other; the receiver's log, status and page must agree on it."""
import functools
import re
import time

import farm
import harness
import namespaces
from scenario import Scenario, nothing
from table import Row

NODES, SLOW, RETURNS, DIES = 8, 2, 3, 5
NAMED = re.compile(r"node (\d+) of run (\d+) after event (\d+) of spill (\d+)")
NAMED_WITHIN = 3  # s
LAG = 1  # s, of the slow node


def one_is_slow(run):
    run.slow, run.returns, run.dies = (run.nodes[n - 1] for n in (SLOW, RETURNS, DIES))
    run.slow.send_at(farm.SLOW)


def two_die(run):
    """Each is killed in the middle of a spill that it takes."""
    events = run.scenario.events
    kill(run, run.returns, events // 2)
    run.returns.begin().daemon.ready()
    kill(run, run.dies, events + events // 4)
    run.findings.check(run.replay.running(), "replay had ended before the last fault: this proves less than it says")
    if not harness.SANITIZED:  # then the cable is faster than what comes
        harness.wait_until(lambda: run.slow.receiver.of(SLOW)["lag"] > LAG, "the slow node to be seen as slow")
    run.slow.send_at(farm.FAST)
    run.finish_replay()
    look_at_the_page(run)


def kill(run, node, events):
    harness.wait_until(lambda: node.receiver.of(node.number).get("events", 0) >= events, f"{events} events of node {node.number}")
    node.daemon.kill()
    begun = time.monotonic()
    number, event, spill = harness.wait_until(lambda: named(node), f"the receiver to name node {node.number}")
    run.findings.time("named", time.monotonic() - begun, NAMED_WITHIN)
    run.findings.inject("kill −9", 1)
    run.findings.equal(f"run of node {node.number}", number, farm.RUN)
    node.after = (spill, event)


def named(node):
    return next(([int(n) for n in numbers] for who, *numbers in NAMED.findall(node.receiver.program.said()) if int(who) == node.number), None)


def look_at_the_page(run):
    """It has what the log said, and that one is back. A busy machine, or the slow cable, may keep a node that lives silent for
    two seconds: it has to be taken back."""
    def missing():
        return [n.number for n in run.nodes if n.receiver.of(n.number).get("state") == "missing"]
    harness.wait_until(lambda: missing() == [DIES], lambda: f"node {DIES} alone to be missing, not {missing()}")
    parts = {int(p["node"]): p for r in run.receivers for p in r.status()["missing"]}
    run.findings.equal("nodes that lack something, and whether they are back",
                       {number: part["back_after"] is not None for number, part in parts.items()}, {RETURNS: True, DIES: False})
    for node in (run.returns, run.dies):
        part, (spill, event) = parts[node.number], node.after
        run.findings.equal(f"where node {node.number} breaks off", (part["run"], part["after"]["spill"], part["after"]["event"]),
                           (farm.RUN, spill, event))
        run.findings.check(f"event {event} of spill {spill}" in node.receiver.get("/"), f"the page does not name what node {node.number} lacks")
        before = part["before"]
        node.before = (before["spill"], before["event"]) if before else None


def as_named(by):
    def lost(run):
        may_miss = set()
        for node in (run.returns, run.dies):
            share = run.share(by, node)
            lacks = share[share.index(node.after) + 1:share.index(node.before) if node.before else len(share)]
            run.findings.equal(f"missing of node {node.number}, and what was named", sorted(run.found.missing & set(share)), sorted(lacks))
            may_miss.update(lacks)
        return may_miss
    return lost


def all_was_sent(run):
    run.findings.equal("events sent", run.replay_ledger["events"]["admitted"], len(run.keys))
    run.findings.see("missing", len(run.found.missing))


def row(over, by, receivers):
    def scenario(plan):
        spills, events, rate = plan.pick((24, 40, 100), (48, 50, 200))
        end_delay = ("--end-delay", 100) if over == "udp" else ()
        yield Scenario(over=over, rate=rate, spills=spills, events=events, to_the_end=True, replay=("--by", by, *end_delay),
                       machines=namespaces.Machines, stage=functools.partial(farm.Farm, nodes=NODES, receivers=receivers), prepare=one_is_slow,
                       fault=two_die, lost=as_named(by) if over == "udp" else nothing, judge=all_was_sent)
    promise = f"{NODES} nodes by {by} over {over.upper()}, {receivers} receiver{'s' * (receivers > 1)}: one slow, one dies and comes back, one dies"
    bar = "0 missing" if over == "tcp" else "missing = what was named of the dead"
    return Row(f"{over}-{by}-{receivers}", promise, f"{bar}; named in {NAMED_WITHIN} s", scenario,
               long=(over, by, receivers) not in (("udp", "event", 1), ("tcp", "spill", 2)))


ROWS = [row(over, by, receivers) for over in ("udp", "tcp") for by in ("event", "spill") for receivers in (1, 2)]
