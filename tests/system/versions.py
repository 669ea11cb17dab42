#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What earlier versions left on disk stays readable: `golden/VERSION` holds a store, a spool, ledgers, a kept batch, the record of a
run that was killed, a level-2 file, a configuration, a store of a selection with settings, summaries, payload and histograms, and a
reprocessing of it, as the programs of that version wrote them (0.1.0 had no more than the first). Whatever a release changes, it
adds a folder and keeps the others:

  KOTO_L3_BIN=FOLDER_OF_ITS_PROGRAMS tests/system/versions.py --make VERSION"""
import json
import os
import pathlib
import shutil
import sys
import unittest

import harness
import l2raw
import level2
import store_reader
from reprocess_stage import Reprocessing
from selection_stage import SELECTION

GOLDEN = pathlib.Path(__file__).resolve().parent / "golden"
SPILLS = {1: 4, 2: 3}
LATER = {3: 2}  # what a daemon of today adds to the store
ON_DISK = {"outbox": {"memory": "1 MiB", "block": "64 KiB"}}


class Versions(harness.SystemTest):
    def setUp(self):
        super().setUp()
        maker = level2.EventMaker(self.crates, 12)
        self.sent = {(s, n): maker.fragments(s, n) for s, events in (SPILLS | LATER).items() for n in range(1, events + 1)}

    def file_of(self, spills, name="sent.l2raw"):
        file = self.folder / name
        l2raw.write(file, self.crates, {s: [self.sent[s, n] for n in range(1, events + 1)] for s, events in spills.items()})
        return file

    def replay(self, file, *more):
        code, said = self.run_tool("replay", file, "--to", f"tcp://{harness.HOST}:{self.ports.tcp}", "--rate", "max", *more)
        self.assertEqual(code, 0, said)

    def those_of(self, spills):
        return {key: fragments for key, fragments in self.sent.items() if key[0] in spills}

    # What a version writes.

    def make(self, version):
        golden = GOLDEN / version
        golden.mkdir(parents=True)
        file = self.file_of(SPILLS)
        spool = {"folder": str(self.folder / "spool")}
        receiver = self.start_receiver()
        daemon = self.start_daemon(frames={"events": 4}, spool=spool, compute={"fault": "error:at=1", "dumps": str(self.folder / "dumps")})
        self.replay(file, "--ledger", golden / "sender.json")
        daemon.wait_for_stored(sum(SPILLS.values()))
        daemon.wait_for(lambda s: s["engine"]["batches_dumped"] == 1, "a kept batch")
        self.assertEqual(daemon.stop(), 0, daemon.said())
        self.assertEqual(receiver.stop(), 0)
        shutil.copy(daemon.ledger_file, golden / "daemon.json")
        shutil.copy(next((self.folder / "dumps").iterdir()), golden / "batch.l3batch")
        shutil.copytree(self.store, golden / "store", ignore=shutil.ignore_patterns("lock"))

        daemon = self.start_daemon(spool=spool, run={"drain_time_limit": "1 s"}, **ON_DISK)  # and no receiver
        self.replay(file)
        self.assertEqual(daemon.stop(), 0, daemon.said())
        shutil.copy(daemon.ledger_file, golden / "stopped.json")
        shutil.copytree(self.folder / "spool", golden / "spool")
        shutil.copy(self.folder / "l3.toml", golden / "l3.toml")
        shutil.copy(self.file_of(LATER, "later.l2raw"), golden / "sent.l2raw")

        daemon = self.start_daemon(spool={"folder": str(self.folder / "spool-2")}, run={"ledger": str(self.folder / "killed.json")}, **ON_DISK)
        self.replay(file)
        daemon.kill()
        shutil.copy(self.folder / "killed.json.live", golden / "killed.json.live")

    # What today's programs make of it.

    def each(self):
        versions = sorted(GOLDEN.iterdir())
        self.assertTrue(versions)
        for golden in versions:
            with self.subTest(golden.name):
                shutil.rmtree(self.store, ignore_errors=True)
                yield golden

    def test_a_store_is_read_checked_and_goes_on(self):
        file, later = self.file_of(SPILLS), self.file_of(LATER, "later.l2raw")
        for golden in self.each():
            shutil.copytree(golden / "store", self.store)
            self.assert_stored(self.those_of(SPILLS))
            code, said = self.run_tool("verify", file, self.store, "--ledger", golden / "sender.json", golden / "daemon.json")
            self.assertEqual(code, 0, said)
            receiver, daemon = self.start_receiver(), self.start_daemon(spool={"folder": str(self.folder / f"spool-{golden.name}")})
            self.replay(later)
            daemon.wait_for_stored(sum(LATER.values()))
            self.stop_daemon(daemon)
            self.assertEqual(receiver.stop(), 0, receiver.said())
            self.assertNotIn("damaged", receiver.said())
            self.assert_stored(self.sent)
            code, said = self.run_tool("verify", self.file_of(SPILLS | LATER, "all.l2raw"), self.store)
            self.assertEqual(code, 0, said)

    def test_a_spool_is_sent_by_the_next_start(self):
        for golden in self.each():
            spool = self.folder / f"spool-of-{golden.name}"
            shutil.copytree(golden / "spool", spool)
            for tokens in spool.glob("tokens.kl3t"):
                tokens.chmod(0o600)  # git does not keep that only its owner may read it
            self.assertEqual(self.run_tool("info", spool)[0], 0)
            receiver, daemon = self.start_receiver(), self.start_daemon(spool={"folder": str(spool)})
            harness.wait_until(lambda: daemon.status()["spool"]["events"] == 0, "an empty spool")
            ledger = self.stop_daemon(daemon)
            self.assertEqual(ledger["spool"]["found"], sum(SPILLS.values()))
            self.assertEqual(receiver.stop(), 0, receiver.said())
            self.assert_stored(self.those_of(SPILLS))

    def test_ledgers_a_kept_batch_and_a_configuration_are_read(self):
        for golden in self.each():
            for name in ("sender.json", "daemon.json", "stopped.json", "batch.l3batch", "store"):
                self.assertTrue(self.run_for_json("info", golden / name))
            code, said = self.run_tool("replay", golden / "batch.l3batch", "--on", "serial")
            self.assertEqual(code, 0, said)
            checked = self.keep(harness.Program([harness.BIN / "koto-l3d", "--config", golden / "l3.toml", "--print-config"],
                                                self.folder / "print.log"))
            self.assertEqual(checked.wait(), 0, checked.said())

    def test_a_run_that_was_killed_and_a_level_2_file(self):
        for golden in self.each():
            if not (golden / "killed.json.live").exists():
                continue  # 0.1.0 had none
            shutil.copy(golden / "killed.json.live", self.folder / "killed.json.live")
            receiver, daemon = self.start_receiver(), self.start_daemon(run={"ledger": str(self.folder / "killed.json")})
            daemon.wait_to_say("did not end properly")
            self.replay(golden / "sent.l2raw")
            daemon.wait_for_stored(sum(LATER.values()))
            self.assertEqual(daemon.stop(), 0, daemon.said())
            self.assertEqual(receiver.stop(), 0, receiver.said())
            self.assert_stored(self.those_of(LATER))


class OfASelection(Reprocessing):
    """A store of events of which each line keeps a part, and a reprocessing of it. The place of the store stands in the plan."""
    PLACE = "@STORE@"

    def make(self, version):
        golden = GOLDEN / version
        sent = self.simulate(2, spills=1)
        menu = self.write(SELECTION.replace('"decide"]', '"decide", "keep_waveforms"]').replace("prescale = 3", 'payload = "suppressed"'))
        self.start_receiver()
        daemon = self.start_daemon(selection={"lines": str(menu)}, frames=self.frames, building={"chunk_bytes": self.chunk_bytes},
                                   histograms={"one_in": 1})
        code, said = self.run_tool("replay", sent, "--to", f"tcp://{harness.HOST}:{self.ports.tcp}", "--rate", "max")
        self.assertEqual(code, 0, said)
        daemon.wait_for_stored(2)
        harness.wait_until(lambda: json.loads(daemon.get("/histograms")[1])["spill"], "the histograms of a spill that has ended")
        self.finish(daemon)
        shutil.copytree(self.store, golden / "selected", ignore=shutil.ignore_patterns("lock"))
        self.reprocess(self.store, "--menu", self.write(SELECTION, "again.toml"), "--out", golden / "reprocessed", "--skip-limited")
        for file in (golden / "reprocessed").rglob("*.json"):
            file.write_text(file.read_text().replace(str(self.store), self.PLACE))

    def each(self):
        for golden in sorted(GOLDEN.iterdir()):
            if (golden / "selected").exists():  # 0.1.0 had none
                with self.subTest(golden.name):
                    shutil.rmtree(self.store, ignore_errors=True)
                    shutil.copytree(golden / "selected", self.store)
                    yield golden

    def test_settings_summaries_payload_and_histograms(self):
        for golden in self.each():
            blocks = list(store_reader.read_store(self.store))
            self.assertEqual(sum(len(b.events) for b in blocks), 2)
            self.assertTrue(any(b.histograms for b in blocks))
            self.assertEqual(self.run_for_json("info", self.store)["events"], 2)
            code, said = self.run_tool("histograms", self.store, "--spill", "1")
            self.assertEqual(code, 0, said)
            self.run_for_json("efficiency", self.store, "--reference", "second")
            code, said = self.run_tool("inspect", self.store, "--event", "1/1")
            self.assertEqual(code, 0, said)
            self.assertIn("suppressed", said)

    def test_a_reprocessing_is_checked_and_goes_on(self):
        for golden in self.each():
            out = self.folder / f"out-{golden.name}"
            shutil.copytree(golden / "reprocessed", out)
            for file in out.rglob("*.json"):
                file.write_text(file.read_text().replace(self.PLACE, str(self.store)))
            verdict = self.reprocess("--out", out, "--check", "--skip-limited", "--json")
            self.assertTrue(verdict["holds"], verdict)
            self.assertEqual((verdict["events"]["in"], verdict["events"]["limited"]), (2, 2))
            self.assertEqual(self.reprocess("--out", out, "--skip-limited", "--json")["tasks_run"], 0)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--make"]:
        for what in (Versions, OfASelection):
            maker = what()
            maker.set_up_stage()
            what.setUp(maker)
            try:
                maker.make(sys.argv[2])
            finally:
                maker.stop_programs()
                maker.leave_stage()
    else:
        harness.main()
