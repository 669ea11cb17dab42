# SPDX-License-Identifier: Apache-2.0
"""Daemons that are a farm by a real etcd. One `koto-l3 run start` is for all nodes: all begin the run, or none does, and why is said. What
goes wrong with etcd or with a node never costs an event that a node has taken."""
import collections
import json
import pathlib
import random
import threading
import time

import harness
import level2
import store_reader
from selection_stage import SELECTION
from table import Row
from together import Farm, FarmNode

LEASE = 10  # s
NOBODY = "http://127.0.0.1:9"
NO_ETCD = r"etcd does not answer at http://\S+: .*; an active run continues, but no run can begin or end on all nodes"


# Rows of every change: (farm, findings, plan)

def runs(f, findings, plan):
    """The first etcd of the list is not there: the nodes ask the next one."""
    f.begin(NOBODY)
    f.order(0, 1, "start", "--comment", "together", says="current     run 7 (together)")
    f.all_in(7)
    for node in f.nodes:
        f.send(node, 20)
        node.daemon.wait_for_stored(20)
    f.order(0, 2, "stop")
    for node in f.nodes:
        harness.wait_until(lambda: node.run()["state"] == "configured", "no run")
        (ledger,) = [json.loads(file.read_text()) for file in node.ledgers.glob("run000007-*.json")]
        findings.equal("ledger of run 7", (ledger["events"]["forwarded"], ledger["comment"]), (20, "together"))
    f.begin_run(8)
    before = [node.daemon.status()["session"] for node in f.nodes]
    f.order(0, 1, "start", "--number", "8", "--again", "--comment", "part two")
    for node, session in zip(f.nodes, before):  # it goes on under its number, and this is a new part of it on each node
        findings.equal("comment", node.run()["current"]["comment"], "part two")
        node.daemon.wait_for(lambda s: s["session"] != session, f"a status of the new part on node {node.number}")
    findings.equal("keys", f.etcd.keys().keys(), {*(f"{kind}/{n}" for kind in ("members", "nodes") for n in (1, 2, 3)), "run/now"})
    f.finish()
    findings.equal("keys when all have left", f.etcd.keys().keys(), {"run/now"})


def refusals(f, findings, plan):
    """One that cannot keeps all from it, and is named; of two starts at once one holds, on all nodes."""
    f.begin()
    used = f.nodes[2].ledgers / "run000012-3-0123456789abcdef.json"
    used.write_text("{}")
    for order, text in (({"number": 12}, "^node 3: run number 12 was already used on it"), ({"without": [2]}, "^node 2 is running: stop its daemon"),
                        ({"without": [9]}, "^no node 9 has joined the farm"), ({"menu": "/nowhere"}, "the menu: /nowhere cannot be read")):
        f.refused(f.nodes[0].start(**order), text)
    f.refused(f.nodes[0].order("stop"), "no run is active or waiting")
    f.order(1, 0, "start", "--number", "12", says="koto-l3 run: node 3: run number 12 was already used")
    findings.check("run/now" not in f.etcd.keys(), "a refused start is in etcd")
    answers = []
    both = [threading.Thread(target=lambda n=n: answers.append(n.start(number=20 + n.number))) for n in f.nodes[:2]]
    for t in both:
        t.start()
    for t in both:
        t.join()
    taken = [body for status, body in answers if status == 202]
    findings.equal("starts that hold", len(taken), 1)
    f.refused(next(a for a in answers if a[0] != 202), r"run 2[12] is in progress, requested on node [12]")
    f.wait_for_run(taken[0]["next"]["number"])
    twin = FarmNode(f, 5)
    f.nodes.append(twin)
    twin.begin(run={"node": 1})
    twin.wait("refused")
    twin.wait_for_text(rf"the farm already has a node 1: process {f.nodes[0].daemon.pid} on \S+; give each daemon its own")
    f.refused(twin.start(), "the farm already has a node 1")
    f.all_in(taken[0]["next"]["number"], f.nodes[:3])
    used.unlink()
    f.finish()


def menus(f, findings, plan):
    """A menu reaches all, and one that differs is named."""
    menu, other = f.folder / "menu.toml", f.folder / "other.toml"
    menu.write_text(SELECTION)
    other.write_text(SELECTION.replace("3.0", "4.0"))
    f.etcd.start()
    f.start_receiver()
    for node, file in zip(f.nodes, (menu, other)):
        node.begin(selection={"lines": str(file)}, readout={"crates": level2.KOTO}, building={"chunk_bytes": 8000})
    f.wait_for_members()
    f.refused(f.nodes[0].start(), r"node 2: its selection for run 7 is [0-9a-f]{8}, and that of node 1 is [0-9a-f]{8}")
    f.begin_run(7, menu=str(menu))
    hashes = set()
    for node in f.nodes:
        file, its_hash = node.daemon.wait_for(lambda s: s["run"] == 7 and s["menu"], "a menu")["menu"].split()
        findings.equal("menu", pathlib.Path(file).read_text(), menu.read_text())
        hashes.add(its_hash)
    findings.equal("hashes", len(hashes), 1)
    f.finish()


def no_etcd(f, findings, plan):
    """It is not there at the start, comes, goes, comes back, and has lost everything."""
    f.start_receiver()
    for node in f.nodes:
        node.begin()
    f.nodes[0].wait("joining")
    f.nodes[0].wait_for_text(".")
    f.refused(f.nodes[0].start(), "etcd does not answer at")
    f.begin_run(7, nodes=f.nodes[:1], here=True)
    f.etcd.start()
    f.wait_for_members()
    f.begin_run(30)
    f.etcd.program.kill()
    f.nodes[0].wait("cut_off")
    f.send(f.nodes[0], 20)  # a run goes on
    f.nodes[0].daemon.wait_for_stored(20)
    f.refused(f.nodes[0].start(), NO_ETCD)
    status = f.nodes[0].daemon.wait_for(lambda s: s["problem"], "a problem")
    findings.equal("problem", (status["problem"]["name"], status["farm"]["state"]), ("farm_cut_off", "cut_off"))
    findings.equal("cut_off", f.nodes[0].daemon.metrics()['koto_l3_farm_state{state="cut_off"}'], 1)
    f.begin_run(31, node=1, nodes=f.nodes[1:], here=True)
    f.etcd.lose_everything()
    f.wait_for_members()
    findings.check(f.nodes[0].is_in(30) and f.nodes[1].is_in(31), "a run that a person began by hand has ended")
    rows = harness.wait_until(lambda: [r for r in f.nodes[0].seen()["nodes"] if r["stands"] == "apart"], "a node apart")
    findings.equal("node apart, and its run", (rows[0]["node"], rows[0]["run"]), (2, 31))
    findings.equal("answer to a start", f.nodes[0].start()[0], 202)
    f.wait_for_run(32)  # no number is used again
    f.nodes[1].daemon.kill()
    f.nodes[1].begin()
    f.wait_for_run(32)  # a node that comes back is in the farm's run
    f.finish()


# Rows of the long form

def one_is_cut_off(f, findings, plan):
    f.begin()
    f.begin_run(1)
    cut = f.nodes[3]
    cut.cut_off()
    findings.inject("nodes cut off from etcd", 1)
    begun = time.monotonic()
    f.refused(f.nodes[0].start(), "node 4 did not answer within 6 s")
    findings.time("refused", time.monotonic() - begun, 8)
    f.send(cut, 20)
    cut.wait("cut_off")
    begun = time.monotonic()
    missing = harness.wait_until(lambda: [n for n in f.nodes[0].seen()["nodes"] if n["stands"] == "missing"], "a missing node")
    findings.time("missing", time.monotonic() - begun, LEASE + 2)
    findings.equal("missing node", [n["node"] for n in missing], [4])
    f.refused(f.nodes[0].start(), "node 4 is missing: its daemon is not connected to etcd")
    f.all_in(1)
    f.order(0, 1, "start", "--without", "4")
    f.wait_for_run(2, f.nodes[:3])
    findings.check(cut.is_in(1), "the node that is cut off has left its run")
    cut.join_again()
    f.wait_for_run(2)  # it follows
    f.wait_for_members()
    f.send(cut, 20)
    cut.daemon.wait_for_stored(20)
    f.finish()


def one_dies_in_between(f, findings, plan):
    f.begin()
    f.begin_run(1)
    f.begin_beam(pause=0)  # so that the order waits for a pause
    harness.wait_until(lambda: f.nodes[0].daemon.status()["events"]["admitted"] > 0, "beam")
    time.sleep(1)
    status, body = f.nodes[0].start(number=2)
    findings.equal("answer to a start", status, 202)
    dead = f.nodes[2]
    dead.daemon.kill()
    findings.inject("kill −9 of a node that was ready", 1)
    begun = time.monotonic()
    harness.wait_until(lambda: f.nodes[0].seen()["failure"], "the start to come to nothing")
    findings.time("withdrawn", time.monotonic() - begun, LEASE + 3)
    findings.equal("failure", f.nodes[0].seen()["failure"], "run 2: node 3 left or died while the run was being prepared")
    f.beam.end()
    time.sleep(1)
    f.all_in(1, [n for n in f.nodes if n is not dead])
    findings.check("run/order" not in f.etcd.keys(), "the order is still there")
    dead.begin()
    f.wait_for_run(1)  # that of the farm
    # The one that was asked dies: its order ends by itself.
    f.begin_beam(pause=0)
    time.sleep(2)
    findings.equal("answer to a start", f.nodes[3].start(number=2)[0], 202)
    f.nodes[3].daemon.kill()
    findings.inject("kill −9 of the node that was asked", 1)
    f.refused(f.nodes[0].start(number=3), "run 2 is in progress, requested on node 4")
    begun = time.monotonic()
    harness.wait_until(lambda: "run/order" not in f.etcd.keys(), "the order to be gone")
    findings.time("gone", time.monotonic() - begun, 32)
    f.beam.end()
    f.all_in(1, f.nodes[:3])
    f.nodes[3].begin()
    f.wait_for_members()
    f.begin_run(4)
    findings.see("runs begun on some nodes only", 0)


def at_a_border(f, findings, plan):
    """Starts at any moment of spills: no spill is of two runs."""
    f.begin()
    f.begin_run(1)
    f.begin_beam(pause=2.5)
    run, chance = 1, random.Random(plan.seed)
    for _ in range(plan.pick(1, 6)):
        time.sleep(chance.uniform(0, 4))
        run += 1
        f.findings.equal("answer to a start", f.nodes[run % len(f.nodes)].start(number=run)[0], 202)
        f.wait_for_run(run)
        findings.inject("runs begun in the beam", 1)
    last = f.beam.spill
    harness.wait_until(lambda: f.beam.spill > last + 1, "a whole spill of the last run")
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
    wanted = {(s, n) for s in range(1, f.beam.spill + 1) for n in range(1, f.beam.events + 1)}
    findings.see("missing", len(wanted - keys))
    findings.equal("events stored", len(wanted - keys), 0)
    findings.see("spills", len(runs))
    findings.equal("runs seen", set().union(*runs.values()), set(range(1, run + 1)))


def row(name, nodes, part, promise, bar, long=False):
    def play(findings, plan):
        with Farm(findings, nodes) as f:
            part(f, findings, plan)
    return Row(name, promise, bar, lambda plan: [play], long)


ROWS = [row(*r) for r in (
    ("etcd-runs", 3, runs, "a run begins and ends on all nodes", "0 missing"),
    ("etcd-refusals", 3, refusals, "an order that one node cannot follow is refused and named", "begun on no node"),
    ("etcd-menu", 2, menus, "one menu for all nodes", "the same bytes on all"),
    ("etcd-gone", 2, no_etcd, "etcd is not there, goes, comes back without what it had", "0 missing; no number twice"),
    ("etcd-cut", 4, one_is_cut_off, "one node cannot reach etcd: no run begins until it is left out; it follows when it is back", "0 missing", True),
    ("etcd-death", 4, one_dies_in_between, "a node, or the one that was asked, dies while a run is prepared: none begins it",
     "0 runs begun on some nodes only", True),
    ("etcd-border", 4, at_a_border, "runs begin at the border of a spill on all nodes", "no spill of two runs, 0 missing", True))]
