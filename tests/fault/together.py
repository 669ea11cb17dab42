# SPDX-License-Identifier: Apache-2.0
"""Daemons that are a farm by a real etcd, each at a port of its own of it, with one receiver."""
import json
import re

import chain
import harness
import level2
import namespaces
import own_etcd
import store_reader
from beam import CRATES, Beam


class FarmNode(chain.Node):
    def __init__(self, farm, number):
        super().__init__(farm, number, frames={"count": 4}, outbox={"memory": "32 MiB"}, farm={"etcd": [farm.etcd.urls[number]]})
        self.ledgers = self.folder / "ledgers"
        self.settings["run"] = {"control": str(self.path), "ledger": f"{self.ledgers}/"}
        self.rules = namespaces.Rules(farm.network, None)

    def begin(self, **sections):
        super().begin(**sections).daemon.ready("ready for runs")
        return self

    def cut_off(self):
        """Its connections to etcd stay open, and nothing goes through, as with a cable that is pulled."""
        port = self.chain.etcd.port + self.number
        self.rules.load(f"tcp dport {port} drop", f"tcp sport {port} drop", hook="input", priority="0")

    def join_again(self):
        self.rules.clear()

    def start(self, **order):
        return self.order("start", **order)

    def seen(self):
        """The farm, as this node sees it."""
        return self.run()["farm"]

    def is_in(self, run):
        now = self.run()
        return now["state"] == "running" and now["current"]["number"] == run

    def wait(self, state):
        harness.wait_until(lambda: self.seen()["state"] == state, lambda: f"{state}: {self.seen()}")

    def wait_for_text(self, text):
        harness.wait_until(lambda: re.search(text, self.seen()["text"]), lambda: f"'{text}': {self.seen()}")


class Farm(chain.Chain):
    crates, crate_lines = level2.readout(CRATES), CRATES
    input_host = receiver_host = harness.HOST

    def __init__(self, findings, nodes):
        if not own_etcd.there():
            raise chain.Skipped("no etcd on this machine (Debian: etcd-server)")
        super().__init__(namespaces.Machines())
        self.findings, self.sent, self.beam, self.spill = findings, {}, None, 0
        self.etcd = own_etcd.Etcd(self, harness.Ports().udp, clients=8)
        self.nodes = [FarmNode(self, n + 1) for n in range(nodes)]

    def begin(self, *first):
        """etcd, the receiver and all nodes, which ask the addresses `first` before their etcd."""
        self.etcd.start()
        self.start_receiver()
        for node in self.nodes:
            node.begin(farm={"etcd": [*first, self.etcd.urls[node.number]]})
        self.wait_for_members()

    def begin_beam(self, pause):
        """To every node, event by event in turn: spills of a second, and pauses, or without pauses."""
        self.beam = Beam(self.crates, [node.ports.udp for node in self.nodes], port_count=harness.UDP_PORTS, events=100, rate=100, pause=pause)
        self.ending.callback(self.beam.end)

    def wait_for_members(self, nodes=None):
        wanted = sorted(n.number for n in nodes or self.nodes)

        def complete(farm):
            return farm["state"] == "joined" and sorted(n["node"] for n in farm["nodes"] if n["stands"] != "missing") == wanted
        for node in nodes or self.nodes:
            harness.wait_until(lambda: complete(node.seen()), lambda: f"node {node.number} to see {wanted}: {node.seen()}")

    def wait_for_run(self, run, nodes=None):
        for node in nodes or self.nodes:
            harness.wait_until(lambda: node.is_in(run), lambda: f"node {node.number} in run {run}: {node.run()}")

    def begin_run(self, number, node=0, nodes=None, **order):
        self.findings.equal("answer to a start", self.nodes[node].start(number=number, **order)[0], 202)
        self.wait_for_run(number, nodes)

    def order(self, code, node, *arguments, says=""):
        """By the command."""
        said = self.nodes[node].tool(*arguments, "--wait")
        self.findings.equal(f"koto-l3 run {' '.join(arguments)}, which said {said.stdout}{said.stderr}", said.returncode, code)
        self.findings.check(says in said.stdout + said.stderr, f"koto-l3 run {arguments[0]} says {said.stdout}{said.stderr}, not '{says}'")

    def refused(self, answer, text):
        """What a start that cannot be says."""
        status, body = answer
        said = "\n".join(body.get("reasons", ()))
        self.findings.check(status == 409 and re.search(text, said, re.M), f"a start was answered with {status} {said or body}, not '{text}'")

    def all_in(self, run, nodes=None):
        self.findings.check(all(n.is_in(run) for n in nodes or self.nodes), f"a node has left run {run}, or not begun it")

    def send(self, node, events):
        """A spill over UDP."""
        self.spill += 1
        maker = level2.EventMaker(self.crates, 100 * node.number)
        with harness.UdpSender(self.crates, harness.HOST, node.ports.udp, harness.UDP_PORTS, self.chunk_bytes, waiting=node.daemon.waiting) as sender:
            for number in range(1, events + 1):
                self.sent[self.spill, number] = maker.fragments(self.spill, number)
                sender.event(self.spill, number, self.sent[self.spill, number])
            sender.end(self.spill, events)

    def finish(self):
        """Every event that a node was sent in a run is stored, once, each byte."""
        for node in self.nodes:
            harness.wait_until(lambda: node.daemon.status()["events"]["in_flight"] == 0, "nothing in flight")
            self.findings.equal(f"exit code of node {node.number}", node.daemon.stop(), 0)
            self.findings.none(f"node {node.number}: {text}" for f in node.ledgers.glob("run*-*.json") for text in
                               harness.unbalanced(json.loads(f.read_text())))
        if not self.sent:
            return
        found = {(e.spill, e.number): e for e in store_reader.events_of(self.store, True)}
        self.findings.equal("events stored", sorted(found), sorted(self.sent))
        self.findings.check(all(found[k].fragments == dict(enumerate(f)) for k, f in self.sent.items() if k in found), "bytes differ")
        self.findings.see("events stored", len(found))
        self.findings.see("missing", len(self.sent.keys() - found.keys()))
