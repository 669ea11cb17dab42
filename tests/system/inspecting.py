#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""koto-l3 inspect: an event's samples are those that were sent, wherever it is found, its summary has the names of what `select`
said, and each mistake is told in a sentence."""
import json
import struct
import subprocess

import harness
import l2raw
import level2
from selection_stage import FAILED, MISSING, Selecting

USAGE, BAD_CONFIGURATION = 2, 78


def inspect(test, *arguments, code=0):
    p = subprocess.run([harness.BIN / "koto-l3", "inspect", *map(str, arguments), "--json"], capture_output=True, text=True,
                       timeout=harness.PATIENCE)
    test.assertEqual(p.returncode, code, p.stderr)
    return json.loads(p.stdout) if code == 0 else p.stderr


def samples_in(fragment, crate):
    """{"CRATE/SLOT/CHANNEL": [sample]} of a fragment whose boards are full."""
    found, channels = {}, level2.CHANNELS[crate.kind]
    for i, slot in enumerate(level2.SLOTS[:crate.boards]):
        words = struct.unpack_from(">1024H", fragment, 4 + i * level2.BOARD_BYTES + 12)
        for channel in range(channels):
            found[f"{crate.number}/{slot}/{channel}"] = [w & 0x3FFF for w in words[channel::channels]]
    return found


class Samples(harness.SystemTest):
    EVENTS = 6

    def setUp(self):
        super().setUp()
        maker = level2.EventMaker(self.crates, 17)
        self.events = [maker.fragments(3, n) for n in range(1, self.EVENTS + 1)]
        self.sent = self.folder / "sent.l2raw"
        l2raw.write(self.sent, self.crates, {3: self.events})

    def assert_samples(self, path, number, *more):
        said = inspect(self, path, "--event", f"3/{number}", *more, "--channel", ",".join(str(c.number) for c in self.crates))
        self.assertEqual((said["spill"], said["event"], said["missing_crates"]), (3, number, []))
        wanted = {}
        for crate, fragment in zip(self.crates, self.events[number - 1]):
            wanted |= samples_in(fragment, crate)
        self.assertEqual({c["channel"]: c["samples"] for c in said["channels"]}, wanted)
        return said

    def send(self, daemon):
        sender = self.udp_sender(daemon)
        for number, fragments in enumerate(self.events, 1):
            sender.event(3, number, fragments)
        sender.end(3, self.EVENTS)

    def test_of_level_2_data(self):
        said = self.assert_samples(self.sent, 2)
        self.assertNotIn("stored", said)
        self.assertIsNone(said["summary"])

    def test_of_a_store_its_file_and_a_spool(self):
        daemon = self.start_daemon(spool={"use": "always"})
        self.send(daemon)
        harness.wait_until(lambda: daemon.status()["spool"]["events"] == self.EVENTS, "events on disk")
        self.stop_daemon(daemon)
        spool = self.folder / f"spool-{self.ports.tcp}"
        self.assert_samples(spool, 1)
        receiver, daemon = self.start_receiver(), self.start_daemon()
        daemon.wait_for(lambda s: not s["spool"]["events"], "the spool sent")
        self.stop_daemon(daemon)
        self.assertEqual(receiver.stop(), 0)
        for path in (self.store, harness.store_file(self.store)):
            said = self.assert_samples(path, 5, "--run", 7)
            self.assertEqual((said["run"], said["stored"]["node"], said["stored"]["more"]), (7, 3, 0))
        self.assert_samples(self.store, 6, "--config", self.folder / "l3.toml")
        self.assertIn("has no event of run 8: it holds run 7\n",
                      inspect(self, self.store, "--event", "3/5", "--run", 8, code=FAILED))

    def test_as_text(self):
        code, said = self.run_tool("inspect", self.sent, "--event", "3/1", "--channel", "0/3/4,2/3")
        self.assertEqual(code, 0, said)
        for text in ("spill 3, event 1", "complete", "0/3/4", "2/3/3", "pedestal"):
            self.assertIn(text, said)

    def test_what_is_missing_or_malformed_is_named(self):
        fragments = {p: f for p, f in enumerate(self.events[0]) if p != 1}
        fragments[2] = b"\0" + fragments[2][1:]
        l2raw.write(self.sent, self.crates, {3: [fragments]})
        said = inspect(self, self.sent, "--event", "3/1")
        self.assertEqual((said["flags"], said["missing_crates"]), (["incomplete"], [1]))
        self.assertEqual([(c["crate"], c["problem"], len(c["boards"])) for c in said["crates"]],
                         [(0, None, 3), (2, "crate_header", 0)])

    def test_what_is_missing_is_of_the_readout_that_the_store_says(self):
        receiver, daemon = self.start_receiver(), self.start_daemon(building={"incomplete": "forward"})
        sender = self.udp_sender(daemon)
        sender.event(3, 1, self.events[0], without=(1, 2))
        sender.end(3, 1)
        daemon.wait_for_stored(1)
        self.stop_daemon(daemon)
        receiver.stop()
        self.assertEqual(inspect(self, self.store, "--event", "3/1")["missing_crates"], [1, 2])

    def test_mistakes(self):
        ledger = self.folder / "ledger.json"
        ledger.write_text("{}")
        for arguments, code, text in (
                ((self.sent, "--event", "3/99"), FAILED, "has no event 99 of spill 3: it holds 6 events of spills 3 to 3"),
                ((self.sent, "--event", "3"), USAGE, "--event: 3 is not SPILL/EVENT, such as 3/17"),
                ((self.sent, "--event", "512/1"), USAGE, "spills are 0 to 511"),
                ((self.sent, "--event", "3/1", "--channel", "CBAR"), FAILED, "the event has no channel CBAR, or did not keep its waveform: give CRATE"),
                ((self.sent, "--event", "3/1", "--selection", "no.toml"), MISSING, "cannot read no.toml"),
                ((self.sent, "--event", "3/1", "--config", self.sent), BAD_CONFIGURATION, "sent.l2raw"),
                ((ledger, "--event", "3/1"), FAILED, "which holds no events to look at"),
                ((self.folder / "none", "--event", "3/1"), MISSING, "No such file"),
                ((self.folder, "--event", "3/1"), MISSING, "no store"),
        ):
            with self.subTest(arguments):
                self.assertIn(text, inspect(self, *arguments, code=code))


class Names(Selecting):
    def test_are_those_of_what_was_selected(self):
        file = self.simulate(60)
        said = self.select(file)
        self.finish(self.run_daemon(60, file=file))
        kept = [e for e in said["events"] if e["kept"]]
        self.assertTrue(kept)
        for e in kept[:4]:
            mine = inspect(self, self.store, "--event", f"{e['spill']}/{e['event']}", "--channel", "crystal 17,CBAR module 3")
            summary = mine["summary"]
            self.assertTrue(summary["names_are_of_these_settings"])
            self.assertEqual([line["line"] for line in summary["lines"] if line["fired"]], e["fired"])
            self.assertEqual([line["line"] for line in summary["lines"] if line["kept"]], e["kept_by"])
            for key in ("vetoes", "unknown", "quantities", "photons", "photons_found"):
                self.assertEqual(summary[key], e[key], key)
            self.assertEqual([c["name"] for c in mine["channels"]], ["crystal 17", "CBAR module 3 end 0", "CBAR module 3 end 1"])
        key = f"{kept[0]['spill']}/{kept[0]['event']}"
        other = self.write('[[line]]\nname = "other"\n')
        summary = inspect(self, self.store, "--event", key, "--selection", other)["summary"]
        self.assertFalse(summary["names_are_of_these_settings"])
        self.assertEqual({line["line"][:7] for line in summary["lines"]}, {"line 0x"})
        code, text = self.run_tool("inspect", self.store, "--event", key)
        self.assertEqual(code, 0)
        for word in ("pi0nunu", "transverse_momentum", "photons (", "crystal "):
            self.assertIn(word, text)


if __name__ == "__main__":
    harness.main()
