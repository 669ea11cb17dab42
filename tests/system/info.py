#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""koto-l3 info: each stored file of docs/formats.md is named and counted, and what is damaged, of another version or no file of
koto-l3 is told in a sentence with the right exit code."""
import json
import os
import signal
import subprocess

import harness
import l2raw
import level2

FAILED, USAGE, MISSING = 1, 2, 69
EVENTS = 20


class Info(harness.SystemTest):
    def setUp(self):
        super().setUp()
        maker = level2.EventMaker(self.crates, 61)
        self.sent = self.folder / "sent.l2raw"
        self.events = {3: [maker.fragments(3, n) for n in range(1, EVENTS + 1)]}
        l2raw.write(self.sent, self.crates, self.events)

    def info(self, path, code=0):
        """What it says as JSON; the same command without --json names the path, and ends with the same code."""
        p = subprocess.run([harness.BIN / "koto-l3", "info", path, "--json"], capture_output=True, text=True)
        self.assertEqual(p.returncode, code, p.stderr)
        its_code, said = self.run_tool("info", path)
        self.assertEqual(its_code, code)
        self.assertIn(str(path), said)
        return json.loads(p.stdout)

    def refused(self, path, code, text):
        its_code, said = self.run_tool("info", path)
        self.assertEqual(its_code, code, said)
        self.assertIn(text, said)
        self.assertEqual(len(said.splitlines()), 1, said)

    def send(self, daemon):
        sender = self.udp_sender(daemon)
        for number, fragments in enumerate(self.events[3], 1):
            sender.event(3, number, fragments)
        sender.end(3, EVENTS)


class WhatIsWhole(Info):
    def test_level_2(self):
        said = self.info(self.sent)
        self.assertEqual((said["kind"], said["version"], said["events"], said["damage"]), ("level2", 1, EVENTS, []))
        self.assertEqual((said["crates"], said["bytes"]), (len(self.crates), self.sent.stat().st_size))
        self.assertEqual([(s["spill"], s["events"], s["incomplete"], s["events_said_at_end"]) for s in said["spills"]],
                         [(3, EVENTS, 0, EVENTS)])

    def test_store_and_ledgers(self):
        receiver, daemon = self.start_receiver(), self.start_daemon()
        self.send(daemon)
        daemon.wait_for_stored(EVENTS)
        self.stop_daemon(daemon)
        self.assertEqual(receiver.stop(), 0)
        for path, kind in ((self.store, "store"), (harness.store_file(self.store), "store_file")):
            said = self.info(path)
            self.assertEqual((said["kind"], said["events"], said["runs"], said["damage"]), (kind, EVENTS, [7], []))
            self.assertEqual(said["version"], 2, "whose blocks hold settings")
            self.assertEqual(said["spills"], [{"run": 7, "spill": 3, "events": EVENTS}])
            self.assertEqual(sum(s["events"] for s in said["sessions"]), EVENTS)
            self.assertEqual({(s["run"], s["node"]) for s in said["sessions"]}, {(7, 3)})
            self.assertEqual(sum(s["events"] for s in said["settings"]), EVENTS)
            self.assertEqual((said["events_by_codec"], said["events_by_payload"]), ({"koto": EVENTS}, {"all": EVENTS}))
        ledger = self.info(self.folder / "daemon-ledger.json")
        self.assertEqual((ledger["kind"], ledger["program"], ledger["events"]["forwarded"], ledger["clean"]),
                         ("ledger", "koto-l3d", EVENTS, True))
        self.assertEqual(self.info(self.store / "ledger.json")["program"], "receive")
        record = self.info(self.folder / "daemon-ledger.json.live")
        self.assertEqual((record["kind"], record["run"], record["ended_properly"], record["events"]["forwarded"]),
                         ("run_record", 7, True, EVENTS))

    def test_spool(self):
        daemon = self.start_daemon(spool={"use": "always"})
        self.send(daemon)
        harness.wait_until(lambda: daemon.status()["spool"]["events"] == EVENTS, "events on disk")
        self.stop_daemon(daemon)
        spool = self.folder / f"spool-{self.ports.tcp}"
        said = self.info(spool)
        self.assertEqual((said["kind"], said["events"], said["waiting"]["events"]), ("spool", EVENTS, EVENTS))
        self.assertEqual(self.info(next(spool.glob("spool-*.kl3")))["events"], EVENTS)
        lanes = self.info(spool / "released.kl3r")
        self.assertEqual((lanes["kind"], len(lanes["lanes"])), ("releases", len(said["sessions"])))
        self.assertEqual(lanes["lanes"][0]["session"], said["sessions"][0]["session"])
        notes = self.folder / "released.kl3r"
        notes.write_bytes(bytes(1024 * 32))
        self.assertEqual(self.info(notes)["lanes"], [])
        emptied = self.folder / "emptied"
        emptied.mkdir()
        notes.rename(emptied / notes.name)
        said = self.info(emptied)
        self.assertEqual((said["kind"], said["files"], said["events"], said["waiting"]["events"]), ("spool", 0, 0, 0))

    def test_waveforms_of_the_strong_codec(self):
        samples, packed = self.folder / "samples", self.folder / "packed.kl3w"
        samples.write_bytes(b"".join((500 + n % 7).to_bytes(2, "little") for n in range(64 * 5000)))
        code, said = self.run_tool("pack", samples, packed, "--codec", "strong", "--samples", "64")
        self.assertEqual(code, 0, said)
        whole = packed.read_bytes()
        said = self.info(packed)
        self.assertEqual((said["kind"], said["version"], said["samples"], said["records"], said["sections"], said["bytes"], said["damage"]),
                         ("strong_waveforms", 1, 64, 5000, 2, len(whole), []))
        for content, damage in ((whole[:-1], "it is cut off: the head that ends it is not there"),
                                (whole[:100], "offset 16: the section is cut off"),
                                (whole[:100] + bytes([whole[100] ^ 1]) + whole[101:], "offset 16: the section is not what was written"),
                                (whole[:17] + b"\xff" + whole[18:], "offset 16: no good section begins there"),
                                (whole + b"x", "1 bytes lie behind its end")):
            packed.write_bytes(content)
            self.assertEqual(self.info(packed, FAILED)["damage"], [damage])


class WhatIsNot(Info):
    def test_level_2_that_is_cut(self):
        whole = self.sent.read_bytes()
        self.sent.write_bytes(whole[:-1])
        said = self.info(self.sent, FAILED)
        self.assertEqual(said["events"], EVENTS)
        self.assertRegex(said["damage"][0], r"offset \d+: stream_length; the \d+ bytes from there on are not read")

    def test_versions_that_it_does_not_know(self):
        for name, data in (("a.l2raw", b"KL3R\x02\x04" + bytes(26)), ("blocks-000001.kl3", b"KL3S\x03" + bytes(11)),
                           ("a.l3batch", b"KL3D\x02" + bytes(19)), ("l.json.live", b"KL3L\0\0\x02\0" + bytes(80))):
            file = self.folder / name
            file.write_bytes(data)
            self.refused(file, FAILED, f"of version {data[6] if data[3:4] == b'L' else data[4]}; this koto-l3 reads version")

    def test_a_ledger_of_another_version(self):
        file = self.folder / "ledger.json"
        file.write_text('{"ledger": 2}')
        self.refused(file, FAILED, "not a ledger: it is of version 2; this program reads version 1")

    def test_other_files(self):
        other = self.folder / "other"
        for data, text in ((b"", "is empty"), (b"PK\x03\x04", "begins with 50 4B 03 04"), (b"{}", "not a ledger: it has no key"),
                           (b"K", "begins with 4B")):
            other.write_bytes(data)
            self.refused(other, FAILED, text)
        for name in ("a.l2raw", "b.l3batch"):  # a magic number and nothing else
            other.write_bytes({"a.l2raw": b"KL3R", "b.l3batch": b"KL3D"}[name])
            self.assertEqual(self.run_tool("info", other)[0], FAILED)

    def test_what_lies_beside_the_blocks_of_a_store(self):
        store = self.folder / "store"
        store.mkdir()
        (store / "blocks-000001.kl3").write_bytes(b"KL3S\x02\x01\0\0" + (1).to_bytes(8, "little"))
        self.assertEqual(self.info(store)["damage"], [])
        self.assertIn("holds no event that can be read, so no efficiency follows", self.run_tool("efficiency", store)[1])
        self.assertIn("holds no block, and so no histograms", self.run_tool("histograms", store)[1])
        for name, data, text in (("ledger.json", b"{}", "ledger.json: not a ledger: it has no key"), ("ledger.json", b"\0", "ledger.json: not a ledger")):
            with self.subTest(name, data=data):
                (store / name).write_bytes(data)
                self.assertIn(text, " ".join(self.info(store, FAILED)["damage"]))
                (store / name).unlink()

    def test_a_torn_end_is_harmless_in_the_newest_segment_of_a_spool_alone(self):
        spool = self.folder / "spool"
        spool.mkdir()
        for number in (1, 2):
            (spool / f"spool-{number:06}.kl3").write_bytes(b"KL3S\x02" + bytes(3) + number.to_bytes(8, "little") + b"KL3")
        older, newest = (f"{spool}/spool-00000{n}.kl3: its last 3 bytes are no whole block: torn by a crash, cut off, or being written" for n in (1, 2))
        said = self.info(spool, FAILED)
        self.assertEqual((said["damage"], said["torn_ends"]), ([older], [newest]))
        self.assertEqual(self.info(spool / "spool-000001.kl3", FAILED)["damage"], [older])
        said = self.info(spool / "spool-000002.kl3")
        self.assertEqual((said["damage"], said["torn_ends"]), ([], [newest]))

    def test_a_store_before_its_first_block(self):
        receiver = self.start_receiver()
        harness.wait_until(lambda: (self.store / "ledger.json").exists(), "the receiver's ledger")
        self.assertEqual((self.info(self.store)["kind"], self.info(self.store)["damage"]), ("ledgers", []), "while its receiver runs")
        self.assertEqual(receiver.stop(), 0, receiver.said())
        self.assertEqual((self.info(self.store)["kind"], self.info(self.store)["damage"]), ("ledgers", []))
        for command in (("extract", self.store, self.folder / "new.bin"), ("select", self.store), ("inspect", self.store, "--event", "1/1")):
            code, said = self.run_tool(*command)
            self.assertEqual(code, MISSING, said)
            self.assertIn("no store: no file blocks-*.kl3 or spool-*.kl3 in ", said)

    def test_a_sidecar_that_is_damaged(self):
        sidecar = self.folder / "blocks-000001-run000007-node3.json"
        for data in (b"{}", b"garbage", b"{"):
            sidecar.write_bytes(data)
            said = self.info(sidecar, FAILED)
            self.assertEqual((said["kind"], said["damage"]), ("sidecar", ["it is no JSON object with a key `sidecar`"]))

    def test_a_folder_with_files_of_other_programs(self):
        (self.folder / "other.json").write_text("{}")
        self.refused(self.folder, MISSING, "no store")
        (self.folder / "node0.lock").touch()
        self.assertEqual((self.info(self.folder, FAILED)["kind"]), "ledgers")

    def test_what_cannot_be_read(self):
        self.refused(self.folder / "none", MISSING, "No such file")
        self.refused(self.folder, MISSING, "no store")
        pipe = self.folder / "pipe"
        os.mkfifo(pipe)
        self.refused(pipe, MISSING, "is a pipe")
        self.refused("/dev/zero", MISSING, "is a device")
        if os.geteuid() != 0:
            self.sent.chmod(0)
            self.refused(self.sent, MISSING, "Permission denied")

    def test_output_that_cannot_be_written(self):
        with open("/dev/full", "wb") as full:
            p = subprocess.run([harness.BIN / "koto-l3", "info", self.sent], stdout=full, stderr=subprocess.PIPE, text=True)
        self.assertEqual((p.returncode, p.stderr), (FAILED, "koto-l3 info: standard output could not be written\n"))
        read, write = os.pipe()
        os.close(read)
        p = subprocess.run([harness.BIN / "koto-l3", "info", self.sent], stdout=write, stderr=subprocess.PIPE, text=True)
        os.close(write)
        self.assertIn(p.returncode, (FAILED, -signal.SIGPIPE))

    def test_a_signal_ends_it(self):
        store = self.folder / "large"
        store.mkdir()
        with open(store / "blocks-000001.kl3", "wb") as f:
            f.write(b"KL3S\x02" + bytes(3) + (1).to_bytes(8, "little"))
            f.write(b"x" * (64 << 20))
        p = self.start_tool("info", store)
        p.signal(signal.SIGINT)
        self.assertIn(p.wait(), (FAILED, MISSING, -signal.SIGINT))


if __name__ == "__main__":
    harness.main()
