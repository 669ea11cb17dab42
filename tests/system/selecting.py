#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Selection from end to end: what `koto-l3 select` says of a file is what a daemon stores and counts, however the file reaches it. From the
store alone each event is decided again as it was, bit for bit. What cannot be known of an event whose boards are missing:
tests/selection/algorithms. And what is shed when memory and disk are nearly full: events that came by datagrams, by the priority of their lines
and the hash of docs/formats.md, section 7, and no event of a sender over TCP. When the receiver is back shedding ends, and the sums balance. The
steps in which it begins are those of tests/daemon/compute/shedding_test.cpp."""
import struct

import harness
import level2
import store_reader
from selection_stage import DETECTOR, FAILED, RUN, SELECTION, Selecting

ANOTHER = SELECTION + '[[line]]\nname = "pass_through"\nprescale = 100\ncrystals = [40, inf]\n'
CALIBRATION = "input,gain,time,threshold,dead\n0/3/7,0.09,,,\n12/4/0,,,,1\n"


class Chain(Selecting):
    def test_what_is_stored_is_what_select_says_over_udp_and_tcp(self):
        """Also with a shadow menu, which decides nothing."""
        file, other = self.simulate(100), self.write(ANOTHER)
        udp = self.judge(file, 100, spills=self.events_in(file))
        tcp = self.judge(file, 100, shadow=str(other), shadow_one_in=1)
        self.assertTrue(tcp.packed == udp.packed, "other bytes over another way")
        self.assert_shadow(tcp, self.select(file, other), other)
        kept = tcp.said["total"]["kept"]
        self.assertTrue(5 < kept < 50, kept)
        self.assert_prescales(tcp.said, RUN)
        for line in tcp.said["total"]["lines"]:
            self.assertEqual(line["kept"] + sum(line["refused"].values()), 100, "kept and refused are all that were judged")
        for more, missing in (((), 100 - kept), (("--selection", other), None)):  # verify wants the selection that ran
            code, verdict = self.verify(file, *more)
            self.assertEqual((code, verdict["events_hold"]), (FAILED, False))
            self.assertTrue(missing is None or verdict["events"]["missing"] == missing, verdict)

    def assert_shadow(self, judged, then, menu):
        now, m, status = judged.said, judged.metrics, judged.status
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
        selected = self.select(file, menu)
        said, daemon, m, status, ledger, stored, verdict = self.judge(file, 80, menu, mode="record", shadow=str(other), shadow_one_in=1)
        self.assertNotEqual(said["settings"], selected["settings"])
        self.assertEqual((len(stored), verdict["events"]["equal"]), (80, 80))
        for recorded, e in zip(said["events"], selected["events"]):
            s = store_reader.summary_of(stored[e["spill"], e["event"]])
            self.assertEqual(bool(s.status & store_reader.RECORDED), not e["kept"])
            self.assertEqual(recorded, {**e, "kept": True, "status": s.status})
            self.assertEqual(len(s.reasons), len(selected["total"]["lines"]))
        rejected = 80 - selected["total"]["kept"]
        self.assertGreater(rejected, 40)
        self.assertEqual((m["koto_l3_events_recorded_total"], status["events_recorded"], ledger["recorded"]), (rejected,) * 3)
        self.assertEqual((status["selection_mode"], m['koto_l3_selection_mode{mode="record"}']), ("record", 1))
        self.assertEqual(said["total"]["lines"], selected["total"]["lines"])
        shadow = status["shadow"]
        self.assertEqual((shadow["events"]["shadow"], shadow["events"]["menu_in_force"]), (0, 0))
        self.assertGreater(shadow["events"]["both"], 5)
        self.assertEqual(shadow["bytes"]["shadow"], shadow["bytes"]["menu_in_force"])
        daemon.wait_to_say("no line has `overfull = true`")
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
        self.tool("reprocess", min(self.store.glob("blocks-*.kl3")), out, "--selection", "built-in")
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
                    said = self.tool(*command, *paths, *more, code=code, says=text)
                    self.assertEqual("damaged" in said.lower(), case != "being written")
        event = next(store_reader.read_file(whole)).events[0]
        self.tool("inspect", self.folder / "more_events", "--event", f"{event.spill}/{event.number}",
                  says="a part of it cannot be read; `koto-l3 info` shows which")


LINES = {"low": (10, 2), "middle": (100, 3), "high": (200, 3)}  # priority, prescale: low alone has 2 events in 9
BY_PRIORITY = SELECTION[:SELECTION.index("[[line]]")] + "".join(
    f'[[line]]\nname = "{name}"\npriority = {priority}\nprescale = {prescale}\n' for name, (priority, prescale) in LINES.items())
AT_MOST = {"low": 0, "middle": 0, "high": 32}  # the prescales of the last state; 0: none is left
SALT = 0x73686564
MIB = 1 << 20
MEMORY, DISK = 4 * MIB, 128 * MIB
BEGINS, FILLED = 0.95, 0.985  # beyond the second by less than two of the largest events, with room for what comes by datagrams


def survives(spill, number, prescale, name, salt=0):
    return store_reader.survives_prescale(RUN, spill, number, store_reader.line_id(name) ^ salt, prescale)


def kept_by(spill, number):
    """All three fire on every event; these lines' prescales keep it."""
    return [name for name, (_, prescale) in LINES.items() if survives(spill, number, prescale, name)]


def goes_on(spill, number):
    """Whether an event is left in the last state."""
    return any(AT_MOST[name] and survives(spill, number, AT_MOST[name], name, SALT) for name in kept_by(spill, number))


class Shedding(Selecting):
    chunk_bytes = 60_000

    def flat_event(self, flags):
        """A whole readout in which nothing happens, for `renamed` to make others of."""
        samples = level2.big_endian([0x8000] * level2.SAMPLE_WORDS)
        boards = [level2.header(1, 1, slot, 0, second=flags) + samples + level2.FOOTER for slot in level2.SLOTS]
        return [level2.fragment(1, boards[:crate.boards]) for crate in self.crates]

    def make(self, template, *key):
        self.sent[key] = [level2.renamed(f, c.boards, *key) for f, c in zip(template, self.crates)]
        return self.sent[key]

    def settled(self):
        """A /status that was made after every event sent so far was judged."""
        status = self.daemon.wait_for(lambda s: s["lines"][0]["fired"] == len(self.sent), f"{len(self.sent)} events judged")
        return self.daemon.wait_for(lambda s: s["uptime"] > status["uptime"], "a later /status")

    def fill(self):
        """Memory and disk, over TCP with events that cannot be packed, to where shedding would begin."""
        large, packed, full, number = self.flat_event(level2.COMPRESSED), 0, 0, 0
        tcp = self.stream_sender(run=RUN).connect()
        tcp.begin(1)
        while full < FILLED * (MEMORY + DISK) - MEMORY:  # the disk also has a copy of what is in memory
            number += 1
            last = tcp.event(1, number, self.make(large, 1, number))
            if not packed and kept_by(1, number):
                tcp.wait_for_acknowledgement(last)
                packed = self.daemon.wait_for(lambda s: s["bytes"]["packed"], "a packed event")["bytes"]["packed"]
            full += packed if kept_by(1, number) else 0
        tcp.wait_for_acknowledgement(tcp.end(1, number), harness.PATIENCE)

        def fullness(status):
            outbox, spool = status["outbox"], status["spool"]
            return (outbox["bytes"] + spool["disk_bytes"]) / (outbox["capacity"] + spool["disk_bytes"] + spool["room"])
        self.daemon.wait_for(lambda s: fullness(s) > BEGINS, "memory and disk nearly full")

    def datagrams(self, spill, events):
        """A spill of events that are packed to little; the prescales of shedding after it."""
        for number in range(1, events + 1):
            self.udp.event(spill, number, self.make(self.small, spill, number))
        status = self.settled()
        self.udp.end(spill, events)
        return {line["line"]: line["shed_prescale"] for line in status["lines"]}

    def test_by_priority_and_never_of_a_sender_that_waits(self):
        self.sent, self.small, selection = {}, self.flat_event(0), str(self.write(BY_PRIORITY))
        self.daemon = self.start_daemon(selection={"lines": selection}, frames={"count": 16, "events": 8}, udp={"ports": 1},
                                        building={"event_time_limit": "30 s"}, outbox={"memory": "4 MiB", "block": "64 KiB"},
                                        spool={"size": "128 MiB", "floor": "0 B", "segment": "1 MiB"},
                                        histograms={"one_in": 0})  # they would take room, by spill
        self.udp = self.udp_sender(self.daemon, 1)
        self.fill()
        self.assertEqual(sum(self.settled()["events"]["shed"].values()), 0, "an event of a sender that waits is shed")
        spills = iter(range(2, 512))
        harness.wait_until(lambda: self.datagrams(next(spills), 10) == AT_MOST, "the last state")
        judged = [(spill, n) for spill in (next(spills), next(spills)) for n in range(1, 41)]
        for spill in sorted({spill for spill, _ in judged}):
            self.assertEqual(self.datagrams(spill, 40), AT_MOST)
        self.start_receiver()
        self.daemon.wait_for(lambda s: "shedding" not in s["state"]["degraded"], "the end of shedding")
        status = self.daemon.wait_for(lambda s: not s["events"]["in_flight"] and not s["spool"]["events"], "everything to be stored")
        metrics, ledger = self.assert_metrics_conserved(self.daemon), self.finish(self.daemon)

        stored = store_reader.packed_events_of(self.store)
        self.assertEqual({key for key in stored if key[0] == 1}, {key for key in self.sent if key[0] == 1 and kept_by(*key)})
        self.assertEqual({key for key in judged if key in stored}, {key for key in judged if goes_on(*key)})
        self.assertTrue(any(goes_on(*key) for key in judged), "none is left: this proves less than it says")
        lost = [key for key in self.sent if kept_by(*key) and key not in stored]
        for line in status["lines"]:
            self.assertEqual(line["shed"], sum(line["line"] in kept_by(*key) for key in lost))
            self.assertEqual(metrics[f'koto_l3_line_shed_total{{line="{line["line"]}"}}'], line["shed"])
        self.assertEqual((ledger["events"]["admitted"], ledger["events"]["forwarded"]), (len(self.sent), len(stored)))
        self.assertEqual(harness.nonzero(ledger["events"]["shed"]), {"priority": len(lost)})
        code, said = self.verify(self.write_events(self.sent), "--ledger", str(self.daemon.ledger_file), "--selection", selection)
        self.assertEqual((code, said["ledgers_agree"]), (FAILED, True), said)  # there are events missing: those that the ledger says
        self.assertEqual((said["events"]["missing"], harness.nonzero(said["fates"])), (len(lost), {"shed": len(lost)}))


if __name__ == "__main__":
    harness.main()
