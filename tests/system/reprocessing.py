#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A store file decided and packed again: bit for bit what a daemon with that selection would have stored, on every executor. A file
that is made already stays; one that is damaged needs a person's word."""
import json
import struct
import subprocess

import harness
import store_reader
from crc32c import crc32c
from selection_stage import FAILED, RUN, SELECTION, Selecting

HEAD, BLOCK = store_reader.FILE_HEADER, store_reader.BLOCK_HEADER


def blocks_in(file):
    """[(fields of the header, packed events, settings and what else is behind them)] of a file that holds whole blocks only."""
    data, at, found = file.read_bytes(), HEAD.size, []
    while at < len(data):
        fields = BLOCK.unpack_from(data, at)
        at, end = at + BLOCK.size, at + BLOCK.size + fields[4]
        events = []
        while at < end - fields[12]:
            length = struct.unpack_from("<I", data, at)[0]
            events.append(data[at:at + length])
            at += length
        found.append((fields, events, data[at:end]))
        at = end
    return found


def of_another_run(fields, events, behind, run):
    """The bytes of such a block."""
    payload, changed = b"".join(events) + behind, list(fields)
    changed[8], changed[-2] = run, crc32c(payload)
    head = BLOCK.pack(*changed)[:60]
    return head + struct.pack("<I", crc32c(head)) + payload


def keys_of(events):
    return [store_reader.EVENT_HEADER.unpack_from(e)[1:3] for e in events]


class Reprocessing(Selecting):
    EVENTS = 40

    def stored_whole(self, events=EVENTS):
        """(the file that was sent, the store file of all its events)"""
        sent = self.simulate(events)
        self.start_receiver()
        daemon = self.start_daemon(frames=self.frames, outbox={"block": "128 KiB"}, building={"chunk_bytes": self.chunk_bytes})
        self.run_replay(sent)
        daemon.wait_for_stored(events)
        self.finish(daemon)
        whole = harness.store_file(self.store)
        self.assertGreater(len(blocks_in(whole)), 3)
        return sent, whole

    def reprocess(self, *arguments, code=0):
        p = subprocess.run([harness.BIN / "koto-l3", "reprocess", *map(str, arguments), "--json"], capture_output=True, text=True,
                           timeout=harness.PATIENCE)
        self.assertEqual(p.returncode, code, p.stdout + p.stderr)
        return json.loads(p.stdout) if p.stdout else p.stderr

    def verify_reprocessed(self, sent, out):
        """No receiver wrote there: nothing but its ledger is missing."""
        code, verdict = self.verify(sent, "--selection", "built-in", store=out)
        self.assertEqual((code, verdict["events_hold"], len(verdict["objections"])), (FAILED, True, 1), verdict)
        self.assertIn("has no ledger of its receiver", verdict["objections"][0])
        return verdict

    def test_what_a_daemon_would_have_stored(self):
        sent, whole = self.stored_whole()
        out = self.folder / "out"
        said = self.reprocess(whole, out, "--selection", "built-in")
        kept = self.select(sent)["total"]["kept"]
        self.assertEqual(said["events"], {"in": self.EVENTS, "kept": kept, "rejected": self.EVENTS - kept, "limited": 0, "unreadable": 0})
        verdict = self.verify_reprocessed(sent, out)
        self.assertEqual((verdict["events"]["equal"], verdict["events"]["rejected"]), (kept, self.EVENTS - kept))
        for mine, given in zip(blocks_in(out / whole.name), blocks_in(whole), strict=True):
            self.assertEqual(mine[0][7:10], given[0][7:10], "number, run and node of the block that it was made of")

        # The same bytes as those of a daemon that selects.
        self.ports, self.store = harness.Ports(), self.folder / "selected"
        self.finish(self.run_daemon(self.EVENTS, file=sent))
        again = store_reader.packed_events_of(out)
        self.assertTrue(store_reader.packed_events_of(self.store) == again, "not the bytes of a daemon")
        self.assert_summaries(self.select(sent), again)

        # Every tool reads it, and a reprocessing of it keeps all.
        self.assertEqual(self.run_tool("info", out)[0], 0)
        said = self.reprocess(out / whole.name, self.folder / "twice", "--selection", "built-in")
        self.assertEqual((said["events"]["kept"], said["events"]["rejected"]), (kept, 0))
        self.assertTrue(store_reader.packed_events_of(self.folder / "twice") == again)

        # The bytes do not depend on where they were computed.
        for executor, batch in (("serial", 3), ("pool", 64)):
            other = self.folder / executor
            self.reprocess(whole, other, "--selection", "built-in", "--backend", executor, "--batch", batch)
            for file in out.iterdir():
                self.assertEqual((other / file.name).read_bytes(), file.read_bytes(), file.name)

    def test_a_file_that_is_made_stays(self):
        _, whole = self.stored_whole(20)
        out, menu = self.folder / "out", self.write(SELECTION)
        command = (whole, out, "--selection", menu)
        killed = self.start_tool("reprocess", *command, "--backend", "serial")
        harness.wait_until(lambda: list(out.glob("*.new")) or not killed.running(), "a file that is being written")
        killed.kill()
        made = out / whole.name
        if not made.exists():  # it may have been quicker
            (out / f"{whole.name}.new").write_text("half" * 1000)
            self.assertTrue(self.reprocess(*command)["made"])
        self.assertEqual(sorted(f.name for f in out.iterdir()), [whole.with_suffix(".json").name, whole.name])
        before, time = made.read_bytes(), made.stat().st_mtime_ns
        self.assertFalse(self.reprocess(*command)["made"])
        self.assertEqual(made.stat().st_mtime_ns, time)
        self.assertIn("was not made from this file with these settings", self.reprocess(whole, out, "--selection", "built-in", code=FAILED))
        made.unlink()
        self.assertTrue(self.reprocess(*command)["made"])
        self.assertEqual(made.read_bytes(), before)

    def test_several_runs_and_damage(self):
        _, whole = self.stored_whole(20)
        menu = self.write(SELECTION)
        # Prescales go by the run of the block.
        blocks = blocks_in(whole)
        several = self.folder / "several" / "blocks-000001-several.kl3"
        several.parent.mkdir()
        several.write_bytes(whole.read_bytes()[:HEAD.size] + b"".join(of_another_run(*b, RUN + n % 2) for n, b in enumerate(blocks)))
        self.reprocess(several, self.folder / "out", "--selection", menu)
        kept_of = {run: {(e["spill"], e["event"]) for e in self.select(self.simulate(20, f"{run}.l2raw", run), menu)["events"] if e["kept"]}
                   for run in (RUN, RUN + 1)}
        self.assertNotEqual(kept_of[RUN], kept_of[RUN + 1])
        for given, (fields, made, _) in zip(blocks, blocks_in(self.folder / "out" / several.name), strict=True):
            self.assertEqual(keys_of(made), [k for k in keys_of(given[1]) if k in kept_of[fields[8]]])

        # What is damaged is left out, and counted, if a person accepts it.
        data, out = bytearray(whole.read_bytes()), self.folder / "damaged"
        lost = blocks[0][0][5]
        data[HEAD.size + BLOCK.size + 200] ^= 1
        whole.write_bytes(data)
        self.assertIn("--skip-damaged accepts that", self.run_tool("reprocess", whole, out, "--selection", menu)[1])
        self.assertEqual(list(out.iterdir()), [])
        for made in (True, False):
            said = self.reprocess(whole, out, "--selection", menu, "--skip-damaged")
            self.assertEqual(said["made"], made)
            if made:
                self.assertEqual((said["events"]["in"], said["events"]["unreadable"]), (20, lost))
                self.assertEqual(said["events"]["kept"] + said["events"]["rejected"], 20 - lost)

    def test_another_codec(self):
        sent, whole = self.stored_whole(20)
        stored, strong, back = (self.folder / name for name in ("stored", "strong", "back"))
        self.reprocess(whole, stored, "--selection", "built-in")
        said = self.reprocess(whole, strong, "--selection", "built-in", "--codec", "strong")
        self.assertGreater(said["events"]["kept"], 0)
        self.assertEqual({fields[2] for fields, _, _ in blocks_in(strong / whole.name)}, {2})
        self.assertLess((strong / whole.name).stat().st_size, (stored / whole.name).stat().st_size)
        self.assertEqual(self.verify_reprocessed(sent, strong)["events"]["equal"], said["events"]["kept"])
        self.reprocess(strong / whole.name, back, "--selection", "built-in", "--codec", "koto")
        self.assertTrue(store_reader.packed_events_of(back) == store_reader.packed_events_of(stored))


if __name__ == "__main__":
    harness.main()
