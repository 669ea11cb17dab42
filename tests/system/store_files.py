#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The files of a store: two nodes in two runs, a receiver that is killed in the middle of a run, and the sidecars, whose figures
and checksums an independent reader compares with the files. Files that a receiver left half named: store_split_test."""
import collections
import json

import harness
import l2raw
import level2
import store_reader
from crc32c import crc32c

EVENTS = 30
NODES = (3, 4)


class StoreFiles(harness.SystemTest):
    def setUp(self):
        super().setUp()
        self.maker = level2.EventMaker(self.crates, 5)
        self.sent = {}
        self.node_ports = {3: self.ports, 4: harness.Ports()}
        self.node_ports[4].receiver = self.ports.receiver

    def start_node(self, node, run):
        self.ports, own = self.node_ports[node], self.ports
        folder = self.folder / f"node{node}-run{run}"
        folder.mkdir()
        config = self.write_config(name=f"{folder.name}.toml", run={"number": run, "node": node, "ledger": f"{self.folder}/ledgers/"})
        daemon = self.keep(harness.Daemon(config, self.ports, folder)).ready()
        self.ports = own
        return daemon

    def replay(self, node, run, spill):
        """Each event has a key of its own, also over runs and nodes: `extract` compares them all."""
        events = {(spill, n): self.maker.fragments(spill, n) for n in range(1, EVENTS + 1)}
        file = self.folder / f"{spill}.l2raw"
        l2raw.write(file, self.crates, {spill: list(events.values())}, run=run)
        code, said = self.run_tool("replay", file, "--to", f"tcp://{harness.HOST}:{self.node_ports[node].tcp}", "--rate", "unlimited")
        self.assertEqual(code, 0, said)
        self.sent |= events

    def owners(self):
        """{(run, node): its complete files}, after each sidecar was compared with its file."""
        found = collections.defaultdict(list)
        for file in sorted(self.store.glob("blocks-*-*.kl3")):
            data, sidecar = file.read_bytes(), json.loads(file.with_suffix(".json").read_text())
            blocks = list(store_reader.read_file(file))
            self.assertEqual((sidecar["file"], sidecar["bytes"], int(sidecar["crc32c"], 16)), (file.name, len(data), crc32c(data)))
            self.assertEqual({(b.run, b.node) for b in blocks}, {(sidecar["run"], sidecar["node"])})
            self.assertEqual(file.name, f"blocks-{sidecar['number']:06}-run{sidecar['run']:06}-node{sidecar['node']}.kl3")
            spills = collections.Counter(e.spill for b in blocks for e in b.events)
            self.assertEqual((sidecar["blocks"], sidecar["events"]), (len(blocks), spills.total()))
            self.assertEqual({s["spill"]: s["events"] for s in sidecar["spills"]}, spills)
            self.assertEqual({int(s["session"], 16): s["blocks"] for s in sidecar["sessions"]},
                             collections.Counter(b.session for b in blocks))
            self.assertRegex(sidecar["software"], r"^koto-l3 \d")
            self.assertEqual(sidecar["settings"], [], "no selection ran")
            found[sidecar["run"], sidecar["node"]].append(file)
        return found

    def info(self, path, code=0):
        return self.run_for_json("info", path, code=code)

    def test_two_runs_of_two_nodes(self):
        receiver = self.start_receiver()
        daemons = {node: self.start_node(node, 7) for node in NODES}
        for spill in (1, 2, 3, 4):
            self.replay(NODES[spill % 2], 7, spill)
        self.assertEqual(sorted(f.name for f in self.store.glob("blocks-*.kl3")), ["blocks-000001.kl3", "blocks-000002.kl3"])
        for daemon in daemons.values():
            self.assertEqual(daemon.stop(), 0)
        harness.wait_until(lambda: len(self.owners()) == 2, "the files of the first run are complete while the receiver goes on")
        daemons = {node: self.start_node(node, 8) for node in NODES}
        self.replay(3, 8, 5)
        self.replay(4, 8, 6)
        receiver.kill()
        receiver = self.start_receiver()  # in the middle of the run
        self.assertEqual(len(self.owners()), 4, "a start completes what a killed receiver left")
        self.replay(3, 8, 7)
        for daemon in daemons.values():
            self.assertEqual(daemon.stop(), 0)
        self.assertEqual(receiver.stop(), 0, receiver.said())
        owners = self.owners()
        self.assertEqual({owner: len(files) for owner, files in owners.items()}, {(7, 3): 1, (7, 4): 1, (8, 3): 2, (8, 4): 1})
        self.assert_stored(self.sent)
        self.assert_extracted(self.sent)

        said = self.info(self.store)
        self.assertEqual((said["files"], said["files_complete"], said["damage"]), (5, 5, []))
        file = owners[7, 3][0]
        self.assertTrue(self.info(file)["complete"])
        sidecar = self.info(file.with_suffix(".json"))
        self.assertEqual((sidecar["kind"], sidecar["run"], sidecar["damage"]), ("sidecar", 7, []))
        ledgers = self.info(self.folder / "ledgers")
        self.assertEqual((ledgers["kind"], [l["run"] for l in ledgers["ledgers"]]), ("ledgers", [7, 7, 8, 8]))
        self.assertEqual(sum(l["forwarded"] for l in ledgers["ledgers"]), len(self.sent))
        self.assertTrue(all(l["clean"] and l["balanced"] for l in ledgers["ledgers"]))



if __name__ == "__main__":
    harness.main()
