#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What is kept of an event by its lines: which waveforms are there is what docs/formats.md says, those that are there are as they were
sent, those that are not lie within their levels, and every program says whose waveforms are missing and why."""
import collections
import hashlib
import json
import shutil
import struct
import sys
import tomllib

import harness
import level2
import store_reader
from selection_stage import DEPLOY, FAILED, RUN, Selecting

sys.path.insert(0, str(harness.HERE.parent / "offline"))
import simulated_constants  # noqa: E402

SUPPRESSED = DEPLOY / "selection-suppressed.toml"
EVENTS = 40


def levels(settings):
    """(lowest, highest) of a quiet waveform, by input: section 7, from the settings in the stream alone."""
    signals = tomllib.loads(settings.detector)["signals"]
    suppression = tomllib.loads(settings.selection)["suppression"]
    k, found = round(suppression["sigma"] * 256), []
    inputs = 16 * sum(c.boards for c in level2.readout(level2.KOTO))
    for pedestal, noise in simulated_constants.pedestals_and_noise(inputs, signals):
        p, q = 16384 * round(4 * pedestal), round(256 * noise)
        found.append((max(0, -(-(p - q * k) // 65536)), (p + q * k) // 65536))
    return found


class Payload(Selecting):
    def waveforms(self, event, sent):
        """(input, is there, samples sent) of every waveform of every board that is not raw."""
        first_board = 0
        for place, crate in enumerate(self.crates):
            for i, slot in enumerate(level2.SLOTS[:crate.boards]):
                at = 4 + i * level2.BOARD_BYTES + 12
                words = struct.unpack_from(">1024H", sent[place], at)
                stored = struct.unpack_from(">1024H", event.fragments[place], at)
                channels = level2.CHANNELS[crate.kind]
                for c in range(channels):
                    there = event.records[place, slot] >> c * 16 // channels & 1
                    self.assertEqual(stored[c::channels], words[c::channels] if there else (0,) * (1024 // channels))
                    yield 16 * (first_board + i) + c, bool(there), [w & 0x3FFF for w in words[c::channels]]
            first_board += crate.boards

    def assert_payload(self, event, said, lines):
        p = event.payload
        self.assertEqual(p.kept, said["payload"])
        for what, mask in (("asked_by", p.asked), ("control_of", p.control)):
            self.assertEqual(said[what], [line["line"] for n, line in enumerate(lines) if mask >> n & 1])
        for n, line in enumerate(lines):
            chosen = line["line"] in said["kept_by"] and store_reader.is_control(RUN, event.spill, event.number, line["id"], p.lines[n][1])
            self.assertEqual(bool(p.control >> n & 1), chosen)

    def test_of_the_suppressed_menu(self):
        self.file = self.simulate(EVENTS)
        sent = {(spill, n): event for spill, of_spill in self.events_in(self.file).items() for n, event in enumerate(of_spill, 1)}
        selected, daemon, m, _, ledger, packed, verdict = self.judge(self.file, EVENTS, SUPPRESSED)
        said, lines = {(e["spill"], e["event"]): e for e in selected["events"]}, selected["total"]["lines"]
        self.assertGreater(m["koto_l3_verified_events_total"], 0)
        self.assertEqual(m["koto_l3_wrong_events_total"], 0)
        stored = {(e.spill, e.number): e for e in store_reader.events_of(self.store)}
        sizes = collections.Counter()
        for key, event in stored.items():
            sizes[event.payload.kept] += len(packed[key])
        self.assertEqual({k: n for k, n in ledger["bytes"]["payloads"].items() if n}, dict(sizes))
        self.assertEqual(sum(sizes.values()), ledger["bytes"]["out"])
        told = next(b.settings for b in store_reader.read_store(self.store) if b.settings)
        self.assertEqual((told.selection, told.calibration), (SUPPRESSED.read_text(), None))
        within, count = levels(told), collections.Counter()
        for key, event in stored.items():
            self.assert_payload(event, said[key], lines)
            count[event.payload.kept] += 1
            for n, there, samples in self.waveforms(event, sent[key]):
                quiet = within[n][0] <= min(samples) and max(samples) <= within[n][1]
                self.assertTrue(there or quiet, f"{key}: input {n} is left out, and is loud")
                count["absent"] += not there
                count["quiet"] += there and quiet and event.payload.kept == "suppressed"
        self.assertGreater(count["suppressed"], 5)
        self.assertGreater(count["all"], 1)
        self.assertGreater(count["absent"], 3000 * count["suppressed"])
        self.assertGreater(count["quiet"], 0)  # neighbours, and pulses that the selection looked at

        self.assertEqual({kept: p["events"] for kept, p in verdict["payloads"].items()}, {"suppressed": count["suppressed"]})
        other = self.write(SUPPRESSED.read_text().replace("sigma = 5.0", "sigma = 4.0", 1))
        code, verdict = self.verify(self.file, "--selection", other)
        self.assertEqual((code, verdict["events_hold"]), (FAILED, False))
        again = self.run_for_json("select", self.store, "--as-recorded", code=FAILED)
        total = again["total"]
        self.assertEqual((total["as_stored"], total["different"], total["refused"]), (count["all"], 0, count["suppressed"]))
        self.assertEqual(sum(total["reasons"].values()), count["suppressed"])
        for e in again["events"]:
            key = e["spill"], e["event"]
            by = " and ".join(said[key]["asked_by"])
            self.assertEqual(e.get("refused_because"), None if stored[key].payload.kept == "all" else
                             f"it is suppressed by line {by}: not all its waveforms were kept")
        self.each_program_says_it(stored, said, count)

    def each_program_says_it(self, stored, said, count):
        out, spill_and_event = self.folder / "out.bin", next(key for key, event in stored.items() if event.payload.kept == "suppressed")
        by = ", ".join(said[spill_and_event]["asked_by"])
        left_out = f"left out: {count['suppressed']} events are suppressed, by line"
        reprocess = "reprocess", harness.store_file(self.store), self.folder / "again", "--selection", "built-in"
        for arguments, wanted, text in (
                (("verify", self.file, self.store, "--selection", SUPPRESSED), 0, f"{count['suppressed']} events are suppressed, by line .*three_pi0 [(]"),
                (("extract", self.store, out), FAILED, left_out + "(.|\n)*--skip-limited accepts that"),
                (("extract", self.store, out, "--skip-limited"), 0, left_out),
                (("select", self.store, "--totals"), FAILED, left_out),
                (("inspect", self.store, "--event", "/".join(map(str, spill_and_event)), "--selection", SUPPRESSED), 0,
                 rf"payload +suppressed by line {by}: \d+ of \d+ waveforms"),
                (reprocess, FAILED, left_out)):
            with self.subTest(arguments):
                self.tool(*arguments, code=wanted, says=text)
        whole = [b"".join(stored[key].fragments.values()) for key in sorted(stored) if stored[key].payload.kept == "all"]
        self.assertEqual(out.read_bytes(), b"".join(whole))
        events = self.run_for_json(*reprocess, "--skip-limited")["events"]
        self.assertEqual((events["limited"], events["kept"] + events["rejected"]), (count["suppressed"], count["all"]))


class Golden(harness.SystemTest):
    """Events of every payload as they were stored once, of both codecs; `events.json` is what is in them."""

    def test_they_are_read_as_they_were_written(self):
        for folder, codec in (("golden_payload", "koto"), ("golden_payload_strong", "strong")):
            written, store = harness.HERE / folder, self.folder / codec
            said = json.loads((written / "events.json").read_text())
            events = store_reader.events_of(written)
            self.assertEqual(
                [{"spill": e.spill, "event": e.number, "payload": e.payload.kept, "asked": e.payload.asked, "control": e.payload.control,
                  "levels": e.payload.levels, "records": {f"{p}/{slot}": mask for (p, slot), mask in e.records.items()},
                  "pulses": {f"{p}/{slot}": list(map(list, rows)) for (p, slot), rows in e.pulses.items() if rows},
                  "fragments": {str(p): hashlib.sha256(f).hexdigest() for p, f in e.fragments.items()}} for e in events], said)
            self.assertEqual({e["payload"] for e in said}, set(store_reader.PAYLOADS))
            told = self.run_for_json("info", written)
            self.assertEqual(told["events_by_payload"], collections.Counter(e["payload"] for e in said))
            self.assertEqual(told["events_by_codec"], {codec: len(said)})

            out = self.folder / "out.bin"
            shutil.copytree(written, store)
            text = self.tool("extract", store, out, "--skip-limited")
            whole = [e for e in sorted(events, key=lambda e: (e.spill, e.number)) if all(mask == 0xFFFF for mask in e.records.values())]
            self.assertEqual(out.read_bytes(), b"".join(b"".join(e.fragments.values()) for e in whole))
            self.assertEqual(text.count("left out: "), len({e.payload.kept for e in events if e not in whole}))


if __name__ == "__main__":
    harness.main()
