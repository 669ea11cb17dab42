#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the tools read: `info` names and counts each stored file of docs/formats.md, `inspect` shows the samples that were sent, wherever
an event is found, `verify` compares the events of a run. The verdicts of `verify` and on ledgers are those of tests/tools/verify, damage of
stores that of recorded.py."""
import shutil

import harness
import level2
from selection_stage import FAILED, MISSING, RUN, Selecting


class Reading(harness.SystemTest):
    EVENTS = 20

    def setUp(self):
        super().setUp()
        self.events = self.make_events(self.EVENTS, spill=3, seed=61)
        self.sent = self.write_events(self.events)

    def send(self, daemon, events=EVENTS):
        sender = self.udp_sender(daemon)
        self.send_events(sender, {key: self.events[key] for key in list(self.events)[:events]})
        sender.end(3, self.EVENTS)

    def fill_store(self, events=EVENTS, clean=True, **sections):
        """A store of the events, by way of a daemon; the receiver goes on."""
        receiver, daemon = self.start_receiver(), self.start_daemon(**sections)
        self.send(daemon, events)
        daemon.wait_for_stored(events)
        self.stop_daemon(daemon, clean)
        return receiver

    def info(self, path, code=0):
        """What it says as JSON; the same command without --json names the path, and ends with the same code."""
        its_code, said = self.run_tool("info", path)
        self.assertEqual(its_code, code, said)
        self.assertIn(str(path), said)
        return self.run_for_json("info", path, code=code)

    def says(self, code, text, *arguments):
        """It ends with this code and a message of a line or two that has this text."""
        its_code, said = self.run_tool(*arguments)
        self.assertEqual(its_code, code, said)
        self.assertIn(text, said)
        self.assertLessEqual(len(said.splitlines()), 2, said)


class Whole(Reading):
    def assert_samples(self, path, number, *more):
        said = self.run_for_json("inspect", path, "--event", f"3/{number}", *map(str, more), "--channel", ",".join(str(c.number) for c in self.crates))
        self.assertEqual((said["spill"], said["event"], said["missing_crates"]), (3, number, []))
        wanted = dict(level2.waveforms(self.crates, dict(enumerate(self.events[3, number]))))
        self.assertEqual({c["channel"]: c["samples"] for c in said["channels"]}, wanted)
        return said

    def test_level_2_data_whole_and_damaged(self):
        said = self.info(self.sent)
        self.assertEqual((said["kind"], said["version"], said["events"], said["damage"]), ("level2", 1, self.EVENTS, []))
        self.assertEqual((said["crates"], said["bytes"]), (len(self.crates), self.sent.stat().st_size))
        self.assertEqual([(s["spill"], s["events"], s["incomplete"], s["events_said_at_end"]) for s in said["spills"]],
                         [(3, self.EVENTS, 0, self.EVENTS)])
        said = self.assert_samples(self.sent, 2)
        self.assertNotIn("stored", said)
        self.assertIsNone(said["summary"])
        code, said = self.run_tool("inspect", self.sent, "--event", "3/1", "--channel", "0/3/4,2/3")
        self.assertEqual(code, 0, said)
        for text in ("spill 3, event 1", "complete", "0/3/4", "2/3/3", "pedestal"):
            self.assertIn(text, said)
        data = bytearray(self.sent.read_bytes())
        data[len(data) // 2] ^= 1
        self.sent.write_bytes(data)
        self.assertRegex(self.info(self.sent, FAILED)["damage"][0], r"offset \d+: stream_checksum; the remaining \d+ bytes are not read")

    def test_spool_store_and_ledgers(self):
        daemon = self.start_daemon(spool={"use": "always"})
        self.send(daemon)
        harness.wait_until(lambda: daemon.status()["spool"]["events"] == self.EVENTS, "events on disk")
        self.stop_daemon(daemon)
        spool = self.folder / f"spool-{self.ports.tcp}"
        said = self.info(spool)
        self.assertEqual((said["kind"], said["events"], said["waiting"]["events"]), ("spool", self.EVENTS, self.EVENTS))
        self.assertEqual(self.info(next(spool.glob("spool-*.kl3")))["events"], self.EVENTS)
        lanes = self.info(spool / "released.kl3r")
        self.assertEqual((lanes["kind"], [lane["session"] for lane in lanes["lanes"]]), ("releases", [said["sessions"][0]["session"]]))
        self.assert_samples(spool, 1)

        receiver = self.start_receiver()
        harness.wait_until(lambda: (self.store / "ledger.json").exists(), "the receiver's ledger")
        self.assertEqual((self.info(self.store)["kind"], self.info(self.store)["damage"]), ("ledgers", []), "before its first block")
        self.says(MISSING, "no store: no file blocks-*.kl3 or spool-*.kl3 in ", "extract", self.store, self.folder / "new.bin")
        daemon = self.start_daemon()
        daemon.wait_for(lambda s: not s["spool"]["events"], "the spool sent")
        self.stop_daemon(daemon)
        self.assertEqual(receiver.stop(), 0)
        for path, kind in ((self.store, "store"), (harness.store_file(self.store), "store_file")):
            said = self.info(path)
            self.assertEqual((said["kind"], said["events"], said["runs"], said["damage"]), (kind, self.EVENTS, [7], []))
            self.assertEqual(said["version"], 2, "whose blocks hold settings")
            self.assertEqual(said["spills"], [{"run": 7, "spill": 3, "events": self.EVENTS}])
            self.assertEqual(sum(s["events"] for s in said["sessions"]), self.EVENTS)
            self.assertEqual({(s["run"], s["node"]) for s in said["sessions"]}, {(7, 3)})
            self.assertEqual(sum(s["events"] for s in said["settings"]), self.EVENTS)
            self.assertEqual((said["events_by_codec"], said["events_by_payload"]), ({"koto": self.EVENTS}, {"all": self.EVENTS}))
            said = self.assert_samples(path, 5, "--run", 7)
            self.assertEqual((said["run"], said["stored"]["node"], said["stored"]["more"]), (7, 3, 0))
        self.assert_samples(self.store, 6, "--config", self.folder / "l3.toml")
        self.says(FAILED, "has no event of run 8: it holds run 7\n", "inspect", self.store, "--event", "3/5", "--run", "8")
        ledger = self.info(self.folder / "daemon-ledger.json")
        self.assertEqual((ledger["kind"], ledger["program"], ledger["clean"]), ("ledger", "koto-l3d", True))
        self.assertEqual(self.info(self.store / "ledger.json")["program"], "receive")
        record = self.info(self.folder / "daemon-ledger.json.live")
        self.assertEqual((record["kind"], record["run"], record["ended_properly"]), ("run_record", 7, True))
        # The settings in a store say what was read out: a selection for another readout does not judge its events.
        for command in (("select", self.store), ("reprocess", harness.store_file(self.store), self.folder / "out", "--selection", "built-in")):
            self.says(78, "built-in detector.toml: describes KOTO's readout", *command)


class Names(Selecting):
    def test_are_those_of_the_selection_that_ran(self):
        file = self.simulate(60)
        said = self.select(file)
        self.finish(self.run_daemon(60, file=file))
        self.assertEqual({e["run"] for e in said["events"]}, {RUN})
        kept = [e for e in said["events"] if e["kept"]]
        self.assertTrue(kept)
        for e in kept[:4]:
            mine = self.run_for_json("inspect", self.store, "--event", f"{e['spill']}/{e['event']}", "--channel", "crystal 17,CBAR module 3")
            summary = mine["summary"]
            self.assertTrue(summary["names_are_of_these_settings"])
            self.assertEqual([line["line"] for line in summary["lines"] if line["fired"]], e["fired"])
            self.assertEqual([line["line"] for line in summary["lines"] if line["kept"]], e["kept_by"])
            for key in ("vetoes", "unknown", "quantities", "photons", "photons_found"):
                self.assertEqual(summary[key], e[key], key)
            self.assertEqual([c["name"] for c in mine["channels"]], ["crystal 17", "CBAR module 3 end 0", "CBAR module 3 end 1"])
        key = f"{kept[0]['spill']}/{kept[0]['event']}"
        other = self.write('[[line]]\nname = "other"\n')
        summary = self.run_for_json("inspect", self.store, "--event", key, "--selection", other)["summary"]
        self.assertFalse(summary["names_are_of_these_settings"])
        self.assertEqual({line["line"][:7] for line in summary["lines"]}, {"line 0x"})
        code, text = self.run_tool("inspect", self.store, "--event", key)
        self.assertEqual(code, 0)
        for word in ("pi0nunu", "transverse_momentum", "photons (", "crystal "):
            self.assertIn(word, text)


class Damaged(Reading):
    def test_files_of_a_store_and_a_spool(self):
        folder = self.folder / "spool"
        folder.mkdir()
        for number in (1, 2):
            (folder / f"spool-{number:06}.kl3").write_bytes(b"KL3S\x02" + bytes(3) + number.to_bytes(8, "little") + b"KL3")
        older, newest = (f"{folder}/spool-00000{n}.kl3: its last 3 bytes are not a whole block: torn by a crash, truncated, or still being written" for n in (1, 2))
        said = self.info(folder, FAILED)
        self.assertEqual((said["damage"], said["torn_ends"]), ([older], [newest]), "harmless in the newest segment alone")
        shutil.rmtree(folder)
        (folder / "store").mkdir(parents=True)
        store = folder / "store"
        (store / "blocks-000001.kl3").write_bytes(b"KL3S\x02\x01\0\0" + (1).to_bytes(8, "little"))
        self.assertEqual(self.info(store)["damage"], [])
        self.says(FAILED, "holds no readable event, so there are no efficiencies", "efficiency", store)
        (store / "ledger.json").write_bytes(b"{}")
        self.assertIn("ledger.json: not a ledger: it has no key", " ".join(self.info(store, FAILED)["damage"]))
        sidecar = folder / "blocks-000001-run000007-node3.json"
        sidecar.write_bytes(b"{")
        said = self.info(sidecar, FAILED)
        self.assertEqual((said["kind"], said["damage"]), ("sidecar", ["it is not a JSON object with a key `sidecar`"]))


class Runs(Reading):
    def test_of_a_run_among_several(self):
        """Run 8 sends the same numbers, and loses the last event: run 7 does not make that good, nor is it mixed with it."""
        receiver = self.fill_store()
        self.assertIs(self.run_for_json("verify", self.sent, self.store)["receiver_ledger_final"], False)
        self.assertEqual(receiver.stop(), 0)
        self.assertIs(self.run_for_json("verify", self.sent, self.store)["receiver_ledger_final"], True)
        of_daemon = self.folder / "daemon-ledger.json"
        of_daemon.rename(self.folder / "ledger-7.json")
        last = self.EVENTS - 1
        self.assertEqual(self.fill_store(last, clean=False, run={"number": 8}).stop(), 0)
        self.says(FAILED, "runs 7 and 8 are stored with the same event numbers: choose the sent one with --run", "verify", self.sent, self.store)
        self.says(FAILED, "no block of run 9 is stored, only of runs 7 and 8", "verify", self.sent, self.store, "--run", "9")
        self.says(FAILED, f"it holds {self.EVENTS + last} events of spills 3 to 3 of runs 7 and 8", "inspect", self.store, "--run", "7", "--event", "3/99")
        for choice in (("--run", "8"), ("--ledger", of_daemon)):
            said = self.run_for_json("verify", self.sent, self.store, *choice, code=FAILED)
            self.assertEqual((said["runs"], said["runs_not_compared"], said["events"]["missing"], said["events"]["extra"]), ([8], [7], 1, 0))
        for choice in (("--run", "7"), ("--ledger", self.folder / "ledger-7.json")):
            said = self.run_for_json("verify", self.sent, self.store, *choice)
            self.assertEqual((said["runs"], said["events"]["equal"]), ([7], self.EVENTS))
        together = self.run_for_json("verify", self.sent, self.store, "--run", "7", "--run", "8")
        self.assertEqual(together["events"]["repeated"], last, "each start of a daemon got them")
        code, said = self.run_tool("verify", self.sent, self.store, "--run", "7", "--ledger", of_daemon)
        self.assertEqual(code, FAILED, said)
        self.assertIn("is of run 8, which is not compared: leave it out", said)


if __name__ == "__main__":
    harness.main()
