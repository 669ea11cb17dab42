# SPDX-License-Identifier: Apache-2.0
"""Daemons that are a farm by a real etcd, each behind a relay of its own to it, with one receiver."""
import json
import subprocess

import harness
import level2
import own_etcd
from runs import UnixConnection


ABSENT = "the receiver is absent: none answers"


class FarmNode:
    def __init__(self, stage, number):
        self.stage, self.number, self.ports = stage, number, harness.Ports()
        self.folder = stage.folder / f"node-{number}"
        self.folder.mkdir(exist_ok=True)
        self.socket, self.ledgers = self.folder / "control.sock", self.folder / "ledgers"
        self.relay = own_etcd.Relay(self.ports.receiver + 1, stage.etcd.port)

    def begin(self, environment=None, **sections):
        farm = {"etcd": [self.relay.url], **sections.pop("farm", {})}
        spool = {"folder": str(self.folder / "spool"), **sections.pop("spool", {})}
        run = {"node": self.number, "control": str(self.socket), "ledger": f"{self.ledgers}/", **sections.pop("run", {})}
        host, ports = harness.HOST, self.ports
        config = self.stage.write_config(
            f"node-{self.number}.toml", run=run, farm=farm, udp={"bind": f"{host}:{ports.udp}"}, tcp={"bind": f"{host}:{ports.tcp}"},
            monitor={"bind": f"{host}:{ports.monitor}"}, frames={"count": 4}, outbox={"memory": "32 MiB"},
            spool=spool, **sections)
        self.daemon = self.stage.keep(harness.Daemon(config, ports, self.folder, environment))
        self.daemon.wait_to_say("ready for runs")
        return self

    def ask(self, path, body=None):
        connection = UnixConnection(self.socket)
        try:
            connection.request("GET" if body is None else "POST", path, None if body is None else json.dumps(body))
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())
        finally:
            connection.close()

    def run(self):
        return self.ask("/run")[1]

    def is_in(self, run):
        now = self.run()
        return now["state"] == "running" and now["current"]["number"] == run

    def start(self, **order):
        """On a machine that is very busy a node's link is away for moments, in which an order is refused."""
        def answer():
            status, body = self.ask("/run/start", order)
            away = status == 409 and all(ABSENT in reason for reason in body["reasons"])
            return None if away else (status, body)
        return harness.wait_until(answer, "receivers that answer")

    def tool(self, *arguments):
        """Likewise."""
        def done():
            said = self.tool_once(*arguments)
            return None if said.returncode == 1 and ABSENT in said.stderr else said
        return harness.wait_until(done, "receivers that answer")

    def tool_once(self, *arguments):
        return subprocess.run([harness.BIN / "koto-l3", "run", *arguments, "--socket", self.socket], capture_output=True, text=True,
                              timeout=harness.PATIENCE)

    def ledgers_of(self, run):
        return [json.loads(f.read_text()) for f in sorted(self.ledgers.glob(f"run{run:06}-*.json"))]

    def send(self, spill, events, ends=True):
        """A spill over UDP, or the beginning of one; {key: fragments}."""
        maker, sent = level2.EventMaker(self.stage.crates, 100 * self.number), {}
        sender = harness.UdpSender(self.stage.crates, harness.HOST, self.ports.udp, harness.UDP_PORTS, self.stage.chunk_bytes,
                                   waiting=self.daemon.waiting)
        for number in range(1, events + 1):
            sent[spill, number] = maker.fragments(spill, number)
            sender.event(spill, number, sent[spill, number])
        if ends:
            sender.end(spill, events)
        sender.close()
        return sent


class TogetherStage(harness.Stage):
    def set_up_farm(self, nodes):
        self.etcd = own_etcd.Etcd(self, harness.Ports().receiver)
        self.nodes = [FarmNode(self, n + 1) for n in range(nodes)]

    def start_farm(self, environment=None, **sections):
        self.etcd.start()
        self.start_receiver()
        for node in self.nodes:
            node.begin(environment, **sections)
        self.wait_for_members()

    def wait_for_members(self, nodes=None):
        wanted = sorted(n.number for n in nodes or self.nodes)

        def seen(node):
            farm = node.run()["farm"]
            return farm["state"] == "joined" and sorted(n["node"] for n in farm["nodes"] if n["stands"] != "missing") == wanted
        for node in nodes or self.nodes:
            harness.wait_until(lambda: seen(node), lambda: f"node {node.number} to see {wanted}: {node.run()['farm']}")

    def wait_for_run(self, run, nodes=None):
        for node in nodes or self.nodes:
            harness.wait_until(lambda: node.is_in(run), lambda: f"node {node.number} in run {run}: {node.run()}")

    def wait_for_none(self, nodes=None):
        for node in nodes or self.nodes:
            harness.wait_until(lambda: node.run()["state"] == "configured", lambda: f"node {node.number} in no run: {node.run()}")

    def end_relays(self):
        for node in self.nodes:
            node.relay.end()
