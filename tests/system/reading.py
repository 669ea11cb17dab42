#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the tools read and write: `info` names and counts each stored file of docs/formats.md, `inspect` shows the samples that were sent, wherever
an event is found, `verify` compares the events of a run, bare records of `koto-l3 pack` are those of the page. Sidecars are compared with their
files by an independent reader. The verdicts of `verify` and on ledgers are those of tests/tools/verify, damage of stores that of selecting.py,
half-named files those of store_split_test."""
import collections
import json
import random
import re
import struct
import subprocess

import harness
import level2
import store_reader
import strong_reader
from crc32c import crc32c
from selection_stage import FAILED, MISSING, RUN, Selecting

EVENTS = 20


class Reading(harness.SystemTest):
    def setUp(self):
        super().setUp()
        self.events = self.make_events(EVENTS, spill=3, seed=61)
        self.sent = self.write_events(self.events)

    def fill_store(self, daemon, events=EVENTS, clean=True):
        sender = self.udp_sender(daemon)
        self.send_events(sender, {key: self.events[key] for key in list(self.events)[:events]})
        sender.end(3, EVENTS)
        daemon.wait_for(lambda s: s["events"]["forwarded"] == events or s["spool"]["events"] == events, "the events stored, or on disk")
        self.stop_daemon(daemon, clean)

    def info(self, path, code=0, **wanted):
        """What it says as JSON, which has this; the same command without --json names the path, and ends with the same code."""
        self.tool("info", path, code=code, says=str(path))
        said = self.run_for_json("info", path, code=code)
        self.assertEqual({key: said[key] for key in wanted}, wanted)
        return said

    def says(self, code, text, *arguments):
        """It ends with this code and a message of a line or two that has this text."""
        self.assertLessEqual(len(self.tool(*arguments, code=code, says=re.escape(text)).splitlines()), 2)

    def assert_samples(self, path, number, *more):
        said = self.run_for_json("inspect", path, "--event", f"3/{number}", *map(str, more), "--channel", ",".join(str(c.number) for c in self.crates))
        self.assertEqual((said["spill"], said["event"], said["missing_crates"]), (3, number, []))
        wanted = dict(level2.waveforms(self.crates, dict(enumerate(self.events[3, number]))))
        self.assertEqual({c["channel"]: c["samples"] for c in said["channels"]}, wanted)
        return said

    def test_level_2_data_whole_and_damaged(self):
        said = self.info(self.sent, kind="level2", version=1, events=EVENTS, damage=[], crates=len(self.crates), bytes=self.sent.stat().st_size)
        self.assertEqual([(s["spill"], s["events"], s["incomplete"], s["events_said_at_end"]) for s in said["spills"]], [(3, EVENTS, 0, EVENTS)])
        self.assertIsNone(self.assert_samples(self.sent, 2)["summary"])
        self.tool("inspect", self.sent, "--event", "3/1", "--channel", "0/3/4,2/3", says=("spill 3, event 1", "complete", "0/3/4", "2/3/3", "pedestal"))
        data = bytearray(self.sent.read_bytes())
        data[len(data) // 2] ^= 1
        self.sent.write_bytes(data)
        self.assertRegex(self.info(self.sent, FAILED)["damage"][0], r"offset \d+: stream_checksum; the remaining \d+ bytes are not read")

    def test_spool_store_and_ledgers(self):
        self.fill_store(self.start_daemon(spool={"use": "always"}))
        spool = self.folder / f"spool-{self.ports.tcp}"
        said = self.info(spool, kind="spool", events=EVENTS)
        self.info(next(spool.glob("spool-*.kl3")), events=EVENTS)
        lanes = self.info(spool / "released.kl3r", kind="releases")["lanes"]
        self.assertEqual([lane["session"] for lane in lanes], [said["sessions"][0]["session"]])
        self.assert_samples(spool, 1)

        receiver = self.start_receiver()
        harness.wait_until(lambda: (self.store / "ledger.json").exists(), "the receiver's ledger")
        self.info(self.store, kind="ledgers", damage=[])  # before its first block
        self.says(MISSING, "no store: no file blocks-*.kl3 or spool-*.kl3 in ", "extract", self.store, self.folder / "new.bin")
        daemon = self.start_daemon()
        daemon.wait_for(lambda s: not s["spool"]["events"], "the spool sent")
        self.stop_daemon(daemon)
        self.assertEqual(receiver.stop(), 0)
        for path, kind in ((self.store, "store"), (harness.store_file(self.store), "store_file")):
            said = self.info(path, kind=kind, version=2, events=EVENTS, runs=[7], damage=[], spills=[{"run": 7, "spill": 3, "events": EVENTS}],
                             events_by_codec={"koto": EVENTS}, events_by_payload={"all": EVENTS})
            self.assertEqual([(s["run"], s["node"], s["events"]) for s in said["sessions"] if s["events"]], [(7, 3, EVENTS)])
            said = self.assert_samples(path, 5, "--run", 7)
            self.assertEqual((said["run"], said["stored"]["node"], said["stored"]["more"]), (7, 3, 0))
        self.info(self.folder / "daemon-ledger.json", kind="ledger", program="koto-l3d", clean=True)
        self.info(self.store / "ledger.json", program="receive")
        self.info(self.folder / "daemon-ledger.json.live", kind="run_record", run=7, ended_properly=True)
        self.info(harness.store_file(self.store).with_suffix(".json"), kind="sidecar", run=7, damage=[])
        # The settings in a store say what was read out: a selection for another readout does not judge its events.
        self.says(78, "built-in detector.toml: describes KOTO's readout", "select", self.store)

    def test_damaged_files(self):
        for number in (1, 2):
            (self.folder / f"spool-{number:06}.kl3").write_bytes(b"KL3S\x02" + bytes(3) + number.to_bytes(8, "little") + b"KL3")
        torn = "its last 3 bytes are not a whole block: torn by a crash, truncated, or still being written"
        older, newest = (f"{self.folder}/spool-00000{n}.kl3: {torn}" for n in (1, 2))
        self.info(self.folder, FAILED, damage=[older], torn_ends=[newest])  # harmless in the newest segment alone
        sidecar = self.folder / "blocks-000001-run000007-node3.json"
        sidecar.write_bytes(b"{")
        self.info(sidecar, FAILED, kind="sidecar", damage=["it is not a JSON object with a key `sidecar`"])

    def owners(self):
        """{(run, node): how many complete files}, after each sidecar was compared with its file."""
        found = collections.Counter()
        for file in sorted(self.store.glob("blocks-*-*.kl3")):
            data, sidecar, blocks = file.read_bytes(), json.loads(file.with_suffix(".json").read_text()), list(store_reader.read_file(file))
            self.assertEqual((sidecar["file"], sidecar["bytes"], int(sidecar["crc32c"], 16)), (file.name, len(data), crc32c(data)))
            self.assertEqual({(b.run, b.node) for b in blocks}, {(sidecar["run"], sidecar["node"])})
            self.assertEqual(file.name, f"blocks-{sidecar['number']:06}-run{sidecar['run']:06}-node{sidecar['node']}.kl3")
            spills = collections.Counter(e.spill for b in blocks for e in b.events)
            self.assertEqual((sidecar["blocks"], sidecar["events"]), (len(blocks), spills.total()))
            self.assertEqual({s["spill"]: s["events"] for s in sidecar["spills"]}, spills)
            self.assertEqual({int(s["session"], 16): s["blocks"] for s in sidecar["sessions"]}, collections.Counter(b.session for b in blocks))
            found[sidecar["run"], sidecar["node"]] += 1
        return found

    def test_of_a_run_among_several(self):
        """Run 8 is of another node, whose receiver is killed and started anew. It sends the same numbers, and loses the last event: run 7 does not
        make that good, nor is it mixed with it."""
        receiver, last = self.start_receiver(), EVENTS - 1
        self.fill_store(self.start_daemon())
        self.assertIs(self.run_for_json("verify", self.sent, self.store)["receiver_ledger_final"], False)
        of_daemon = self.folder / "daemon-ledger.json"
        of_daemon.rename(self.folder / "ledger-7.json")
        daemon = self.start_daemon(run={"number": 8, "node": 4})
        daemon.wait_for(lambda s: s["receiver"]["connected"], "the receiver")
        receiver.kill()
        receiver = self.start_receiver()
        self.fill_store(daemon, last, clean=False)
        self.assertEqual(receiver.stop(), 0)
        self.assertEqual(self.owners(), {(7, 3): 1, (8, 4): 1})
        self.info(self.store, files=2, files_complete=2, damage=[], runs=[7, 8])
        self.says(FAILED, "runs 7 and 8 are stored with the same event numbers: choose the sent one with --run", "verify", self.sent, self.store)
        self.says(FAILED, "no block of run 9 is stored, only of runs 7 and 8", "verify", self.sent, self.store, "--run", "9")
        self.says(FAILED, f"it holds {EVENTS + last} events of spills 3 to 3 of runs 7 and 8", "inspect", self.store, "--run", "7", "--event", "3/99")
        for choice in (("--run", "8"), ("--ledger", of_daemon)):
            said = self.run_for_json("verify", self.sent, self.store, *choice, code=FAILED)
            self.assertEqual((said["runs"], said["runs_not_compared"], said["events"]["missing"], said["events"]["extra"]), ([8], [7], 1, 0))
        for choice in (("--run", "7"), ("--ledger", self.folder / "ledger-7.json")):
            said = self.run_for_json("verify", self.sent, self.store, *choice)
            self.assertEqual((said["runs"], said["events"]["equal"], said["receiver_ledger_final"]), ([7], EVENTS, True))
        self.tool("verify", self.sent, self.store, "--run", "7", "--ledger", of_daemon, code=FAILED, says="is of run 8, which is not compared: leave it out")


class Names(Selecting):
    def test_are_those_of_the_selection_that_ran(self):
        file = self.simulate(60)
        said = self.judge(file, 60).said
        self.assertEqual({e["run"] for e in said["events"]}, {RUN})
        kept = [e for e in said["events"] if e["kept"]][:4]
        self.assertTrue(kept)
        for e in kept:
            mine = self.run_for_json("inspect", self.store, "--event", f"{e['spill']}/{e['event']}", "--channel", "crystal 17,CBAR module 3")
            summary = mine["summary"]
            self.assertTrue(summary["names_are_of_these_settings"])
            for key, what in (("fired", "fired"), ("kept", "kept_by")):
                self.assertEqual([line["line"] for line in summary["lines"] if line[key]], e[what])
            for key in ("vetoes", "unknown", "quantities", "photons", "photons_found"):
                self.assertEqual(summary[key], e[key], key)
            self.assertEqual([c["name"] for c in mine["channels"]], ["crystal 17", "CBAR module 3 end 0", "CBAR module 3 end 1"])
        key, other = f"{kept[0]['spill']}/{kept[0]['event']}", self.write('[[line]]\nname = "other"\n')
        summary = self.run_for_json("inspect", self.store, "--event", key, "--selection", other)["summary"]
        self.assertFalse(summary["names_are_of_these_settings"])
        self.assertEqual({line["line"][:7] for line in summary["lines"]}, {"line 0x"})
        self.tool("inspect", self.store, "--event", key, says=("pi0nunu", "transverse_momentum", r"photons \(", "crystal "))


def waveforms(samples, count):
    """Of every width, and pulses on some; golden_strong holds those of 64 and 256 samples."""
    rng = random.Random(samples)
    values = []
    for number in range(count):
        bits = rng.randint(0, 16) if number % 3 == 0 else rng.randint(0, 6)
        lowest = rng.randint(0, (1 << 16) - (1 << bits))
        pulse = 3000 if number % 5 == 0 else 0
        for i in range(samples):
            pulse = pulse * 7 // 8 if i > 20 else pulse
            values.append(min(lowest + (rng.getrandbits(bits) if bits else 0) + (pulse if i > 20 else 0), 0xFFFF))
    return values


def edges(samples):
    """Of every width of a record, one below and at each."""
    tops = [top for bits in range(17) for top in ((1 << bits) - 1, 1 << bits) if top <= 0xFFFF]
    return [value for top in tops for value in [0] * (samples - 1) + [top]]


def koto_records(values):
    """64 samples each, packed as plainly as the page says it."""
    packed = b""
    for at in range(0, len(values), 64):
        record = values[at:at + 64]
        lowest, bits = min(record), (max(record) - min(record)).bit_length()
        word = sum((s - lowest) << (bits * i) for i, s in enumerate(record))
        packed += struct.pack("<BH", bits, lowest) + word.to_bytes(8 * bits, "little")
    return packed


class Files(harness.SystemTest):
    def packed(self, values, samples, codec):
        """The file; unpack must give the samples back."""
        source, packed, back = (self.folder / f"{codec}-{samples}{end}" for end in (".u16", ".packed", ".back"))
        source.write_bytes(struct.pack(f"<{len(values)}H", *values))
        for arguments in (("pack", source, packed, "--samples", str(samples)),
                          ("unpack", packed, back, *(("--samples", str(samples)) if codec == "koto" else ()))):
            self.tool(*arguments, "--codec", codec)
        self.assertTrue(back.read_bytes() == source.read_bytes())
        return packed.read_bytes()

    def test_they_are_those_of_the_page(self):
        for samples, count in ((64, 90), (256, 21), (192, 11)):
            with self.subTest(samples=samples):
                values = waveforms(samples, count)
                self.assertEqual(strong_reader.read_file(self.packed(values, samples, "strong")), (samples, values))
                if samples != 192:
                    values += edges(samples)
                    self.assertTrue(self.packed(values, samples, "koto") == koto_records(values), "not the records of section 5")

    def test_the_bytes_of_the_strong_codec_stay(self):
        for samples in (64, 256):
            with self.subTest(samples=samples):
                kept, values = (harness.HERE / "golden_strong" / f"{samples}.kl3w").read_bytes(), waveforms(samples, 2048 // samples)
                self.assertEqual(strong_reader.read_file(kept), (samples, values))
                self.assertTrue(self.packed(values, samples, "strong") == kept, "another file than the one that was kept")

    def test_the_report_stays_out_of_the_records_on_standard_output(self):
        source = self.folder / "in.u16"
        source.write_bytes(bytes(128))
        p = subprocess.run([harness.BIN / "koto-l3", "pack", source, "-", "--json"], capture_output=True, check=True)
        self.assertEqual(p.stdout, bytes(3))
        self.assertEqual(json.loads(p.stderr.splitlines()[-1])["bytes_out"], 3)


if __name__ == "__main__":
    harness.main()
