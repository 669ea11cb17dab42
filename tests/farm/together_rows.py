# SPDX-License-Identifier: Apache-2.0
"""Rows of `./run farm-test`: four daemons that are a farm by a real etcd. What goes wrong with etcd or with a node never costs an event
that a node has taken, and a run begins on all nodes or on none."""
import collections
import json
import random
import threading
import time

import chain
import harness
import namespaces
import own_etcd
import preload
import store_reader
from table import Row
from together_stage import TogetherStage

NODES = 4
LEASE = 10  # s
HOUR = 3600


class Farm(TogetherStage):
    def __init__(self, findings):
        if not own_etcd.there():
            raise chain.Skipped("no etcd on this machine (Debian: etcd-server)")
        self.network, self.findings, self.sent, self.beam = namespaces.Machines(), findings, {}, None
        self.set_up_stage()
        self.set_up_farm(NODES)

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if self.beam:
            self.beam.end()
        self.stop_programs()
        self.end_relays()
        if kind is not None:
            self.say_what_they_said()
        self.leave_stage()
        self.network.close()

    def begin_run(self, number, node=0, nodes=None):
        self.findings.equal("answer to a start", self.nodes[node].start(number=number)[0], 202)
        self.wait_for_run(number, nodes)

    def refused(self, answer, text):
        """What a start that cannot be says; and no node has begun it."""
        status, body = answer
        said = "; ".join(body.get("reasons", ()))
        self.findings.check(status == 409 and text in said, f"a start was answered with {status} {said or body}, not '{text}'")

    def send(self, node, events):
        self.spill = getattr(self, "spill", 0) + 1
        for key, fragments in node.send(self.spill, events).items():
            self.sent[key] = fragments

    def finish(self, but=()):
        """Every event that a node was sent in a run is stored, once, each byte."""
        for node in self.nodes:
            if node not in but:
                harness.wait_until(lambda n=node: n.daemon.status()["events"]["in_flight"] == 0, "nothing in flight")
                self.findings.equal(f"exit code of node {node.number}", node.daemon.stop(), 0)
                self.findings.none(f"node {node.number}: {text}" for f in node.ledgers.glob("run*.json") for text in
                                   chain.unbalanced(json.loads(f.read_text())))
        found = {(e.spill, e.number): e for e in store_reader.events_of(self.store, True)}
        self.findings.equal("events stored", sorted(found), sorted(self.sent))
        self.findings.check(all(found[k].fragments == dict(enumerate(f)) for k, f in self.sent.items() if k in found), "bytes differ")
        self.findings.see("events stored", len(found))
        self.findings.see("missing", len(self.sent.keys() - found.keys()))


class Beam(threading.Thread):
    """To every node, event by event in turn: spills of a second, and pauses, or without pauses."""

    def __init__(self, farm, pause, events=100):
        super().__init__(daemon=True)
        self.farm, self.pause, self.events, self.ended, self.spills = farm, pause, events, False, 0
        farm.beam = self
        self.start()

    def run(self):
        f = self.farm
        makers = [harness.level2.EventMaker(f.crates, 9) for _ in f.nodes]
        senders = [harness.UdpSender(f.crates, harness.HOST, n.ports.udp, harness.UDP_PORTS, f.chunk_bytes) for n in f.nodes]
        while not self.ended:
            self.spills += 1
            for number in range(1, self.events + 1):
                i = number % len(senders)
                senders[i].event(self.spills, number, makers[i].fragments(self.spills, number))
                time.sleep(1 / self.events)
                if self.ended and not self.pause:
                    break
            for i, sender in enumerate(senders):
                sender.end(self.spills, sum(n % len(senders) == i for n in range(1, self.events + 1)))
            time.sleep(self.pause)
        for sender in senders:
            sender.close()

    def end(self):
        self.ended = True
        self.join()


def one_is_cut_off(findings, plan):
    with Farm(findings) as f:
        f.start_farm()
        f.begin_run(1)
        cut = f.nodes[3]
        cut.relay.held = True
        findings.inject("nodes cut off from etcd", 1)
        begun = time.monotonic()
        f.refused(f.nodes[0].start(), "node 4 did not answer within 6 s")
        findings.time("refused", time.monotonic() - begun, 8)
        f.send(cut, 20)
        harness.wait_until(lambda: cut.run()["farm"]["state"] == "cut_off", "the node to say that it is cut off")
        begun = time.monotonic()
        missing = harness.wait_until(lambda: [n for n in f.nodes[0].run()["farm"]["nodes"] if n["stands"] == "missing"], "a missing node")
        findings.time("missing", time.monotonic() - begun, LEASE + 2)
        findings.equal("missing node", [n["node"] for n in missing], [4])
        f.refused(f.nodes[0].start(), "node 4 is missing: its daemon does not speak to etcd")
        findings.check(all(n.is_in(1) for n in f.nodes), "a refused start has changed a run")
        said = f.nodes[1].tool("start", "--without", "4", "--wait")
        findings.check(said.returncode == 0, f"a start without it ends with {said.returncode}: {said.stderr}")
        f.wait_for_run(2, f.nodes[:3])
        findings.check(cut.is_in(1), "the node that is cut off has left its run")
        cut.relay.held = False
        f.wait_for_run(2)  # it follows
        f.wait_for_members()
        f.send(cut, 20)
        cut.daemon.wait_for_stored(20)
        f.finish()


def one_dies_in_between(findings, plan):
    with Farm(findings) as f:
        f.start_farm()
        f.begin_run(1)
        Beam(f, pause=0)  # so that the order waits for a pause
        harness.wait_until(lambda: f.nodes[0].daemon.status()["events"]["admitted"] > 0, "beam")
        time.sleep(1)
        status, body = f.nodes[0].start(number=2)
        findings.equal("answer to a start", status, 202)
        dead = f.nodes[2]
        dead.daemon.kill()
        findings.inject("kill −9 of a node that was ready", 1)
        begun = time.monotonic()
        harness.wait_until(lambda: f.nodes[0].run()["farm"]["failure"], "the start to come to nothing")
        findings.time("withdrawn", time.monotonic() - begun, LEASE + 3)
        findings.equal("failure", f.nodes[0].run()["farm"]["failure"], "run 2: node 3 has left, or died, while the run was prepared")
        f.beam.end()
        time.sleep(1)
        findings.check(all(n.is_in(1) for n in f.nodes if n is not dead), "a node has begun a run that not all could begin")
        findings.check("run/order" not in f.etcd.keys(), "the order is still there")
        dead.begin()
        f.wait_for_run(1)  # that of the farm
        # The one that was asked dies: its order ends by itself.
        Beam(f, pause=0)
        time.sleep(2)
        findings.equal("answer to a start", f.nodes[3].start(number=2)[0], 202)
        f.nodes[3].daemon.kill()
        findings.inject("kill −9 of the node that was asked", 1)
        f.refused(f.nodes[0].start(number=3), "run 2 is under way, for which node 4 was asked")
        begun = time.monotonic()
        harness.wait_until(lambda: "run/order" not in f.etcd.keys(), "the order to be gone")
        findings.time("gone", time.monotonic() - begun, 32)
        f.beam.end()
        findings.check(all(n.is_in(1) for n in f.nodes[:3]), "a node has begun a run whose order did not hold")
        f.nodes[3].begin()
        f.wait_for_members()
        f.begin_run(4)
        findings.see("runs begun on some nodes only", 0)


def leases_run_out(findings, plan):
    with Farm(findings) as f:
        f.start_farm()
        f.begin_run(1)
        for node in f.nodes:
            node.relay.held = True
        findings.inject("leases that ran out", NODES)
        harness.wait_until(lambda: not any(k.startswith("members/") for k in f.etcd.keys()), "all leases to run out")
        for node in f.nodes:
            f.send(node, 20)
        for node in f.nodes:
            node.relay.held = False
        f.wait_for_members()
        findings.check(all(n.is_in(1) for n in f.nodes), "a run has ended with a lease")
        said = [n.daemon.said().count("etcd has taken this node for dead, or lost what it had; it joins again") for n in f.nodes]
        findings.equal("lines that say so", said, [1] * NODES)
        f.begin_run(2)
        # As slow as it may be, and slower.
        for node in f.nodes:
            node.relay.delay = 0.2
        begun = time.monotonic()
        f.begin_run(3)
        findings.time("a start by a slow etcd", time.monotonic() - begun, 20)
        for node in f.nodes:
            node.relay.delay = 2
        findings.inject("an etcd slower than 1.5 s", 1)
        harness.wait_until(lambda: f.nodes[0].run()["farm"]["state"] == "cut_off", "cut_off")
        f.refused(f.nodes[0].start(), "no answer within 1.5 s")
        for node in f.nodes:
            node.relay.delay = 0
            f.send(node, 20)
        f.wait_for_members()
        f.finish()


def at_a_border(findings, plan):
    """Starts at any moment of spills: no spill is of two runs."""
    with Farm(findings) as f:
        f.start_farm()
        f.begin_run(1)
        Beam(f, pause=2.5)
        run, chance = 1, random.Random(plan.seed)
        for _ in range(plan.pick(1, 6)):
            time.sleep(chance.uniform(0, 4))
            run += 1
            f.findings.equal("answer to a start", f.nodes[run % NODES].start(number=run)[0], 202)
            f.wait_for_run(run)
            findings.inject("runs begun in the beam", 1)
        last = f.beam.spills
        harness.wait_until(lambda: f.beam.spills > last + 1, "a whole spill of the last run")
        f.beam.end()
        time.sleep(1)
        for node in f.nodes:
            harness.wait_until(lambda n=node: n.daemon.status()["events"]["in_flight"] == 0, "nothing in flight")
            findings.equal(f"exit code of node {node.number}", node.daemon.stop(), 0)
        runs, keys = collections.defaultdict(set), set()
        for block in store_reader.read_store(f.store):
            for event in block.events:
                runs[event.spill].add(block.run)
                keys.add((event.spill, event.number))
        findings.none(f"spill {spill} is of runs {sorted(of)}" for spill, of in sorted(runs.items()) if len(of) != 1)
        wanted = {(s, n) for s in range(1, f.beam.spills + 1) for n in range(1, f.beam.events + 1)}
        findings.see("missing", len(wanted - keys))
        findings.equal("events stored", len(wanted - keys), 0)
        findings.see("spills", len(runs))
        findings.equal("runs seen", set().union(*runs.values()), set(range(1, run + 1)))


def clocks_jump(findings, plan):
    with Farm(findings) as f:
        shift = preload.Numbers(f.folder / "shift", 1)
        f.start_farm(preload.environment(f, "clock_shift", KOTO_L3_CLOCK_SHIFT=shift.path))
        for run, hours in enumerate((1, -1, 24 * 365 * 10, 0), 1):
            shift.set(0, hours * HOUR)
            findings.inject("jumps of the clock, 1 h to 10 y", 1)
            time.sleep(1)
            f.begin_run(run, node=run % NODES)
            f.send(f.nodes[0], 20)
            f.nodes[0].daemon.wait_for_stored(20)
        joined = [n.daemon.said().count("has joined") for n in f.nodes]
        findings.equal("times that each joined", joined, [1] * NODES)
        f.finish()


ROWS = [
    Row("etcd-cut", "one node cannot reach etcd: no run begins until it is left out; it follows when it is back", "0 missing", lambda plan: [one_is_cut_off]),
    Row("etcd-death", "a node, or the one that was asked, dies while a run is prepared: none begins it", "0 runs begun on some nodes only",
        lambda plan: [one_dies_in_between]),
    Row("etcd-leases", "leases run out while their daemons live, etcd is slow: the run goes on", "0 missing", lambda plan: [leases_run_out]),
    Row("etcd-border", "runs begin at the border of a spill on all nodes", "no spill of two runs, 0 missing", lambda plan: [at_a_border]),
    Row("etcd-clock", "clocks jump: nothing happens", "0 missing", lambda plan: [clocks_jump]),
]
