#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The settings in the stream: from a store alone, whatever became of the daemon's files, each event is decided again as it was, bit
for bit; and where that cannot be, it is said why."""
import json
import struct

import harness
import store_reader
from selection_stage import DETECTOR, FAILED, MISSING, RUN, SELECTION, USAGE, Selecting

CALIBRATION = "input,gain,time,threshold,dead\n0/3/7,0.09,,,\n12/4/0,,,,1\n"


def sealed(fields):
    """A block's header with its checksum."""
    head = store_reader.BLOCK_HEADER.pack(*fields)[:60]
    return head + store_reader.crc32c(head).to_bytes(4, "little")


class Recorded(Selecting):
    def again(self, store, *more, code=0):
        return self.run_for_json("select", store, "--as-recorded", *more, code=code)

    def two_runs(self):
        """A store of two runs: of one menu that selects, with a calibration, and of another that records. Its files are gone."""
        receiver = self.start_receiver()
        calibration, detector = self.write(CALIBRATION, "calibration.csv"), self.write(DETECTOR, "detector.toml")
        menus = {RUN: {"lines": "built-in", "calibration": str(calibration), "detector": str(detector)},
                 RUN + 1: {"lines": str(self.write(SELECTION)), "mode": "record"}}
        self.kept = {}
        for run, menu in menus.items():
            events = 40 if run == RUN else 10
            file = self.simulate(events, f"{run}.l2raw", run)
            # Histograms bring further copies of the settings: those of the first run have one.
            daemon = self.start_daemon(run={"number": run}, selection=menu, frames=self.frames, histograms={"one_in": int(run != RUN)})
            self.run_replay(file)
            daemon.wait_for(lambda s: s["events"]["admitted"] == events and not s["events"]["in_flight"], "all events")
            ledger = self.stop_daemon(daemon)
            self.kept[run] = ledger["events"]["forwarded"]
        self.assertEqual(receiver.stop(), 0)
        for name in ("calibration.csv", "detector.toml", "selection.toml"):
            (self.folder / name).unlink()
        self.assertGreater(self.kept[RUN], 2)
        self.assertEqual(self.kept[RUN + 1], 10)

    def test_a_store_is_decided_again_from_itself_alone(self):
        self.two_runs()
        said = self.again(self.store)
        both = sum(self.kept.values())
        self.assertEqual(said["total"], {"events": both, "as_stored": both, "different": 0, "not_selected": 0, "refused": 0, "reasons": {}})
        stored = {(b.run, e.spill, e.number): e for b in store_reader.read_store(self.store) for e in b.events}
        for e in said["events"]:
            summary = stored[e["run"], e["spill"], e["event"]].summary
            self.assertEqual((e["settings"], e["quantities"]), (summary.settings, summary.quantities))
        self.assertEqual(self.again(self.store, "--backend", "serial", "--batch", "3"), said)
        told = {b.run: b.settings for b in store_reader.read_store(self.store) if b.settings}
        self.assertEqual((told[RUN].mode, told[RUN].calibration, told[RUN].detector), ("select", CALIBRATION, DETECTOR))
        self.assertEqual((told[RUN + 1].mode, told[RUN + 1].selection, told[RUN + 1].calibration), ("record", SELECTION, None))
        self.assertEqual(len(told[RUN].crates), 18)
        self.assertTrue(all(t.software.startswith("koto-l3d ") for t in told.values()))
        out = self.folder / "out"  # what is made of a store holds its own settings, and is no unbiased sample
        code, text = self.run_tool("reprocess", min(self.store.glob("blocks-*.kl3")), out, "--selection", "built-in")
        self.assertEqual(code, 0, text)
        total = self.again(out)["total"]
        self.assertTrue(0 < total["events"] == total["as_stored"], total)
        code, text = self.run_tool("efficiency", out)
        self.assertEqual(code, FAILED, text)
        self.assertIn("no unbiased sample: these events were decided again", text)

    def test_efficiencies_are_those_of_the_unbiased_events(self):
        file = self.simulate(80)
        ledger = self.finish(self.run_daemon(80, file=file, mode="record"))
        said = self.select(file)
        summary = self.run_for_json("inspect", self.store, "--event", f"{said['events'][0]['spill']}/{said['events'][0]['event']}")["summary"]
        self.assertTrue(summary["names_are_of_these_settings"], "the same lines, in the mode that records")
        self.ledgers_of_efficiency(ledger)
        of, = self.run_for_json("efficiency", self.store)["settings"]
        samples = {s["reference"]: s for s in of["samples"]}
        self.assertEqual(set(samples), {"pass_through", "minimum_bias", "all events"})
        self.assertEqual(samples["all events"]["events"], 80)
        self.assertEqual(samples["pass_through"]["one_in"], 100)
        for line, total in zip(samples["all events"]["lines"], said["total"]["lines"]):
            self.assertEqual((line["line"], line["fired"]["some"], line["fired"]["all"]), (total["line"], total["fired"], 80))
            triggered = 80 - total["refused"].get("trigger", 0)
            self.assertEqual(line["fired_of_triggered"] and line["fired_of_triggered"]["all"], triggered or None)
            self.assertLessEqual(line["fired"]["lower"], line["fired"]["value"])
        kept = [e for e in said["events"] if "minimum_bias" in e["kept_by"]]
        self.assertEqual(samples["minimum_bias"]["events"], len(kept))
        of, = self.run_for_json("efficiency", self.store, "--reference", "pass_through")["settings"]
        self.assertEqual([s["reference"] for s in of["samples"]], ["pass_through", "all events"])
        code, text = self.run_tool("efficiency", self.store, "--reference", "pas_through")
        self.assertEqual(code, USAGE, text)
        self.assertIn("--reference pas_through: there is no such line; there are ", text)
        self.assertEqual(self.run_tool("efficiency", self.folder)[0], MISSING)

    def ledgers_of_efficiency(self, ledger):
        """What was given up by priority leaves no sample without a bias: a ledger says it, or it is not known."""
        file, unknown = self.folder / "given.json", "for 1 session it is unknown whether events were shed by priority"
        self.assertIn(unknown, self.run_tool("efficiency", self.store)[1])
        for shed, code, text in (({"no_frame": 3}, 0, "all events: 80 events"), ({"priority": 3}, FAILED, "given.json: 3 events were shed by priority")):
            events = {**ledger["events"], "shed": {**ledger["events"]["shed"], **shed}}
            events["admitted"] += sum(shed.values())
            file.write_text(json.dumps({**ledger, "events": events}))
            got, said = self.run_tool("efficiency", self.store, "--ledger", file)
            self.assertEqual(got, code, said)
            self.assertIn(text, said)
            self.assertNotIn(unknown, said)

    def test_each_command_tells_damage_and_what_is_still_written(self):
        """What breaks a rule of the format is damage to every reader, whatever its checksums say. A file that is not complete, and ends
        within a block, is that of a receiver at work."""
        sent = self.simulate(12)
        self.finish(self.run_daemon(12, file=sent, mode="record"))
        whole = harness.store_file(self.store)
        data, head = whole.read_bytes(), store_reader.FILE_HEADER.size
        number, = struct.unpack_from("<Q", data, 8)
        block = head + store_reader.BLOCK_HEADER.size
        top = list(store_reader.BLOCK_HEADER.unpack_from(data, head))
        top[5] += 1
        more_events = data[:head] + sealed(top) + data[block:]
        name = f"blocks-{number:06}.kl3"
        readers = (("info",), ("extract",), ("efficiency",), ("select", "--totals"), ("select", "--as-recorded"))
        skipping = ("--skip-damaged",)
        middle = len(data) // 2
        bit = data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1:]
        for case, bytes_of_it, commands, more, code, text in (
                ("more events", more_events, (*readers, ("verify",)), (), FAILED, "damaged"),
                ("a bit", bit, readers[2:], (), FAILED, r"\(--skip-damaged accepts that\)"),
                ("a bit, skipped", bit, readers[2:], skipping, 0,
                 "damaged: 0 places without a block, 1 blocks with a damaged payload, [1-9]"),
                ("being written", data[:-8], readers, (), 0, r"blocks-\d+\.kl3: its last \d+ bytes are not a whole block")):
            store = self.folder / case.replace(" ", "_")
            store.mkdir()
            (store / name).write_bytes(bytes_of_it)
            for command in commands:
                with self.subTest(case, command=command):
                    paths = {"extract": (store, store / "out"), "verify": (sent, store)}.get(command[0], (store,))
                    got, said = self.run_tool(*command, *paths, *more)
                    self.assertEqual(got, code, said)
                    self.assertRegex(said, text)
                    self.assertEqual("damaged" in said.lower(), case != "being written")
        event = next(store_reader.read_file(whole)).events[0]
        code, said = self.run_tool("inspect", self.folder / "more_events", "--event", f"{event.spill}/{event.number}")
        self.assertEqual(code, 0, said)
        self.assertIn("a part of it cannot be read; `koto-l3 info` shows which", said)


if __name__ == "__main__":
    harness.main()
