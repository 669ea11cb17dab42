#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A store file decided and packed again: bit for bit what a daemon with that selection would have stored, on every executor and in another
codec. A file that is made already stays. Damaged ones are those of selecting.py. And a batch on which a device failed is kept, and `koto-l3
rerun` computes it again and compares; which faults of a device cost nothing is the row R12–14 of tests/fault."""
import harness
import store_reader
from selection_stage import DEPLOY, FAILED, SELECTION, Selecting

EVENTS = 40


class Reprocessing(Selecting):
    def setUp(self):
        """A store file of all events that were sent."""
        super().setUp()
        self.sent = self.simulate(EVENTS)
        self.start_receiver()
        daemon = self.start_daemon(frames=self.frames, outbox={"block": "128 KiB"})
        self.run_replay(self.sent)
        daemon.wait_for_stored(EVENTS)
        self.finish(daemon)
        self.whole = harness.store_file(self.store)

    def reprocess(self, file, out, *more, selection="built-in"):
        return self.run_for_json("reprocess", file, out, "--selection", selection, *more)

    def verified(self, out):
        """How many events; no receiver wrote there: nothing but its ledger is missing."""
        code, verdict = self.verify(self.sent, "--selection", "built-in", store=out)
        self.assertEqual((code, verdict["events_hold"], len(verdict["objections"])), (FAILED, True, 1), verdict)
        self.assertIn("has no ledger of its receiver", verdict["objections"][0])
        return {what: verdict["events"][what] for what in ("equal", "rejected")}

    def blocks(self, file):
        return [(b.sequence, b.run, b.node) for b in store_reader.read_file(file)]

    def test_what_a_daemon_would_have_stored(self):
        out, twice, strong, back = (self.folder / name for name in ("out", "twice", "strong", "back"))
        said, kept = self.reprocess(self.whole, out), self.select(self.sent)["total"]["kept"]
        self.assertEqual(said["events"], {"in": EVENTS, "kept": kept, "rejected": EVENTS - kept, "limited": 0, "unreadable": 0})
        self.assertEqual(self.verified(out), {"equal": kept, "rejected": EVENTS - kept})
        self.assertGreater(len(self.blocks(self.whole)), 3)
        self.assertEqual(self.blocks(out / self.whole.name), self.blocks(self.whole))

        # The same bytes as those of a daemon that selects.
        again = store_reader.packed_events_of(out)
        self.assertTrue(self.judge(self.sent, EVENTS).packed == again, "not the bytes of a daemon")

        # A reprocessing of it keeps all.
        said = self.reprocess(out / self.whole.name, twice)
        self.assertEqual((said["events"]["kept"], said["events"]["rejected"]), (kept, 0))
        self.assertTrue(store_reader.packed_events_of(twice) == again)

        # The bytes do not depend on where they were computed.
        for executor, batch in (("serial", 3), ("pool", 64)):
            other = self.folder / executor
            self.reprocess(self.whole, other, "--backend", executor, "--batch", batch)
            for file in out.iterdir():
                self.assertEqual((other / file.name).read_bytes(), file.read_bytes(), file.name)

        # In the other codec and back.
        self.reprocess(self.whole, strong, "--codec", "strong")
        self.assertLess((strong / self.whole.name).stat().st_size, (out / self.whole.name).stat().st_size)
        self.assertEqual(self.verified(strong)["equal"], kept)
        self.reprocess(strong / self.whole.name, back, "--codec", "koto")
        self.assertTrue(store_reader.packed_events_of(back) == again)

    def test_a_file_that_is_made_stays(self):
        out, menu = self.folder / "out", self.write(SELECTION)
        killed = self.start_tool("reprocess", self.whole, out, "--selection", menu, "--backend", "serial")
        harness.wait_until(lambda: list(out.glob("*.new")) or not killed.running(), "a file that is being written")
        killed.kill()
        made = out / self.whole.name
        if not made.exists():  # it may have been quicker
            self.assertTrue(self.reprocess(self.whole, out, selection=menu)["made"])
        self.assertEqual(sorted(f.name for f in out.iterdir()), [made.with_suffix(".json").name, made.name])
        before = made.read_bytes(), made.stat().st_mtime_ns
        self.assertFalse(self.reprocess(self.whole, out, selection=menu)["made"])
        self.tool("reprocess", self.whole, out, "--selection", "built-in", code=FAILED, says="was not made from this file with these settings")
        self.assertEqual((made.read_bytes(), made.stat().st_mtime_ns), before)


class KeptBatches(Selecting):
    def test_a_wrong_bit_is_found_again(self):
        """The files of the selection may have gone since."""
        selection = {key: self.write((DEPLOY / name).read_text(), name) for key, name in (("lines", "selection.toml"), ("detector", "detector.toml"))}
        receiver = self.start_receiver()
        daemon = self.start_daemon(harness.failing("wrong_bit:at=2"), frames={"events": 4, "count": 4},
                                   selection={key: str(file) for key, file in selection.items()}, compute={"verify_one_in": 1})
        self.run_replay(self.simulate(60))
        daemon.wait_for(lambda s: s["engine"]["batches_dumped"] == 1, "a kept batch")
        self.assertEqual((daemon.stop(), receiver.stop()), (0, 0))
        for file in selection.values():
            file.unlink()
        for backend, texts in (("serial", (r"the stored output: spill 1, event \d+ differs in 1 of \d+ bytes",
                                           r"the stored output: 1 of \d events differ from serial")),
                               ("pool", (r"pool \(\d+ threads?\): the same as serial", "the stored output: 1 of "))):
            self.tool("rerun", *(self.folder / "dumps").iterdir(), "--backend", backend, code=FAILED, says=texts)


if __name__ == "__main__":
    harness.main()
