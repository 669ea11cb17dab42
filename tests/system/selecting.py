#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Selection from end to end: what `koto-l3 select` says of a file is what a daemon stores and counts, however the file reaches it. What cannot be
known of an event whose boards are missing: tests/selection/algorithms."""
import shutil

import harness
import store_reader
from selection_stage import FAILED, RUN, SELECTION, Selecting

ANOTHER = SELECTION + '[[line]]\nname = "pass_through"\nprescale = 100\ncrystals = [40, inf]\n'


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
        spool = self.folder / "spool"
        spool.mkdir()
        for of_store in self.store.glob("blocks-*.kl3"):
            shutil.copy(of_store, spool / f"spool-{of_store.name[7:13]}.kl3")
        for folder in (self.store, spool):  # they are decided as the file was
            again = self.select(folder, menu, "--batch", "7")
            self.assertEqual(sorted(again["events"], key=lambda e: (e["spill"], e["event"])), selected["events"])
            self.assertEqual({**again["total"], "events": 80}, selected["total"])

    def test_each_event_is_decided_by_its_own_run(self):
        """UDP does not say of which run its events are: the daemon and, by the stored events, verify decide by the prescales of its run."""
        file = self.simulate(60)
        of_runs = {run: self.select(self.simulate(60, f"{run}.l2raw", run=run)) for run in (RUN, RUN + 1)}
        kept = set()
        for (run, said), (spill, events) in zip(of_runs.items(), self.events_in(file).items()):
            kept |= {(e["spill"], e["event"]) for e in said["events"] if e["kept"] and e["spill"] == spill}
            self.finish(self.run_daemon(len(events), spills={spill: events}, run=run))
        self.assertEqual(set(store_reader.packed_events_of(self.store)), kept)
        self.assertNotEqual({(e["spill"], e["event"]) for e in of_runs[RUN]["events"] if e["kept"]}, kept, "the run does not matter here")
        said = self.run_for_json("verify", file, self.store, "--selection", "built-in")
        self.assertEqual((said["runs"], said["events_hold"]), ([RUN, RUN + 1], True), said)




if __name__ == "__main__":
    harness.main()
