#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One `koto-l3 run start` for all daemons of a farm that find each other by etcd: all begin the run, or none does, and why is said.
The long forms, with leases that run out, are rows of `./run farm-test`."""
import json
import pathlib
import re
import threading
import time
import unittest

import harness
import own_etcd
from selection_stage import SELECTION, Selecting
from together_stage import FarmNode, TogetherStage

REFUSED, BAD_CONFIGURATION = 1, 78


@unittest.skipUnless(own_etcd.there(), "no etcd on this machine (Debian: etcd-server)")
class Together(TogetherStage, harness.SystemTest):
    number_of_nodes = 2

    def setUp(self):
        super().setUp()
        self.set_up_farm(self.number_of_nodes)
        self.addCleanup(self.end_relays)

    def refused(self, answer, *texts):
        status, body = answer
        self.assertEqual(status, 409, body)
        for text in texts:
            self.assertRegex("\n".join(body["reasons"]), text)

    def taken(self, answer):
        self.assertEqual(answer[0], 202, answer[1])

    def stop(self):
        for node in self.nodes:
            self.assertEqual(node.daemon.stop(), 0, node.daemon.said()[-3000:])


class AllOrNone(Together):
    number_of_nodes = 3

    def test_a_run_begins_and_ends_on_all_nodes(self):
        self.start_farm()
        said = self.nodes[1].tool("start", "--wait", "--comment", "together")
        self.assertEqual(said.returncode, 0, said.stderr)
        self.assertIn("in force    run 7 (together)", said.stdout)
        self.assertTrue(all(n.is_in(7) for n in self.nodes))
        sent = {}
        for node in self.nodes:  # each has a spill of its own
            sent.update(node.send(node.number, 20))
        for node in self.nodes:
            node.daemon.wait_for_stored(20)
        said = self.nodes[2].tool("stop", "--wait")
        self.assertEqual(said.returncode, 0, said.stderr)
        self.wait_for_none()
        for node in self.nodes:
            (ledger,) = node.ledgers_of(7)
            self.assert_conserved(ledger)
            self.assertEqual((ledger["events"]["forwarded"], ledger["comment"]), (20, "together"))
        self.taken(self.nodes[0].start())
        self.wait_for_run(8)
        before = [node.daemon.status()["session"] for node in self.nodes]
        said = self.nodes[1].tool("start", "--number", "8", "--again", "--comment", "part two", "--wait")
        self.assertEqual(said.returncode, 0, said.stderr)
        for node, session in zip(self.nodes, before):  # it goes on under its number, and this is a new part of it on each node
            self.assertTrue(node.is_in(8))
            self.assertEqual(node.run()["current"]["comment"], "part two")
            node.daemon.wait_for(lambda s: s["session"] != session, f"a status of the new part on node {node.number}")
        names = self.etcd.keys().keys()
        self.assertEqual(names, {*(f"{kind}/{n}" for kind in ("members", "nodes") for n in (1, 2, 3)), "run/now"})
        self.stop()
        self.assertEqual(self.etcd.keys().keys(), {"run/now"}, "who is stopped leaves")
        self.assertEqual(set(self.stored()), set(sent))

    def test_a_node_on_which_it_did_not_end_well_is_named(self):
        """By whichever node a stop is asked of."""
        self.etcd.start()
        receiver = self.start_receiver()
        for node in self.nodes:
            node.begin(run={"drain_time_limit": "2 s"}, spool={"folder": ""})
        self.wait_for_members()
        self.taken(self.nodes[0].start(number=7))
        self.wait_for_run(7)
        receiver.kill()
        self.nodes[1].send(1, 20)  # no receiver takes them, and no disk
        self.nodes[1].daemon.wait_for(lambda s: s["events"]["admitted"] == 20, "the events")
        said = self.nodes[0].tool("stop", "--wait")
        self.assertEqual(said.returncode, 1, said.stdout)
        self.assertIn("the run has ended, but run 7 did not end well on node 2: see its log", said.stderr)
        harness.wait_until(lambda: re.search("node 2 .*; run 7 did not end well: its log", self.nodes[2].tool("status").stdout), "node 3 to see it")
        self.assertNotRegex(self.nodes[2].tool("status").stdout, "node [13] .*did not end well")
        self.start_receiver()
        for number, again, code in ((7, True, 1), (8, False, 0)):  # another part of a run does not make up for the one that did not end well
            self.taken(self.nodes[0].start(number=number, again=again))
            self.wait_for_run(number)
            said = self.nodes[0].tool("stop", "--wait")
            self.assertEqual(said.returncode, code, said.stderr)
        for node in self.nodes:
            self.assertEqual(node.daemon.stop(), 1 if node.number == 2 else 0, node.daemon.said()[-3000:])

    def test_one_that_cannot_keeps_all_from_it(self):
        self.start_farm()
        (self.nodes[2].ledgers / "run000012-3-0123456789abcdef.json").write_text("{}")
        self.refused(self.nodes[0].start(number=12), r"^node 3: the number 12 was used before on it")
        self.refused(self.nodes[0].start(number=13, without=[2]), r"^node 2 is there: stop its daemon")
        self.refused(self.nodes[0].start(number=13, without=[9]), r"^no node 9 has joined the farm")
        self.refused(self.nodes[0].ask("/run/stop", {}), "no run is in force, and none waits")
        self.assertNotIn("run/now", self.etcd.keys())
        said = self.nodes[0].tool("start", "--number", "12", "--wait")
        self.assertEqual((said.returncode, said.stdout), (REFUSED, ""))
        self.assertIn("koto-l3 run: node 3: the number 12", said.stderr)
        self.assertEqual([n.run()["state"] for n in self.nodes], ["configured"] * 3)
        # Two at once: one of them, on all nodes.
        answers = []
        both = [threading.Thread(target=lambda n=n: answers.append(n.start(number=20 + n.number))) for n in self.nodes[:2]]
        for t in both:
            t.start()
        for t in both:
            t.join()
        taken = [body for status, body in answers if status == 202]
        self.assertEqual(len(taken), 1, answers)
        self.refused(next(a for a in answers if a[0] != 202), r"run 2[12] is under way, for which node [12] was asked")
        self.wait_for_run(taken[0]["next"]["number"])
        self.stop()


class AWordThatIsLost(Together):
    """A node's answer lies under its lease, and goes when the node was cut off for long."""
    number_of_nodes = 3

    def test_of_one_that_was_ready(self):
        self.start_farm(building={"spill_time_limit": "60 s"})  # spill 1 goes on until spill 2 comes
        self.taken(self.nodes[0].start(number=49))
        self.wait_for_run(49)
        self.nodes[0].send(1, 20, ends=False)
        self.nodes[0].daemon.wait_for(lambda s: s["events"]["admitted"] == 20, "the beam")
        time.sleep(1)  # the daemon looks twice a second whether it pauses
        self.taken(self.nodes[0].start(number=50))
        self.nodes[1].relay.held = True  # so that node 2 does not answer again at once
        time.sleep(0.2)  # until nothing goes through
        self.etcd.remove("run/armed/2")
        self.nodes[0].send(2, 20)
        harness.wait_until(lambda: self.nodes[0].run()["farm"]["failure"], lambda: f"the start to come to nothing: {self.nodes[0].daemon.said()[-2000:]}")
        self.assertIn("run 50: node 2 was ready, and etcd has lost its word since", self.nodes[0].run()["farm"]["failure"])
        self.nodes[1].relay.held = False
        self.wait_for_members()
        self.assertTrue(all(n.is_in(49) for n in self.nodes), "a start that came to nothing has changed a run")
        self.taken(self.nodes[0].start(number=51))
        self.wait_for_run(51)
        self.stop()

    def test_while_others_are_waited_for(self):
        self.start_farm()
        self.nodes[2].relay.held = True
        answers = []
        asked = threading.Thread(target=lambda: answers.append(self.nodes[0].start(number=60)))
        asked.start()
        harness.wait_until(lambda: "run/armed/2" in self.etcd.keys(), "node 2 to be ready")
        self.nodes[0].relay.held = True  # so that it does not see that node 2 was away
        time.sleep(0.2)  # until nothing goes through
        for key in ("members/2", "run/armed/2"):
            self.etcd.remove(key)
        harness.wait_until(lambda: "run/armed/2" in self.etcd.keys(), "node 2 to answer again")
        self.nodes[0].relay.held = False
        asked.join()
        self.refused(answers[0], "^node 3 did not answer within 6 s$")
        self.nodes[2].relay.held = False
        self.wait_for_members()
        self.stop()


class OneMenu(Together, Selecting):
    def test_a_menu_reaches_all_and_one_that_differs_is_named(self):
        self.etcd.start()
        self.start_receiver()
        longest = 48 << 10
        menu, other = self.write(SELECTION.ljust(longest, "\n")), self.write(SELECTION.replace("3.0", "4.0"), "other.toml")
        more = {"building": {"chunk_bytes": self.chunk_bytes}, "readout": {"crates": self.crate_lines}}
        self.nodes[0].begin(selection={"lines": str(menu)}, **more)
        self.nodes[1].begin(selection={"lines": str(other)}, **more)
        self.wait_for_members()
        self.refused(self.nodes[0].start(), r"node 2: its selection for run 7 is [0-9a-f]{8}, and that of node 1 is [0-9a-f]{8}")
        status, body = self.nodes[0].start(menu=str(menu))
        self.assertEqual(status, 202, body)
        self.wait_for_run(7)
        hashes = set()
        for node in self.nodes:
            file, its_hash = node.daemon.wait_for(lambda s: s["run"] == 7 and s["menu"], "a menu")["menu"].split()
            self.assertEqual(pathlib.Path(file).read_text(), menu.read_text())
            hashes.add(its_hash)
        self.assertEqual(len(hashes), 1)
        self.refused(self.nodes[1].start(menu="/nowhere"), "the menu: /nowhere cannot be read")
        self.refused(self.nodes[1].start(menu=str(self.write("x" * (longest + 1), "long.toml"))), "the menu: .* has 49153 bytes; at most 49152")
        self.stop()


class EtcdInTrouble(Together):
    def test_it_goes_comes_back_and_has_lost_everything(self):
        self.start_farm()
        self.taken(self.nodes[0].start(number=30))
        self.wait_for_run(30)
        self.etcd.program.kill()
        harness.wait_until(lambda: self.nodes[0].run()["farm"]["state"] == "cut_off", "cut_off")
        sent = self.nodes[0].send(1, 20)  # a run goes on
        self.nodes[0].daemon.wait_for_stored(20)
        self.refused(self.nodes[0].start(), r"etcd does not answer at http://\S+: .*; a run goes on, and none can be begun or ended on all nodes")
        status = self.nodes[0].daemon.wait_for(lambda s: s["problem"], "a problem")
        self.assertEqual((status["problem"]["name"], status["farm"]["state"]), ("farm", "cut_off"))
        self.assertEqual(self.nodes[0].daemon.metrics()['koto_l3_farm_state{state="cut_off"}'], 1)
        self.taken(self.nodes[1].start(here=True, number=31))
        self.wait_for_run(31, self.nodes[1:])
        self.etcd.lose_everything()
        self.wait_for_members()
        self.assertTrue(self.nodes[0].is_in(30) and self.nodes[1].is_in(31), "what a person did by hand stays")
        rows = harness.wait_until(lambda: [r for r in self.nodes[0].run()["farm"]["nodes"] if r["stands"] == "apart"], "a node apart")
        self.assertEqual((rows[0]["node"], rows[0]["run"]), (2, 31))
        self.taken(self.nodes[0].start())
        self.wait_for_run(32)  # no number is used again
        # A node that comes back is in the farm's run.
        self.nodes[1].daemon.kill()
        self.nodes[1].begin()
        self.wait_for_run(32)
        self.stop()
        self.assertEqual(set(self.stored()), set(sent))

    def test_a_majority_of_its_members_is_enough(self):
        members = own_etcd.cluster(self, 3)
        for member in members:
            member.begin()
        self.start_receiver()
        for node in self.nodes:
            node.begin(farm={"etcd": [m.url for m in members]})
        self.wait_for_members()
        self.taken(self.nodes[0].start(number=40))
        self.wait_for_run(40)
        members[0].program.kill()  # the first that they ask
        self.wait_for_members()
        harness.wait_until(lambda: self.nodes[0].start()[0] == 202, "a start by the two that are left")
        self.wait_for_run(41)
        members[1].program.kill()
        for node in self.nodes:
            harness.wait_until(lambda: node.run()["farm"]["state"] == "cut_off", lambda: f"cut_off: {node.run()['farm']}")
        self.refused(self.nodes[0].start(), r"etcd does not answer at http://\S+: .*; a run goes on, and none can be begun or ended on all nodes")
        sent = self.nodes[0].send(1, 20)
        self.nodes[0].daemon.wait_for_stored(20)
        members[1].begin()
        self.wait_for_members()
        self.assertTrue(all(node.is_in(41) for node in self.nodes), "what they had agreed on is kept")
        self.taken(self.nodes[1].start())
        self.wait_for_run(42)
        self.stop()
        self.assertEqual(set(self.stored()), set(sent))

    def test_no_etcd_at_the_start(self):
        self.start_receiver()
        for node in self.nodes:
            node.begin()
        farm = harness.wait_until(lambda: (f := self.nodes[0].run()["farm"])["text"] and f, "a sentence")
        self.assertEqual(farm["state"], "joining")
        self.refused(self.nodes[0].start(), "etcd does not answer at")
        self.taken(self.nodes[0].start(here=True))
        self.wait_for_run(7, self.nodes[:1])
        self.etcd.start()
        self.wait_for_members()
        self.taken(self.nodes[1].start())
        self.wait_for_run(8)
        self.stop()

    def test_a_key_that_cannot_be_understood(self):
        self.start_farm()
        self.taken(self.nodes[0].start())
        self.wait_for_run(7)
        self.etcd.put("members/77", json.dumps({"version": 2}))
        harness.wait_until(lambda: "members/77 cannot be understood (it is of another version" in self.nodes[0].run()["farm"]["text"],
                           lambda: f"the other version to be named: {self.nodes[0].run()['farm']}")
        self.refused(self.nodes[0].start(), "members/77 cannot be understood")
        self.assertTrue(all(n.is_in(7) for n in self.nodes), "the run goes on")
        self.etcd.remove("members/77")
        self.wait_for_members()
        self.taken(self.nodes[0].start(number=9))
        self.wait_for_run(9)
        self.stop()

    def test_a_number_that_another_daemon_has(self):
        self.start_farm()
        twin = FarmNode(self, 5)
        self.nodes.append(twin)
        twin.begin(run={"node": 1})
        farm = harness.wait_until(lambda: (f := twin.run()["farm"])["state"] == "refused" and f, "a refusal")
        self.assertRegex(farm["text"], rf"the farm has a node 1 already: process {self.nodes[0].daemon.pid} of \S+; give each daemon its own")
        self.refused(twin.start(), "the farm has a node 1 already")
        self.taken(self.nodes[0].start())
        self.wait_for_run(7, self.nodes[:2])
        self.assertEqual(twin.run()["state"], "configured")
        self.stop()

    def test_a_password(self):
        self.etcd.start()
        self.etcd.set_password("l3", "secret words")
        self.start_receiver()
        right, wrong = self.folder / "right", self.folder / "wrong"
        for file, word in ((right, "secret words"), (wrong, "other")):
            file.write_text(word + "\n")
            file.chmod(0o600)
        self.nodes[0].begin(farm={"user": "l3", "password": str(right)})
        self.nodes[1].begin(farm={"user": "l3", "password": str(wrong)})
        self.wait_for_members(self.nodes[:1])
        refused = "refuses: etcdserver: authentication failed"
        harness.wait_until(lambda: refused in self.nodes[1].run()["farm"]["text"], "a refusal")
        self.assertNotIn("other", self.nodes[1].daemon.said())
        self.taken(self.nodes[0].start())
        self.wait_for_run(7, self.nodes[:1])
        self.stop()
        right.chmod(0o644)
        config = self.nodes[0].daemon.config
        p = self.keep(harness.Program([harness.BIN / "koto-l3d", "--config", config, "--check-config"], self.folder / "check.log"))
        self.assertEqual(p.wait(), BAD_CONFIGURATION)
        self.assertIn(f"farm.password: {right} may be read or written by others", p.said())


if __name__ == "__main__":
    harness.main()
