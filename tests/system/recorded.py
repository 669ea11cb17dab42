#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The settings in the stream: from a store alone, whatever became of the daemon's files, each event is decided again as it was, bit
for bit; and where that cannot be, it is said why."""
import json
import shutil
import struct
import subprocess

import harness
import store_reader
from selection_stage import DETECTOR, FAILED, RUN, SELECTION, USAGE, Selecting

CALIBRATION = "input,gain,time,threshold,dead\n0/3/7,0.09,,,\n12/4/0,,,,1\n"


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
            file = self.simulate(40, f"{run}.l2raw", run)
            # Histograms bring further copies of the settings: those of the first run have one.
            daemon = self.start_daemon(run={"number": run}, selection=menu, frames=self.frames, histograms={"one_in": int(run != RUN)})
            code, said = self.run_tool("replay", file, "--to", f"tcp://{harness.HOST}:{self.ports.tcp}", "--rate", "max")
            self.assertEqual(code, 0, said)
            daemon.wait_for(lambda s: s["events"]["admitted"] == 40 and not s["events"]["in_flight"], "40 events")
            ledger = self.stop_daemon(daemon)
            self.kept[run] = ledger["events"]["forwarded"]
        self.assertEqual(receiver.stop(), 0)
        for name in ("calibration.csv", "detector.toml", "selection.toml"):
            (self.folder / name).unlink()
        self.assertGreater(self.kept[RUN], 2)
        self.assertEqual(self.kept[RUN + 1], 40)

    def test_a_store_is_decided_again_from_itself_alone(self):
        self.two_runs()
        said = self.again(self.store)
        both = sum(self.kept.values())
        self.assertEqual(said["total"], {"events": both, "as_stored": both, "different": 0, "not_selected": 0, "refused": 0, "reasons": {}})
        stored = {(b.run, e.spill, e.number): e for b in store_reader.read_store(self.store) for e in b.events}
        for e in said["events"]:
            summary = stored[e["run"], e["spill"], e["event"]].summary
            self.assertEqual((e["settings"], e["quantities"]), (summary.settings, summary.quantities))
        for executor in ("serial", "shuffled"):
            self.assertEqual(self.again(self.store, "--executor", executor, "--batch", "3"), said)
        told = {b.run: b.settings for b in store_reader.read_store(self.store) if b.settings}
        self.assertEqual((told[RUN].mode, told[RUN].calibration, told[RUN].detector), ("select", CALIBRATION, DETECTOR))
        self.assertEqual((told[RUN + 1].mode, told[RUN + 1].selection, told[RUN + 1].calibration), ("record", SELECTION, None))
        self.assertEqual(len(told[RUN].crates), 18)
        self.assertTrue(all(t.software.startswith("koto-l3d ") for t in told.values()))
        self.reprocessed(both)
        self.damaged(both)

    def reprocessed(self, both):
        """What is made of a store holds its own settings."""
        out = self.folder / "out"
        for file in sorted(self.store.glob("blocks-*.kl3")):
            code, said = self.run_tool("reprocess", file, out, "--menu", "built-in")
            self.assertEqual(code, 0, said)
        total = self.again(out)["total"]
        self.assertEqual(total["as_stored"], total["events"])
        self.assertGreater(total["events"], 2)
        self.assertLess(total["events"], both)
        code, said = self.run_tool("efficiency", out)
        self.assertEqual(code, FAILED, said)
        self.assertIn("no unbiased sample: these events were decided again", said)

    def damaged(self, both):
        """A store whose only copy of the settings is damaged, and one whose blocks say other settings."""
        first = min(self.store.glob("blocks-*.kl3"))
        data = first.read_bytes()
        head = store_reader.FILE_HEADER.size
        fields = store_reader.BLOCK_HEADER.unpack_from(data, head)
        end = head + store_reader.BLOCK_HEADER.size + fields[4]
        events = len([b for b in store_reader.read_file(first)][0].events)
        store = self.folder / "damaged"
        shutil.copytree(self.store, store)
        (store / first.name).write_bytes(data[:end - 9] + bytes([data[end - 9] ^ 1]) + data[end - 8:])
        code, said = self.run_tool("select", store, "--as-recorded")
        self.assertEqual(code, FAILED, said)
        self.assertIn("1 blocks whose payload is not what was written", said)
        refused = self.kept[RUN] - events
        self.assertIn(f"{both - self.kept[RUN]} are decided as they are stored", said)
        if refused:
            self.assertIn("the block that holds its session's settings is damaged", said)

        def change(old, new):
            """Other words of the same length in the recorded text, with right checksums."""
            changed = data[:end].replace(old, new, 1)
            self.assertNotEqual(changed, data[:end])
            payload = changed[head + store_reader.BLOCK_HEADER.size:]
            top = list(fields)
            top[-2] = store_reader.crc32c(payload)
            top = store_reader.BLOCK_HEADER.pack(*top)[:60]
            top += store_reader.crc32c(top).to_bytes(4, "little")
            (store / first.name).write_bytes(data[:head] + top + payload + data[end:])

        change(b'name = "pi0nunu"', b'nome = "pi0nunu"')  # no menu at all: the other session goes on
        total = self.again(store, code=FAILED)["total"]
        self.assertEqual((total["as_stored"], total["refused"]), (both - self.kept[RUN], self.kept[RUN]))
        self.assertRegex(next(iter(total["reasons"])), "the settings of session .*nome")
        change(b'name = "pi0nunu"', b'name = "pi0nunU"')  # the summaries' hash tells
        code, said = self.run_tool("select", store, "--as-recorded")
        self.assertEqual(code, FAILED, said)
        self.assertRegex(said, f"{self.kept[RUN]}: koto-l3d .* decided it by settings ........, and koto-l3 .* makes ........ of the same texts")

    def test_efficiencies_are_those_of_the_unbiased_events(self):
        file = self.simulate(80)
        ledger = self.finish(self.run_daemon(80, file=file, mode="record"))
        said = self.select(file)
        p = subprocess.run([harness.BIN / "koto-l3", "efficiency", self.store, "--json"], capture_output=True, text=True, timeout=harness.PATIENCE)
        self.assertEqual(p.returncode, 0, p.stderr)
        self.ledgers_of_efficiency(ledger)
        of, = json.loads(p.stdout)["settings"]
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
        self.assertIn("all events: 80 events", self.run_tool("efficiency", self.store)[1])
        self.assertEqual(self.run_tool("efficiency", self.folder)[0], 69)
        self.options_of_efficiency()
        self.with_damage()
        self.being_written()
        self.with_damage_under_right_checksums(file)

    def ledgers_of_efficiency(self, ledger):
        """What was given up by priority leaves no sample without a bias: a ledger says it, or it is not known."""
        file, unknown = self.folder / "given.json", "whether events were given up by priority is not known of 1 session"
        self.assertIn(unknown, self.run_tool("efficiency", self.store)[1])
        for shed, code, text in (({}, 0, "all events: 80 events"), ({"no_frame": 3}, 0, "all events: 80 events"),
                                 ({"priority": 3}, FAILED, "given.json: 3 events were given up by the priority of the lines that kept them")):
            with self.subTest(shed):
                events = {**ledger["events"], "shed": {**ledger["events"]["shed"], **shed}}
                events["admitted"] += sum(shed.values())
                file.write_text(json.dumps({**ledger, "events": events}))
                got, said = self.run_tool("efficiency", self.store, "--ledger", file)
                self.assertEqual(got, code, said)
                self.assertIn(text, said)
                self.assertNotIn(unknown, said)
        file.write_text(json.dumps({**ledger, "ended": False, "clean": False}))
        got, said = self.run_tool("efficiency", self.store, "--ledger", file)
        self.assertEqual(got, 0, said)
        self.assertIn("given.json is not final: the daemon still runs or was killed", said)
        self.assertIn(unknown, said)
        got, said = self.run_tool("efficiency", self.store, "--ledger", self.store / "ledger.json")
        self.assertEqual(got, USAGE, said)

    def options_of_efficiency(self):
        """What says nothing of this store is refused."""
        of, = self.run_for_json("efficiency", self.store, "--reference", "pass_through")["settings"]
        self.assertEqual([s["reference"] for s in of["samples"]], ["pass_through", "all events"])
        code, said = self.run_tool("efficiency", self.store, "--reference", "pas_through")
        self.assertEqual(code, USAGE, said)
        self.assertIn("--reference pas_through: there is no such line; there are ", said)

    def with_damage(self):
        """A damaged block fails each command that reads a store, unless it is told to leave out what is damaged."""
        store = self.folder / "with_damage"
        shutil.copytree(self.store, store)
        last = harness.store_file(store)
        data = bytearray(last.read_bytes())
        data[len(data) // 2] ^= 1
        last.write_bytes(data)
        for command in (("efficiency",), ("select", "--totals"), ("select", "--as-recorded")):
            with self.subTest(command):
                code, said = self.run_tool(*command, store)
                self.assertEqual(code, FAILED, said)
                self.assertIn("(--skip-damaged accepts that)", said)
                code, said = self.run_tool(*command, store, "--skip-damaged")
                self.assertEqual(code, 0, said)
                self.assertRegex(said, "damaged: 0 places that are no block, 1 blocks whose payload is not what was written, [1-9]")
                self.assertNotIn("accepts", said)

    def being_written(self):
        """A file that is not complete, and ends within a block, is that of a receiver at work: it is told, and no damage."""
        store = self.folder / "being_written"
        shutil.copytree(self.store, store)
        file = harness.store_file(store)
        file.with_suffix(".json").unlink()
        opened = file.rename(store / f"{file.name[:len('blocks-000001')]}.kl3")
        with open(opened, "r+b") as f:
            f.truncate(opened.stat().st_size - 8)
        for command in (("info", store), ("info", opened), ("extract", store, self.folder / "parts"), ("efficiency", store),
                        ("select", "--totals", store), ("select", "--as-recorded", store)):
            with self.subTest(command):
                code, said = self.run_tool(*command)
                self.assertEqual(code, 0, said)
                self.assertRegex(said, r"blocks-\d+\.kl3: its last \d+ bytes are no whole block")
                self.assertNotIn("damaged", said.lower())

    def with_damage_under_right_checksums(self, sent):
        """What breaks a rule of the format is damage to every reader, whatever its checksums say."""
        data = harness.store_file(self.store).read_bytes()
        head, block = 16, store_reader.BLOCK_HEADER.size
        fields = list(store_reader.BLOCK_HEADER.unpack_from(data, head))
        end = head + block + fields[4]
        number = struct.unpack_from("<Q", data, 8)[0]
        events = fields[5]
        first = store_reader.read_file(harness.store_file(self.store))
        spill, event = next((e.spill, e.number) for b in first for e in b.events)

        def sealed(events, payload):
            top = list(fields)
            top[5], top[-2] = events, store_reader.crc32c(payload)
            top = store_reader.BLOCK_HEADER.pack(*top)[:60]
            return data[:head] + top + store_reader.crc32c(top).to_bytes(4, "little") + payload + data[end:]

        payload = data[head + block:end]
        padded, at = None, 0  # a byte of padding of the first event that has some
        while padded is None:
            length, boards, fragments = (struct.unpack_from(form, payload, at + where)[0] for form, where in (("<I", 0), ("<I", 16), ("<H", 14)))
            tables = at + 32 + 8 * fragments + 4 * boards
            padded = tables if boards % 2 else at + length - 1 if payload[at + length - 1] == 0 and length % 8 == 0 else None
            at += length
        changes = {f"{n} events": sealed(n, payload) for n in (0, events + 1, 1 << 31)}
        changes["padding"] = sealed(events, payload[:padded] + b"\1" + payload[padded + 1:])
        for name, changed in changes.items():
            store = self.folder / name.replace(" ", "_")
            store.mkdir()
            (store / f"blocks-{number:06}.kl3").write_bytes(changed)
            for command in (("info",), ("extract",), ("efficiency",), ("select", "--totals"), ("select", "--as-recorded"), ("verify",)):
                with self.subTest(name, command=command):
                    paths = {"extract": (store, store / "out"), "verify": (sent, store)}.get(command[0], (store,))
                    code, said = self.run_tool(*command, *paths)
                    self.assertEqual(code, FAILED, said)
                    self.assertIn("damaged", said)
            if name != "padding":
                with self.subTest(name, command="inspect"):
                    code, said = self.run_tool("inspect", store, "--event", f"{spill}/{event}")
                    self.assertEqual(code, 0, said)
                    self.assertIn("a part of it cannot be read, as `koto-l3 info` tells", said)

    def test_a_run_without_a_selection_tells_its_readout(self):
        file = self.simulate(4, spills=1)
        self.finish(self.run_daemon(4, selection="", file=file))
        told, = [b.settings for b in store_reader.read_store(self.store) if b.settings]
        self.assertEqual((len(told.crates), told.selection, told.detector), (18, None, None))
        self.assertEqual(self.again(self.store)["total"]["not_selected"], 4)


if __name__ == "__main__":
    harness.main()
