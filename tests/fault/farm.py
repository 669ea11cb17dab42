# SPDX-License-Identifier: Apache-2.0
"""A farm on one machine: nodes with a daemon each, one receiver or two, and this process's machine, on which level 2 is played by one
`koto-l3 replay`. All are network namespaces; level 2 has a cable to each of the others, and each node one to its receiver."""
import json
import re

import chain
import harness
from scenario import Run

RUN = 7
SLOW, FAST = "100kbit", "1gbit"  # a node's cable to its receiver; the first is a third of what it has to send


class Receiver:
    def __init__(self, farm, number):
        self.farm, self.number, self.space = farm, number, farm.network.add()
        self.store, self.host, self.ports = farm.folder / f"store-{number}", f"10.80.{number}.2", farm.ports
        farm.network.join(f"to_receiver_{number}", farm.network.here, f"10.80.{number}.1", "from_level_2", self.space, self.host)

    def begin(self):
        self.program = self.farm.keep(harness.Program(
            [harness.BIN / "koto-l3", "receive", "--bind", f"tcp://*:{self.ports.receiver}", "--insecure", "--out", self.store, "--monitor",
             f"{self.host}:{self.ports.monitor}"], self.farm.folder / f"receiver-{self.number}.log", space=self.space))
        self.program.wait_to_say("monitoring on")

    def get(self, path):
        return harness.http_get(self.host, self.ports.monitor, path)[1]

    def status(self):
        return json.loads(self.get("/status"))

    def of(self, node):
        """What it knows of a node; {}: nothing yet."""
        return next((d for d in self.status()["daemons"] if d["node"] == str(node)), {})


class Node(chain.Node):
    def __init__(self, farm, number, receiver):
        self.receiver, self.space, self.host, its_receiver = receiver, farm.network.add(), f"10.78.{number}.2", f"10.79.{number}.2"
        super().__init__(
            farm, number, farm.ports, outbox={"block": "16 KiB", "block_age": "100 ms", "memory": "32 MiB"}, frames={"count": 4},
            building={"event_time_limit": "6 s", "spill_time_limit": "6 s"},  # a machine that stands still must not cost an event
            forward={"to": f"tcp://{its_receiver}:{farm.ports.receiver}"})
        farm.network.join(f"to_node_{number}", farm.network.here, f"10.78.{number}.1", "from_level_2", self.space, self.host)
        farm.network.join("to_receiver", self.space, f"10.79.{number}.1", f"from_node_{number}", receiver.space, its_receiver)

    def send_at(self, rate):
        self.chain.network.run("tc", "qdisc", "replace", "dev", "to_receiver", "root", "tbf", "rate", rate, "burst", "64k", "limit", "4m",
                               at=self.space)


class Farm(Run):
    """A run of a scenario with several nodes and receivers."""

    def __init__(self, scenario, findings, plan, nodes, receivers):
        super().__init__(scenario, findings, plan)
        self.receivers = [Receiver(self, n + 1) for n in range(receivers)]
        self.nodes = [Node(self, n + 1, self.receivers[n % receivers]) for n in range(nodes)]

    def addresses(self, over):
        return [x for n in self.nodes for x in ("--to", f"udp://{n.host}:{self.ports.udp}+{harness.UDP_PORTS}" if over == "udp" else
                                                f"tcp://{n.host}:{self.ports.tcp}")]

    def begin_receiver(self):
        for receiver in self.receivers:
            receiver.begin()

    def begin_daemon(self):
        for node in self.nodes:
            node.begin()
        for node in self.nodes:
            node.daemon.ready()

    def share(self, by, node):
        """The keys of the events that level 2 gives a node over UDP, in their order."""
        turn = (lambda i: i) if by == "event" else (lambda i: i // self.sent.events)
        return [key for i, key in enumerate(self.sent.keys()) if turn(i) % len(self.nodes) == node.number - 1]

    def finish_replay(self, seconds=harness.PATIENCE):
        code = self.replay.wait(seconds)
        if self.scenario.over == "tcp":  # over UDP it reports the closed ports of a dead node
            self.findings.equal("exit code of replay", code, 0)

    def end_programs(self):
        for node in self.nodes:
            if node.daemon.running():
                self.drain(node.daemon)
                self.findings.equal(f"exit code of node {node.number}", node.daemon.stop(), 0)
                self.findings.none(f"node {node.number}: {text}" for text in harness.unbalanced(node.daemon.ledger()))
        for receiver in self.receivers:
            self.findings.equal(f"exit code of receiver {receiver.number}", receiver.program.stop(), 0)

    @property
    def stores(self):
        return [receiver.store for receiver in self.receivers]

    @property
    def may_repeat(self):
        """A receiver stores an event once, whichever nodes bring it. The other one does not know: what a node's receiver had stored when it died,
        and replay had not been told, is in both stores."""
        handed_on = re.search(r"handed on +(\d+)", self.replay.said())
        return int(handed_on[1]) if handed_on and len(self.receivers) > 1 else 0
