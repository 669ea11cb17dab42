# SPDX-License-Identifier: Apache-2.0
"""R28: eight nodes behind one replay client that sends by turns, and one receiver or two. One node is slow, one dies and comes back, one
dies and stays away. Over TCP nothing may be missing. Over UDP the events are missing that level 2 gave to a dead node behind the last one that
the receiver named, and no other; the receiver's log, status and page must agree on it."""
import re
import time

import farm
import harness
import ledgers
from table import Row

NODES, SLOW, RETURNS, DIES = 8, 2, 3, 5
NAMED = re.compile(r"node (\d+) of run (\d+) after event (\d+) of spill (\d+)")
NAMED_WITHIN = 3  # s
LAG = 1  # s, of the slow node


class Day:
    """One run of the farm."""

    def __init__(self, findings, plan, over, by, receivers):
        self.findings, self.over, self.by = findings, over, by
        self.spills, self.events, self.rate = plan.pick((24, 40, 100), (48, 50, 200))
        self.farm = farm.Farm(NODES, receivers)
        self.slow, self.returns, self.dies = (self.farm.nodes[n - 1] for n in (SLOW, RETURNS, DIES))

    def run(self):
        with self.farm as f:
            f.write_events(self.spills, self.events)
            f.begin()
            self.slow.send_at(farm.SLOW)
            self.replay = f.start_replay(self.over, self.rate, "--by", self.by, *(("--end-delay", 100) if self.over == "udp" else ()))
            # Each is killed in the middle of a spill that it takes.
            self.kill(self.returns, self.events // 2)
            self.returns.begin().daemon.ready()
            self.kill(self.dies, self.events + self.events // 4)
            if not self.replay.running():
                raise AssertionError("replay had ended before the last fault: this would prove less than it says")
            if not harness.SANITIZED:  # then the cable is faster than what comes
                harness.wait_until(lambda: self.slow.receiver.of(SLOW)["lag"] > LAG, "the slow node to be seen as slow")
            self.slow.send_at(farm.FAST)
            code = self.replay.wait()
            self.findings.equal("events sent", self.replay.ledger()["events"]["admitted"], self.spills * self.events)
            if self.over == "tcp":  # over UDP replay reports the closed ports of the dead node
                self.findings.equal("exit code of replay", code, 0)
            self.findings.see("events sent", self.spills * self.events)
            self.look_at_the_page()
            f.stop(self.findings, but=self.dies)
            self.compare()

    def kill(self, node, events):
        harness.wait_until(lambda: node.receiver.of(node.number).get("events", 0) >= events, f"{events} events of node {node.number}")
        node.daemon.kill()
        begun = time.monotonic()
        run, event, spill = harness.wait_until(lambda: self.named(node), f"the receiver to name node {node.number}")
        self.findings.time("named", time.monotonic() - begun, NAMED_WITHIN)
        self.findings.inject("kill −9", 1)
        self.findings.equal(f"run of node {node.number}", run, farm.RUN)
        node.after = (spill, event)

    def named(self, node):
        return next(([int(n) for n in numbers] for who, *numbers in NAMED.findall(node.receiver.program.said()) if int(who) == node.number), None)

    def look_at_the_page(self):
        """It has what the log said, and that one is back. A busy machine, or the slow cable, may keep a node that lives silent for
        two seconds: it has to be taken back."""
        harness.wait_until(lambda: self.missing_nodes() == [DIES], lambda: f"node {DIES} alone to be missing, not {self.missing_nodes()}")
        parts = {int(p["node"]): p for r in self.farm.receivers for p in r.status()["missing"]}
        self.findings.equal("nodes that lack something, and whether they are back",
                            {number: part["back_after"] is not None for number, part in parts.items()}, {RETURNS: True, DIES: False})
        for node in (self.returns, self.dies):
            part, (spill, event) = parts[node.number], node.after
            self.findings.equal(f"where node {node.number} breaks off", (part["run"], part["after"]["spill"], part["after"]["event"]),
                                (farm.RUN, spill, event))
            self.findings.check(f"event {event} of spill {spill}" in node.receiver.get("/"), f"the page does not name what node {node.number} lacks")
            before = part["before"]
            node.before = (before["spill"], before["event"]) if before else None

    def missing_nodes(self):
        return [n.number for n in self.farm.nodes if n.receiver.of(n.number).get("state") == "missing"]

    def compare(self):
        """A receiver stores an event once, whichever nodes bring it. The other receiver does not know: what a node's receiver had stored when
        it died, and replay had not been told, is in both stores."""
        f, may_miss = self.farm, set()
        found = ledgers.compare(f.sent, *(r.store for r in f.receivers))
        handed_on = re.search(r"handed on +(\d+)", self.replay.said())
        most = int(handed_on[1]) if handed_on and len(f.receivers) > 1 else 0
        self.findings.check(len(found.repeated) <= most, f"{len(found.repeated)} events are in both stores, of {most} that were handed on")
        for node in (self.returns, self.dies) if self.over == "udp" else ():
            share = f.share(self.by, node)
            lacks = share[share.index(node.after) + 1:share.index(node.before) if node.before else len(share)]
            self.findings.equal(f"missing of node {node.number}, and what was named", sorted(found.missing & set(share)), sorted(lacks))
            may_miss.update(lacks)
        self.findings.see("missing", len(found.missing))
        self.findings.none(found.faults(may_miss))


def row(over, by, receivers):
    promise = f"{NODES} nodes by {by} over {over.upper()}, {receivers} receiver{'s' * (receivers > 1)}: one slow, one dies and comes back, one dies"
    bar = "0 missing" if over == "tcp" else "missing = what was named of the dead"
    return Row(f"{over}-{by}-{receivers}", promise, f"{bar}; named in {NAMED_WITHIN} s",
               lambda plan: [lambda findings, plan: Day(findings, plan, over, by, receivers).run()],
               long=(over, by, receivers) not in (("udp", "event", 1), ("tcp", "spill", 2)))


ROWS = [row(over, by, receivers) for over in ("udp", "tcp") for by in ("event", "spill") for receivers in (1, 2)]
