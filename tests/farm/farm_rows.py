# SPDX-License-Identifier: Apache-2.0
"""Eight nodes behind one replay client that sends by turns, and one receiver or two. One node is slow, one dies and comes back, one dies and
stays away. Nothing but what was in flight on the dead ones may be missing, over TCP nothing, and the receiver must name it by run, spill
and node. Then four daemons that begin runs together by etcd (together_rows.py)."""
import re
import time

import farm
import harness
import ledgers
import together_rows
from table import Row

NODES, SLOW, RETURNS, DIES = 8, 2, 3, 5
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
            f.start()
            self.slow.send_at(farm.SLOW)
            end = ("--end-delay", 100) if self.over == "udp" else ()
            replay = self.replay = f.start_replay(self.over, self.rate, "--by", self.by, *end)
            # Each is killed in the middle of a spill that it takes.
            self.kill(self.returns, self.events // 2)
            self.returns.begin().daemon.ready()
            self.kill(self.dies, self.events + self.events // 4)
            if not replay.running():
                raise AssertionError("replay had ended before the last fault: this would prove less than it says")
            if not harness.SANITIZED:  # then the cable is faster than what comes
                harness.wait_until(lambda: self.slow.receiver.of(SLOW)["lag"] > LAG, "the slow node to be seen as slow")
            self.slow.send_at(farm.FAST)
            self.finish(replay)
            self.look_at_the_page()
            f.stop(self.findings, but=[self.dies])
            self.compare()

    def kill(self, node, events):
        harness.wait_until(lambda: node.receiver.of(node.number).get("events", 0) >= events, f"{events} events of node {node.number}")
        node.daemon.kill()
        node.taken = node.datagrams()
        begun = time.monotonic()
        named = harness.wait_until(lambda: self.named(node), f"the receiver to name node {node.number}")
        self.findings.time("named", time.monotonic() - begun, NAMED_WITHIN)
        self.findings.inject("kill −9", 1)
        run, event, spill = named
        self.findings.equal(f"run of node {node.number}", run, farm.RUN)
        node.after = (spill, event)

    def named(self, node):
        for who, *numbers in farm.NAMED.findall(node.receiver.program.said()):
            if int(who) == node.number:
                return [int(n) for n in numbers]
        return None

    def finish(self, replay):
        code = replay.wait()
        self.findings.equal("events sent", replay.ledger()["events"]["admitted"], self.spills * self.events)
        if self.over == "tcp":  # over UDP it says that nobody listened on the dead node
            self.findings.equal("exit code of replay", code, 0)
        self.findings.see("events sent", self.spills * self.events)

    def look_at_the_page(self):
        """It has what the log said, and that one is back. A busy machine, or the slow cable, may keep a node that lives silent for
        two seconds: it has to be taken back."""
        harness.wait_until(lambda: self.missing_nodes() == [DIES], lambda: f"node {DIES} alone to be missing, not {self.missing_nodes()}")
        parts = {int(p["node"]): p for r in self.farm.receivers for p in r.status()["missing"]}
        self.findings.equal("nodes that lack something", sorted(parts), [RETURNS, DIES])
        for node in (self.returns, self.dies):
            after = parts[node.number]["after"]
            self.findings.equal(f"where node {node.number} breaks off", (after["spill"], after["event"]), node.after)
            self.findings.equal(f"run that node {node.number} lacks", parts[node.number]["run"], farm.RUN)
            page = node.receiver.get("/")
            self.findings.check(f"event {node.after[1]} of spill {node.after[0]}" in page, f"the page does not name what node {node.number} lacks")
        self.findings.check(parts[RETURNS]["back_after"] is not None, "a node that came back is not said to be back")
        self.findings.check(parts[DIES]["back_after"] is None, "a node that is dead is said to be back")
        before = parts[RETURNS]["before"]
        self.returns.before = (before["spill"], before["event"]) if before else None

    def missing_nodes(self):
        return [n.number for n in self.farm.nodes if n.receiver.of(n.number).get("state") == "missing"]

    def compare(self):
        f = self.farm
        found = ledgers.compare(f.sent, *(r.store for r in f.receivers))
        self.judge_repeated(found.repeated)
        may_miss = set()
        if self.over == "udp":
            for node in (self.returns, self.dies):
                share = f.share(self.by, node)
                end = share.index(node.before) if getattr(node, "before", None) else len(share)
                lacks = share[share.index(node.after) + 1:end]
                self.findings.equal(f"missing of node {node.number}, and what was named", sorted(found.missing & set(share)), sorted(lacks))
                may_miss.update(lacks)
                lost = f.events_in(share, node.taken) - share.index(node.after) - 1
                self.judge_lost(node, lost)
                self.findings.see("missing of a dead node's memory", lost)
            self.findings.see("never taken by a dead node", len(found.missing) - self.findings.seen["missing of a dead node's memory"])
        else:
            self.findings.see("missing", len(found.missing))
        self.findings.none(found.faults(may_miss=may_miss))

    def judge_repeated(self, repeated):
        """A receiver stores an event once, whichever nodes bring it. The other receiver does not know: what a node's receiver had
        stored when it died, and replay had not been told, is in both stores."""
        handed_on = re.search(r"handed on +(\d+)", self.replay.said())
        most = int(handed_on.group(1)) if handed_on and len(self.farm.receivers) > 1 else 0
        self.findings.see("in both stores", len(repeated))
        self.findings.check(len(repeated) <= most, f"{len(repeated)} events are stored twice, of {most} that were handed on to a node of another receiver")

    def judge_lost(self, node, lost):
        """What was in the memory of a dead node is no more than fits there, and, where times are judged, than it takes in a second."""
        self.findings.check(lost >= 0, f"node {node.number} has stored more than it took")
        its = int(float(re.search(r"([\d.]+) MB in all", node.daemon.said()).group(1)) * 1e6)
        self.findings.check(lost * sum(map(len, self.farm.sent.fragments(1, 1))) <= its, f"node {node.number} has lost {lost} events, more than fit into its memory")
        at_once = self.rate // NODES if self.by == "event" else self.events
        self.findings.time(f"events lost of node {node.number}, in seconds of what it takes,", lost / at_once, 1)


def row(name, over, by, receivers):
    promise = f"{NODES} nodes by {by} over {over.upper()}, {receivers} receiver{'s' * (receivers > 1)}: one slow, one dies and comes back, one dies"
    bar = "0 missing" if over == "tcp" else "missing = what was named of the dead"
    return Row(name, promise, f"{bar}; named in {NAMED_WITHIN} s", lambda plan: [lambda findings, plan: Day(findings, plan, over, by, receivers).run()])


KINDS = [(over, by, receivers) for over in ("udp", "tcp") for by in ("event", "spill") for receivers in (1, 2)]
ROWS = [row(f"{over}-{by}-{receivers}", over, by, receivers) for over, by, receivers in KINDS] + together_rows.SHORT + together_rows.LONG
SHORT = ("udp-event-1", "tcp-spill-2", *(r.name for r in together_rows.SHORT))
