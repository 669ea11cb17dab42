#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Selection from end to end: what `koto-l3 select` says of a file is what a daemon stores and counts, however the file reaches it. From the
store alone each event is decided again as it was, bit for bit. What cannot be known of an event whose boards are missing:
tests/selection/algorithms."""
import struct

import harness
import store_reader
from selection_stage import DETECTOR, FAILED, RUN, SELECTION, Selecting

ANOTHER = SELECTION + '[[line]]\nname = "pass_through"\nprescale = 100\ncrystals = [40, inf]\n'
CALIBRATION = "input,gain,time,threshold,dead\n0/3/7,0.09,,,\n12/4/0,,,,1\n"


class Chain(Selecting):
    def test_what_is_stored_is_what_select_says_over_udp_and_tcp(self):
        """Also with a shadow menu, which decides nothing."""
        file, other = self.simulate(100), self.write(ANOTHER)
        said = self.select(file)
        kept = said["total"]["kept"]
        self.assertTrue(5 < kept < 50, kept)
        self.assert_prescales(said, RUN)
        for line in said["total"]["lines"]:
            self.assertEqual(line["kept"] + sum(line["refused"].values()), 100, "kept and refused are all that were judged")
        stored = {}
        for way, how in (("udp", {"spills": self.events_in(file)}),
                         ("tcp", {"file": file, "shadow": str(other), "shadow_one_in": 1})):
            with self.subTest(way):
                self.ports, self.store = harness.Ports(), self.folder / way
                daemon = self.run_daemon(100, **how)
                self.assert_counted(said, daemon)
                if "shadow" in how:
                    self.assert_shadow(daemon, said, self.select(file, other), other)
                ledger = self.finish(daemon)
                self.assertEqual((ledger["events"]["rejected"], ledger["events"]["forwarded"]), (100 - kept, kept))
                code, verdict = self.verify(file, "--selection", "built-in", "--ledger", daemon.ledger_file)
                self.assertEqual((code, verdict["holds"]), (0, True), verdict)
                self.assertEqual((verdict["events"]["rejected"], verdict["events"]["equal"]), (100 - kept, kept))
                stored[way] = store_reader.packed_events_of(self.store)
                self.assert_summaries(said, stored[way])
        self.assertTrue(stored["tcp"] == stored["udp"], "other bytes over another way")
        for more, missing in (((), 100 - kept), (("--selection", other), None)):  # verify wants the selection that ran
            code, verdict = self.verify(file, *more)
            self.assertEqual((code, verdict["events_hold"]), (FAILED, False))
            self.assertTrue(missing is None or verdict["events"]["missing"] == missing, verdict)

    def assert_shadow(self, daemon, now, then, menu):
        daemon.wait_for(lambda s: sum(s["shadow"]["events"].values()) == 100, "100 events to be judged by the shadow menu")
        m, status = self.assert_metrics_conserved(daemon), daemon.status()
        both = {(True, True): "both", (True, False): "menu_in_force", (False, True): "shadow", (False, False): "neither"}
        kept = dict.fromkeys(both.values(), 0)
        for a, b in zip(now["events"], then["events"]):
            kept[both[a["kept"], b["kept"]]] += 1
        self.assertEqual(status["shadow"]["events"], kept)
        self.assertTrue(kept["shadow"] and kept["menu_in_force"], kept)
        self.assertEqual(m['koto_l3_shadow_events_total{kept_by="shadow"}'], kept["shadow"])
        self.assertEqual(status["shadow"]["menu"], f"{menu} {then['settings']:08x}")
        for mine, line in zip(status["shadow_lines"], then["total"]["lines"]):
            name = line["line"]
            self.assertEqual((mine["line"], mine["fired"], mine["kept"], mine["prescale"]), (name, line["fired"], line["kept"], line["prescale"]))
            self.assertEqual(mine["is_in_force"], name == "pass_through")
            gained = sum(name in b["fired"] and name not in a["fired"] for a, b in zip(now["events"], then["events"]))
            lost = sum(name in a["fired"] and name not in b["fired"] for a, b in zip(now["events"], then["events"]))
            self.assertEqual((mine["gained"], mine["lost"]), (gained, lost) if mine["is_in_force"] else (0, 0))
            self.assertEqual(m[f'koto_l3_shadow_line_fired_total{{line="{name}"}}'], line["fired"])
        self.assertGreater(status["shadow_lines"][-1]["lost"], 0)

    def test_a_selection_that_records_keeps_all_and_decides_all_the_same(self):
        """The bytes of a shadow menu compare: the menu in force keeps all waveforms, and so does the shadow, which would suppress some."""
        file, menu = self.simulate(80), self.write(SELECTION, "menu.toml")
        other = self.write(SELECTION.replace('"decide"]', '"decide", "keep_waveforms"]') + 'payload = "suppressed"\n')
        selected, said = self.select(file, menu), self.select(file, menu, "--record")
        self.assertNotEqual(said["settings"], selected["settings"])
        daemon = self.run_daemon(80, menu, file=file, mode="record", shadow=str(other), shadow_one_in=1)
        daemon.wait_for(lambda s: sum(s["shadow"]["events"].values()) == 80, "80 events to be judged by the shadow menu")
        m, status = self.assert_metrics_conserved(daemon), daemon.status()
        ledger = self.finish(daemon)
        stored = store_reader.packed_events_of(self.store)
        self.assert_summaries(said, stored)
        self.assertEqual(len(stored), 80)
        for recorded, e in zip(said["events"], selected["events"]):
            s = store_reader.summary_of(stored[e["spill"], e["event"]])
            self.assertEqual(bool(s.status & store_reader.RECORDED), not e["kept"])
            self.assertEqual(recorded, {**e, "kept": True, "status": s.status})
            self.assertEqual(len(s.reasons), len(selected["total"]["lines"]))
        rejected = 80 - selected["total"]["kept"]
        self.assertGreater(rejected, 40)
        self.assertEqual((m["koto_l3_events_recorded_total"], status["events_recorded"], ledger["recorded"]), (rejected,) * 3)
        self.assertEqual((ledger["events"]["forwarded"], ledger["events"]["rejected"]), (80, 0))
        self.assertEqual((status["selection_mode"], m['koto_l3_selection_mode{mode="record"}']), ("record", 1))
        for mine, line in zip(status["lines"], selected["total"]["lines"]):
            self.assertEqual((mine["fired"], mine["kept"], mine["refused"]), (line["fired"], line["kept"], line["refused"]))
        shadow = status["shadow"]
        self.assertEqual((shadow["events"]["shadow"], shadow["events"]["menu_in_force"]), (0, 0))
        self.assertGreater(shadow["events"]["both"], 5)
        self.assertEqual(shadow["bytes"]["shadow"], shadow["bytes"]["menu_in_force"])
        daemon.wait_to_say("no line has `overfull = true`")
        code, verdict = self.verify(file, "--selection", menu, "--record", "--ledger", daemon.ledger_file)
        self.assertEqual((code, verdict["holds"], verdict["events"]["equal"]), (0, True, 80), verdict)
        self.assertIn("recorded", self.run_tool("inspect", self.store, "--event", next("/".join(map(str, key)) for key, e in stored.items()
                      if store_reader.summary_of(e).status & store_reader.RECORDED))[1])
        again = self.select(self.store, menu, "--batch", "7")  # it is decided as the file was
        self.assertEqual(sorted(again["events"], key=lambda e: (e["spill"], e["event"])), selected["events"])
        self.assertEqual({**again["total"], "events": 80}, selected["total"])


class Recorded(Selecting):
    def test_a_store_is_decided_again_from_itself_alone(self):
        """It is of two runs: of one menu that selects, with a calibration, and of another that records. Its files are gone."""
        def again(store, *more):
            return self.run_for_json("select", store, "--as-recorded", *more)
        receiver = self.start_receiver()
        calibration, detector = self.write(CALIBRATION, "calibration.csv"), self.write(DETECTOR, "detector.toml")
        menus = {RUN: {"lines": "built-in", "calibration": str(calibration), "detector": str(detector)},
                 RUN + 1: {"lines": str(self.write(SELECTION)), "mode": "record"}}
        kept = {}
        for run, menu in menus.items():
            events = 40 if run == RUN else 10
            file = self.simulate(events, f"{run}.l2raw", run)
            daemon = self.start_daemon(run={"number": run}, selection=menu, frames=self.frames)
            self.run_replay(file)
            daemon.wait_for(lambda s: s["events"]["admitted"] == events and not s["events"]["in_flight"], "all events")
            ledger = self.stop_daemon(daemon)
            kept[run] = ledger["events"]["forwarded"]
        self.assertEqual(receiver.stop(), 0)
        for name in ("calibration.csv", "detector.toml", "selection.toml"):
            (self.folder / name).unlink()
        self.assertGreater(kept[RUN], 2)
        self.assertEqual(kept[RUN + 1], 10)
        said = again(self.store)
        both = sum(kept.values())
        self.assertEqual(said["total"], {"events": both, "as_stored": both, "different": 0, "not_selected": 0, "refused": 0, "reasons": {}})
        stored = {(b.run, e.spill, e.number): e for b in store_reader.read_store(self.store) for e in b.events}
        for e in said["events"]:
            summary = stored[e["run"], e["spill"], e["event"]].summary
            self.assertEqual((e["settings"], e["quantities"]), (summary.settings, summary.quantities))
        self.assertEqual(again(self.store, "--backend", "serial", "--batch", "3"), said)
        told = {b.run: b.settings for b in store_reader.read_store(self.store) if b.settings}
        self.assertEqual((told[RUN].mode, told[RUN].calibration, told[RUN].detector), ("select", CALIBRATION, DETECTOR))
        self.assertEqual((told[RUN + 1].mode, told[RUN + 1].selection, told[RUN + 1].calibration), ("record", SELECTION, None))
        self.assertEqual(len(told[RUN].crates), 18)
        self.assertTrue(all(t.software.startswith("koto-l3d ") for t in told.values()))
        out = self.folder / "out"  # what is made of a store holds its own settings
        code, text = self.run_tool("reprocess", min(self.store.glob("blocks-*.kl3")), out, "--selection", "built-in")
        self.assertEqual(code, 0, text)
        total = again(out)["total"]
        self.assertTrue(0 < total["events"] == total["as_stored"], total)

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
        header = store_reader.BLOCK_HEADER.pack(*top)[:60]
        more_events = data[:head] + header + store_reader.crc32c(header).to_bytes(4, "little") + data[block:]
        name = f"blocks-{number:06}.kl3"
        readers = (("info",), ("extract",), ("select", "--totals"), ("select", "--as-recorded"))
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
