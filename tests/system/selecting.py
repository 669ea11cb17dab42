#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Selection from end to end: what `koto-l3 select` says of a file is what a daemon stores and counts, however the file reaches it and
wherever its kernels run; and whatever is wrong with the files that say how to select is told with its place."""
import functools
import json
import pathlib
import random
import struct
import subprocess
import tomllib

import harness
import l2raw
import level2
import store_reader
from stream_sender import EVENT

DEPLOY = harness.HERE.parents[1] / "deploy"
DETECTOR = (DEPLOY / "detector.toml").read_text()
RUN = 7
FAILED, MISSING, BAD_CONFIGURATION = 1, 69, 78

SELECTION = """
sequence = ["measure_pulses", "find_clusters", "compute_quantities", "match_ends", "judge_vetoes", "decide"]
[clusters]
crystal_threshold = 3.0
[[counter]]
name = "BHGC"
threshold = 9.0
[[line]]
name = "first"
trigger = ["two_clusters"]
photons = 2
photon_inner = [135.0, inf]
photon_radius = [0.0, 870.0]
vetoes = ["CBAR"]
[[line]]
name = "second"
prescale = 3
"""


def edited(text, old, new):
    if text.count(old) < 1:
        raise ValueError(f"no {old!r} to change")
    return text.replace(old, new, 1)


@functools.cache
def counters_of_boards():
    """({(crate, slot): counters that have inputs there}, all counters in the order of their bits), from the detector's description."""
    crates = {c.number: c for c in level2.readout(level2.KOTO)}
    boards, names = {}, []

    def claim(first, inputs, what):
        crate, slot, channel = map(int, first.split("/"))
        for _ in range(inputs):
            boards.setdefault((crate, slot), set()).add(what)
            channel += 1
            if channel == level2.CHANNELS[crates[crate].kind]:
                channel, slot = 0, slot + 1
            if slot == level2.SLOTS[0] + crates[crate].boards:
                crate, slot = crate + 1, level2.SLOTS[0]

    description = tomllib.loads(DETECTOR)
    claim(description["calorimeter"]["first"], 2716, "calorimeter")
    for veto in description["veto"]:
        names.append(veto["name"])
        claim(veto["first"], veto["modules"] * veto.get("ends", 1), veto["name"])
    boards.setdefault(tuple(map(int, description["trigger"]["board"].split("/"))), set()).add("trigger")
    return boards, names


class Selecting(harness.SystemTest):
    crate_lines = level2.KOTO
    crates = level2.readout(level2.KOTO)
    chunk_bytes = 8000
    frames = {"count": 16, "events": 8}  # the whole file, if need be: over UDP nobody waits

    def simulate(self, events, name="sent.l2raw", run=RUN, spills=2):
        file = self.folder / name
        code, said = self.run_tool("simulate", file, "--events", str(events), "--spills", str(spills), "--seed", "11", "--run", str(run))
        self.assertEqual(code, 0, said)
        return file

    def write(self, text, name="selection.toml"):
        path = self.folder / name
        path.write_text(text)
        return path

    def select(self, file, selection="built-in", *more):
        p = subprocess.run([harness.BIN / "koto-l3", "select", file, "--selection", selection, "--json", *more],
                           capture_output=True, timeout=harness.PATIENCE)
        self.assertEqual(p.returncode, 0, p.stderr)
        return json.loads(p.stdout)

    def events_in(self, file):
        """{spill: [{place: fragment} of event 1, …]}"""
        spills = {}
        for kind, spill, _, body in l2raw.read(file):
            if kind == EVENT:
                number, _, fragments = l2raw.read_event(body)
                spills.setdefault(spill, []).append(fragments)
                self.assertEqual(number, len(spills[spill]))
        return spills

    def run_daemon(self, events, selection="built-in", file=None, spills=None, backend="pool", frames=None, incomplete="drop",
                   run=None):
        """Sends a file over TCP, or spills over UDP, and gives the daemon when each of so many events is accounted for."""
        self.start_receiver()
        more = {"run": {"number": run}} if run else {}
        daemon = self.start_daemon(**more, selection={"lines": str(selection)}, frames=frames or self.frames, compute={"backend": backend},
                                   building={"chunk_bytes": self.chunk_bytes, "incomplete": incomplete})
        if file:
            code, said = self.run_tool("replay", file, "--to", f"tcp://{harness.HOST}:{self.ports.tcp}", "--rate", "max")
            self.assertEqual(code, 0, said)
        else:
            sender = self.udp_sender(daemon)
            for spill, of_spill in spills.items():
                for number, fragments in enumerate(of_spill, 1):
                    sender.event(spill, number, [fragments[p] for p in sorted(fragments)])
                sender.end(spill, len(of_spill))
        daemon.wait_for(lambda s: s["events"]["forwarded"] + s["events"]["rejected"] >= events and not s["events"]["in_flight"],
                        f"{events} events forwarded or rejected")
        return daemon

    def finish(self, daemon):
        ledger = self.stop_daemon(daemon)
        for p in self.programs:
            if p.running():
                p.stop()
        return ledger

    def verify(self, file, *more, store=None):
        code, said = self.run_tool("verify", file, store or self.store, "--json", *more)
        return code, json.loads(said[said.index("{"):])

    # What must be equal

    def assert_summaries(self, said, packed):
        """The stored events are those that `select` keeps, and each summary is what it says."""
        kept = {(e["spill"], e["event"]): e for e in said["events"] if e["kept"]}
        self.assertEqual(kept.keys(), packed.keys())
        lines = said["total"]["lines"]
        counters = counters_of_boards()[1] + [None] * 31
        counters[30:] = ["trigger", "calorimeter"]

        def named(mask, names):
            return [name for n, name in enumerate(names) if mask >> n & 1]

        for key, event in kept.items():
            s = store_reader.summary_of(packed[key])
            self.assertIsNotNone(s)
            names = [line["line"] for line in lines]
            self.assertEqual(s.lines, [(store_reader.line_id(line["line"]), line["prescale"]) for line in lines])
            self.assertEqual([line["id"] for line in lines], [i for i, _ in s.lines])
            self.assertEqual(
                {"trigger": s.trigger, "status": s.status, "photons_found": s.photons_found, "fired": named(s.fired, names),
                 "kept_by": named(s.kept_by, names), "vetoes": named(s.vetoes, counters), "unknown": named(s.unknown, counters),
                 "quantities": s.quantities, "photons": [p._asdict() for p in s.photons]},
                {k: v for k, v in event.items() if k not in ("spill", "event", "kept", "refused")}, key)
            self.assertEqual(s.settings, said["settings"])

    def assert_prescales(self, said, run):
        """Each decision is the hash of the page; gives how many events each line kept, and how many it fired on."""
        counts = {}
        for line in said["total"]["lines"]:
            name, kept = line["line"], 0
            fired = [e for e in said["events"] if name in e["fired"]]
            for e in fired:
                mine = store_reader.survives_prescale(run, e["spill"], e["event"], line["id"], line["prescale"])
                self.assertEqual(name in e["kept_by"], mine, (name, e))
                kept += mine
            self.assertEqual((line["fired"], line["kept"]), (len(fired), kept))
            counts[name] = (kept, len(fired))
        return counts

    def assert_counted(self, said, daemon):
        """/metrics and /status have what `select` says."""
        m, status = self.assert_metrics_conserved(daemon), daemon.status()
        total = said["total"]
        self.assertEqual(m['koto_l3_events_total{outcome="rejected"}'], total["events"] - total["kept"])
        self.assertEqual(m['koto_l3_events_total{outcome="forwarded"}'], total["kept"])
        self.assertEqual(status["events"]["rejected"], total["events"] - total["kept"])
        refused = {}
        for event in said["events"]:
            for line, reason in () if event["kept"] else event["refused"].items():
                refused[line, reason] = refused.get((line, reason), 0) + 1
        self.assertEqual({k: v for k, v in m.items() if k.startswith("koto_l3_line_refused_total")},
                         {f'koto_l3_line_refused_total{{line="{line}",reason="{reason}"}}': n for (line, reason), n in refused.items()})
        self.assertEqual([line["line"] for line in status["lines"]], [line["line"] for line in total["lines"]])
        for mine, line in zip(status["lines"], total["lines"]):
            name = line["line"]
            for outcome in ("fired", "kept"):
                self.assertEqual(m[f'koto_l3_line_events_total{{line="{name}",outcome="{outcome}"}}'], line[outcome])
                self.assertEqual(mine[outcome], line[outcome])
            self.assertEqual(m[f'koto_l3_line_prescale{{line="{name}"}}'], line["prescale"])
            self.assertEqual(mine["prescale"], line["prescale"])
            self.assertEqual(mine["refused"], {reason: n for (its, reason), n in refused.items() if its == name})


class Chain(Selecting):
    def test_what_is_stored_is_what_select_says_over_tcp_and_udp(self):
        file = self.simulate(120)
        said = self.select(file)
        self.assertEqual(said["total"]["events"], 120)
        self.assertGreater(said["total"]["kept"], 5)
        self.assertLess(said["total"]["kept"], 60)
        self.assert_prescales(said, RUN)
        stored = {}
        ways = {"tcp": {"file": file, "backend": "pool"},
                "udp": {"spills": self.events_in(file), "backend": "pool"},
                "serial": {"file": file, "backend": "serial", "frames": {"count": 3, "events": 3}}}
        for way, how in ways.items():
            with self.subTest(way):
                self.ports, self.store = harness.Ports(), self.folder / way
                daemon = self.run_daemon(120, **how)
                self.assert_counted(said, daemon)
                ledger = self.finish(daemon)
                self.assertEqual(ledger["events"]["rejected"], 120 - said["total"]["kept"])
                self.assertEqual(ledger["events"]["forwarded"], said["total"]["kept"])
                code, verdict = self.verify(file, "--selection", "built-in", "--ledger", daemon.ledger_file)
                self.assertEqual((code, verdict["holds"]), (0, True), verdict)
                self.assertEqual(verdict["events"]["rejected"], ledger["events"]["rejected"])
                self.assertEqual(verdict["events"]["equal"], ledger["events"]["forwarded"])
                stored[way] = store_reader.packed_events_of(self.store)
                self.assert_summaries(said, stored[way])
        self.assertTrue(stored["tcp"] == stored["udp"] == stored["serial"], "other bytes over another way")

    def test_prescales_go_by_the_daemons_run(self):
        """UDP does not say of which run its events are: the stored events do, and verify goes by them."""
        file = self.simulate(80, spills=1)
        said, of_file = (self.select(self.simulate(80, f"{run}.l2raw", run=run, spills=1)) for run in (RUN + 1, RUN))
        self.assertNotEqual([e["kept_by"] for e in said["events"]], [e["kept_by"] for e in of_file["events"]])
        self.finish(self.run_daemon(80, spills=self.events_in(file), run=RUN + 1))
        self.assert_summaries(said, store_reader.packed_events_of(self.store))
        code, verdict = self.verify(file, "--selection", "built-in")
        self.assertEqual((code, verdict["events_hold"]), (0, True), verdict)

    def test_verify_wants_the_selection_that_ran(self):
        file, other = self.simulate(40), self.write(SELECTION)
        self.finish(self.run_daemon(40, file=file))
        kept = self.select(file)["total"]["kept"]
        code, verdict = self.verify(file)
        self.assertEqual((code, verdict["events_hold"]), (FAILED, False))
        self.assertEqual((verdict["events"]["missing"], verdict["events"]["rejected"]), (40 - kept, 0))
        code, verdict = self.verify(file, "--selection", other)
        self.assertEqual((code, verdict["events_hold"]), (FAILED, False))
        kept_by_other = {(e["spill"], e["event"]) for e in self.select(file, other)["events"] if e["kept"]}
        really = set(store_reader.packed_events_of(self.store))
        self.assertEqual(verdict["events"]["different"], len(kept_by_other & really))
        self.assertEqual(verdict["events"]["missing"], len(kept_by_other - really))
        self.assertEqual(verdict["events"]["extra"], len(really - kept_by_other))
        self.assertEqual(verdict["events"]["rejected"], 40 - len(kept_by_other | really))
        code, verdict = self.verify(file, "--selection", "built-in")
        self.assertEqual((code, verdict["holds"]), (0, True), verdict)

    def test_without_a_selection_nothing_is_said_of_an_event(self):
        file = self.simulate(4, spills=1)
        self.finish(self.run_daemon(4, selection="", file=file))
        packed = store_reader.packed_events_of(self.store)
        self.assertEqual(len(packed), 4)
        self.assertEqual({store_reader.summary_of(p) for p in packed.values()}, {None})


class Deciding(Selecting):
    def test_prescales_are_the_hash_of_the_page(self):
        prescales = {"all": 1, "half": 2, "third": 3, "seventh": 7, "another_seventh": 7, "hardly_any": 1_000_000_000}
        selection = self.write("".join(f'[[line]]\nname = "{name}"\nprescale = {n}\n' for name, n in prescales.items()))
        kept = {}
        for run in (RUN, 8):
            said = self.select(self.simulate(400, f"{run}.l2raw", run), selection)
            counts = self.assert_prescales(said, run)
            kept[run] = [(e["spill"], e["event"], tuple(e["kept_by"])) for e in said["events"]]
            for name, n in prescales.items():
                self.assertEqual(counts[name][1], 400)
                self.assertAlmostEqual(counts[name][0] / 400, 1 / n, delta=0.1)
            both = [("seventh" in by, "another_seventh" in by) for _, _, by in kept[run]]
            self.assertIn((True, False), both)
            self.assertIn((False, True), both)
        self.assertNotEqual(kept[RUN], kept[8])

    def test_every_executor_says_the_same(self):
        file = self.simulate(6)
        reports = {}
        for executor in ("serial", "pool", "shuffled", "threaded"):
            for batch in ("1", "4"):
                report = self.select(file, "built-in", "--executor", executor, "--batch", batch)
                self.assertIn(executor, report.pop("executor"))
                reports[executor, batch] = report
        first = reports["serial", "1"]
        self.assertEqual(len(first["events"]), 6)
        for how, report in reports.items():
            self.assertEqual(report, first, how)


# What a line does with a counter that cannot be read out; `ranges` also needs the calorimeter.
UNKNOWN = """
[[line]]
name = "ignoring"
vetoes = "all"
[[line]]
name = "keeping"
vetoes = "all"
when_unknown = "keep"
[[line]]
name = "refusing"
vetoes = "all"
when_unknown = "refuse"
[[line]]
name = "ranges"
photons = [0, inf]
when_unknown = "refuse"
[[line]]
name = "wanting"
fired = ["CBAR"]
[[line]]
name = "wanting_or_keeping"
fired = ["CBAR"]
when_unknown = "keep"
[[line]]
name = "triggered"
trigger = ["two_clusters"]
[[line]]
name = "triggered_or_refusing"
trigger = ["two_clusters"]
when_unknown = "refuse"
[[line]]
name = "opaque"
undecodable = true
[[line]]
name = "all"
"""


class MissingParts(Selecting):
    BOARD = 2072

    def damage(self, file):
        """Takes something from most events: the new file, and {(spill, number): (what cannot be known, undecodable)}."""
        boards, counters = counters_of_boards()
        spills = self.events_in(file)
        rng = random.Random(5)
        expected = {}

        def at(crate, slot):
            return 4 + self.BOARD * (slot - level2.SLOTS[0])

        def of_boards(crate, slots):
            return set().union(*(boards.get((crate, slot), set()) for slot in slots))

        def lost_crate(fragments, crate, slot, key):
            del fragments[crate]
            return of_boards(crate, level2.SLOTS), False

        def lost_board(fragments, crate, slot, key):
            f, start = fragments[crate], at(crate, slot)
            fragments[crate] = f[:start] + f[start + self.BOARD:]
            return of_boards(crate, [slot]), False

        def damaged_samples(fragments, crate, slot, key):
            f, start = bytearray(fragments[crate]), at(crate, slot)
            f[start + 12 + 2 * 500] ^= 0x40
            fragments[crate] = bytes(f)
            return of_boards(crate, [slot]), True

        def opaque(fragments, crate, slot, key):
            f, start = fragments[crate], at(crate, slot)
            stamp = (struct.unpack_from(">H", f, start + 4)[0] & 0x3FFF) << 14 | struct.unpack_from(">H", f, start + 6)[0] & 0x3FFF
            fragments[crate] = f[:start] + level2.opaque_board(*key, slot, stamp, rng) + f[start + self.BOARD:]
            return of_boards(crate, [slot]), True

        def wrong_slot(fragments, crate, slot, key):
            f, start = bytearray(fragments[crate]), at(crate, slot)
            f[start + 9] = f[start + 9] & 0xE0 | 30  # there are slots 3 to 18
            fragments[crate] = bytes(f)
            return of_boards(crate, level2.SLOTS), True

        ways = [lost_crate, lost_board, damaged_samples, opaque, wrong_slot]
        places = [(0, 5), (11, 4), (12, 7), (13, 16), (13, 3), (14, 6), (15, 9), (17, 18)]
        for spill, events in spills.items():
            for number, fragments in enumerate(events, 1):
                key = spill, number
                expected[key] = (set(), False)
                if number % 6:
                    way, place = ways[number % 5], places[number % 8]
                    expected[key] = way(fragments, *place, key)
        changed = self.folder / "changed.l2raw"
        l2raw.write(changed, self.crates, spills, run=RUN)
        return changed, spills, expected

    def test_each_line_does_what_it_says_of_counters_that_are_unknown(self):
        file, spills, expected = self.damage(self.simulate(80, spills=1))
        selection = self.write(UNKNOWN)
        said = self.select(file, selection)
        freed, vetoed, refused, opaque, without_word = 0, 0, 0, 0, 0
        for e in said["events"]:
            key = e["spill"], e["event"]
            unknown, undecodable = expected[key]
            self.assertEqual(set(e["unknown"]), unknown, key)
            vetoes, of_vetoes = set(e["vetoes"]), unknown - {"calorimeter", "trigger"}
            triggered, no_word = bool(e["trigger"] & 1), "trigger" in unknown
            fires = {"ignoring": not vetoes, "keeping": not vetoes, "refusing": not vetoes and not of_vetoes,
                     "ranges": "calorimeter" not in unknown, "wanting": "CBAR" in vetoes,
                     "wanting_or_keeping": "CBAR" in vetoes | unknown, "triggered": triggered or no_word,
                     "triggered_or_refusing": triggered and not no_word, "opaque": undecodable, "all": True}
            self.assertEqual(e["fired"], [name for name, yes in fires.items() if yes], (key, e, expected[key]))
            wanted = {"refusing": "unknown" if of_vetoes else "veto", "ignoring": "veto", "keeping": "veto", "ranges": "unknown",
                      "wanting": "veto_missing", "wanting_or_keeping": "veto_missing", "triggered": "trigger",
                      "triggered_or_refusing": "unknown" if no_word else "trigger", "opaque": "decodable"}
            self.assertEqual(e["refused"], {name: wanted[name] for name, yes in fires.items() if not yes}, key)
            freed += fires["wanting_or_keeping"] and not fires["wanting"]
            without_word += no_word
            vetoed += bool(unknown and vetoes - unknown)
            refused += fires["ignoring"] and not fires["refusing"]
            opaque += undecodable
        self.assertTrue(freed and vetoed and refused and opaque and without_word, (freed, vetoed, refused, opaque, without_word))

        daemon = self.run_daemon(80, selection=selection, file=file, incomplete="forward")
        self.assertEqual(daemon.status()["events"]["rejected"], 0)
        self.finish(daemon)
        packed = store_reader.packed_events_of(self.store)
        self.assert_summaries(said, packed)
        code, verdict = self.verify(file, "--selection", selection, "--ledger", daemon.ledger_file)
        self.assertEqual((code, verdict["holds"]), (0, True), verdict)

    def test_opaque_events_are_kept_by_the_line_for_them(self):
        """By the built-in lines, and by a daemon that takes only whole events: an opaque board is no damage."""
        spills = self.events_in(self.simulate(12, spills=1))
        (spill,), rng = spills, random.Random(6)
        odd = {2, 5, 11}
        for number in odd:
            fragments = spills[spill][number - 1]
            board = level2.opaque_board(spill, number, 3, 1234, rng)
            fragments[4] = fragments[4][:4] + board + fragments[4][4 + self.BOARD:]
        file = self.folder / "opaque.l2raw"
        l2raw.write(file, self.crates, spills, run=RUN)
        said = self.select(file)
        self.assertEqual({e["event"] for e in said["events"] if "opaque" in e["kept_by"]}, odd)
        self.finish(self.run_daemon(12, file=file))
        packed = store_reader.packed_events_of(self.store)
        self.assert_summaries(said, packed)
        flags = {key[1]: store_reader.EVENT_HEADER.unpack_from(p)[3] for key, p in packed.items()}
        self.assertEqual({n for n, f in flags.items() if f & store_reader.OPAQUE}, odd)


class BadFiles(Selecting):
    """Each mistake is told before anything runs, by the daemon and by the tool alike: where it is, and what to do."""

    def setUp(self):
        super().setUp()
        self.file = self.folder / "empty.l2raw"
        l2raw.write(self.file, self.crates, {}, run=RUN)

    def check(self, what, path, place, texts, tool_code=BAD_CONFIGURATION):
        """`what` is a key of [selection]; both programs refuse the file with the same message."""
        keys = {"lines": "built-in", **{what: str(path)}}
        config = self.write_config("bad.toml", selection=keys)
        option = {"lines": "--selection", "detector": "--detector", "calibration": "--calibration"}[what]
        for arguments, code in (([harness.BIN / "koto-l3d", "--config", config, "--check-config"], BAD_CONFIGURATION),
                                ([harness.BIN / "koto-l3", "select", self.file, option, path], tool_code)):
            p = subprocess.run(arguments, capture_output=True, text=True, timeout=harness.PATIENCE)
            self.assertEqual((p.returncode, p.stdout), (code, ""), p.stderr)
            for text in [place, *texts]:
                self.assertIn(text, p.stderr)
            self.assertLess(len(p.stderr), 1200)

    def test_no_detector_file_means_the_built_in_one(self):
        config = self.write_config("empty.toml", selection={"lines": "built-in", "detector": ""})
        p = subprocess.run([harness.BIN / "koto-l3d", "--config", config, "--check-config"], capture_output=True, text=True, timeout=harness.PATIENCE)
        self.assertEqual((p.returncode, p.stderr), (0, ""), p.stderr)

    def check_selection(self, old, new, *texts, place=None):
        """An edit of a selection that is good, refused where the new text, or `place` in it, stands."""
        text = edited(SELECTION, old, new)
        at = text.index(place or new)
        where = f":{text.count(chr(10), 0, at) + 1}:{at - text.rfind(chr(10), 0, at)}: "
        self.check("lines", self.write(text), "selection.toml" + where, texts)

    def test_a_good_selection_is_taken(self):
        config = self.write_config(selection={"lines": str(self.write(SELECTION))})
        p = subprocess.run([harness.BIN / "koto-l3d", "--config", config, "--check-config"], capture_output=True, text=True)
        self.assertEqual(p.returncode, 0, p.stderr)
        self.assertEqual(self.select(self.file, self.folder / "selection.toml")["events"], [])

    def test_names_that_are_none(self):
        self.check_selection('"BHGC"', '"BHGX"', 'no counter "BHGX"; it has NCC single, ')
        self.check_selection('["CBAR"]', '["CBAR", "NOPE"]', 'no counter "NOPE"; it has', place='"NOPE"')
        self.check_selection("photon_inner =", "photon_inn =", "unknown key line.photon_inn; known are", "photon_inner", place="[135.0")
        self.check_selection('["two_clusters"]', '["two_cluster"]', 'no trigger bit is called "two_cluster"; there are two_clusters',
                             place='"two_cluster"')
        self.check_selection("[clusters]", "[cluster]", "unknown key selection.cluster; known are sequence, clusters")

    def test_sequences_that_cannot_run(self):
        self.check_selection('"match_ends"', '"match_endz"', "no algorithm `match_endz`; there are: measure_pulses, ")
        self.check_selection('"match_ends", ', "", "`judge_vetoes` reads `hits`", "`match_ends` does", place='"judge_vetoes"')
        self.check_selection('"decide"', '"decide", "decide"', "`decide` stands there twice; leave one", place='"decide"]')
        self.check_selection(', "decide"', "", "nothing decides which events are kept; end it with `decide`", place='"judge_vetoes"')
        self.check_selection('"measure_pulses", ', '"measure_pulses", "measure_pulses", ', "a second time", place='"measure_pulses", "find')
        for none in ("[]", '"decide"'):
            text = edited(SELECTION, SELECTION[SELECTION.index("["):SELECTION.index("\n[clusters]")], none)
            self.check("lines", self.write(text), "selection.toml:2:12: ", ["selection.sequence must "])

    def test_lines_that_cannot_be(self):
        self.check_selection("870.0", "100.0", 'line "first" can never fire: photon_inner is never above photon_radius',
                             "change one of the two ranges", place="[135.0")
        self.check_selection("photons = 2", "photons = [3, 2]", "line.photons can never be met: it must rise", place="[3, 2]")
        self.check_selection("photons = 2", "photons = 3\nvertex_z = [0.0, 1.0]", "events with so many photons have no vertex_z",
                             "take it out or change photons", place="[0.0, 1.0]")
        self.check_selection('"second"', '"first"', 'there is a line "first" already; give each a name of its own',
                             place='"first"\nprescale')
        self.check_selection("prescale = 3", "prescale = 0.5", "line.prescale must be a whole number, 1 to", place="0.5")
        self.check_selection('"second"', '"sec ond"', "letters, digits and _ only")
        self.check("lines", self.write("# nothing\n"), "selection.toml: ", ["there is no line", "add a [[line]]"])
        self.check("lines", self.write(""), "selection.toml: ", ["there is no line", "add a [[line]]"])

    def test_thresholds_out_of_range(self):
        self.check_selection("3.0", "-3.0", "crystal_threshold must be above 0")
        self.check_selection("3.0", "50000.0", "above what the digitizer can give", "lower it")
        self.check_selection("9.0", "1e9", "BHGC", "above what the digitizer can give", "lower it")
        self.check_selection("3.0", '"high"', "must be a number")

    def test_all_mistakes_are_told_at_once(self):
        text = edited(edited(SELECTION, "photons = 2", "photons = [3, 2]"), "prescale = 3", "prescale = -1")
        self.check("lines", self.write(text), "line.photons can never be met", ["line.prescale must be a whole number"])

    def test_calibrations(self):
        header = "input,gain,time,threshold,dead\n"
        for row, text in (("0/99/0,0.1,,,", "the readout has no input 0/99/0; correct it or leave it out"),
                          ("10/18/15,0.1,,,", "carries nothing; correct it or leave it out"),
                          ("crystal 3,0.1,,,", '"crystal 3" is no input; write crate/slot/channel'),
                          ("0/3/7,-1,,,", "gain -1 is out of range; it must lie within"),
                          ("0/3/7,,,,2", "dead 2 is out of range"),
                          ("0/3/7,0.1", "a line has 5 fields, this one 2; leave a field empty")):
            with self.subTest(row):
                self.check("calibration", self.write(header + "0/3/8,0.08,,,\n" + row + "\n", "c.csv"), "c.csv:3: ", [text])
        twice = self.write(header + "0/3/7,0.1,,,\n0/3/7,0.1,,,\n", "c.csv")
        self.check("calibration", twice, "c.csv:3: ", ["0/3/7 stands in the table twice"])
        self.check("calibration", self.write("0/3/7,0.1,,,\n", "c.csv"), "c.csv:1: ", ["begin with its header; write input,gain"])

    def check_detector(self, old, new, *texts, at=None):
        text = edited(DETECTOR, old, new)
        lines = [n for n, line in enumerate(text.splitlines(), 1) if (at or new) in line]
        self.check("detector", self.write(text, "d.toml"), f"d.toml:{lines[0]}:", texts)

    def test_detectors(self):
        self.check_detector('"11/12/0"', '"11/3/5"', "input 11/3/5 of NCC common module 0 already carries NCC single module 5")
        self.check_detector('"11/12/0"', '"11/40/0"', "the readout has no input 11/40/0")
        self.check_detector("dead = []", 'dead = ["0/3/7", "99/3/7"]', "the readout has no input 99/3/7")
        self.check_detector("threshold = 1.0", "treshold = 1.0", "unknown key veto.treshold; known are", "threshold")
        no_vetoes = DETECTOR[:DETECTOR.index("[[veto]]")]
        for size in ("small_columns = 48", "large_radius = 918.0"):
            no_vetoes = edited(no_vetoes, size, size.split("=")[0] + "= " + ("8" if "col" in size else "10.0"))
        self.check("detector", self.write(no_vetoes, "d.toml"), "d.toml: ",
                   ["the detector has no channels; describe a calorimeter or vetoes"])
        self.check("detector", self.write("", "d.toml"), "d.toml: ", ["the table [calorimeter] is missing"])

    def test_files_that_cannot_be_read(self):
        for what in ("lines", "detector", "calibration"):
            with self.subTest(what):
                self.check(what, self.folder / "none", f"cannot read {self.folder / 'none'}", ["No such file or directory"], MISSING)
                self.check(what, self.folder, f"cannot read {self.folder}", ["Is a directory"], MISSING)
        for what in ("lines", "detector"):
            self.check(what, self.write("this is = = no toml", "junk"), "junk:1:", [])
            (self.folder / "bytes").write_bytes(bytes(range(256)))
            self.check(what, self.folder / "bytes", "bytes:1:", [])
        (self.folder / "bytes").write_bytes(bytes(range(256)))
        self.check("calibration", self.folder / "bytes", "bytes:1: ", ["begin with its header"])

    def test_a_readout_that_is_not_the_detector_s(self):
        other = self.folder / "other.l2raw"
        l2raw.write(other, level2.readout(level2.SMALL), {}, run=RUN)
        code, said = self.run_tool("select", other)
        self.assertEqual(code, BAD_CONFIGURATION, said)
        self.assertIn("describes another readout", said)
        self.assertIn("name a detector file that describes what hangs on this one", said)
        code, said = self.run_tool("select", other, "--detector", self.write(DETECTOR, "d.toml"))
        self.assertEqual(code, BAD_CONFIGURATION, said)
        self.assertRegex(said, r"d\.toml:12:9: 2716 inputs from 0/3/0 on do not fit")


class Files(Selecting):
    """What `select` and `evaluate` say of the data they are given."""

    def says(self, code, text, *arguments):
        p = subprocess.run([harness.BIN / "koto-l3", *arguments], capture_output=True, text=True, timeout=harness.PATIENCE)
        self.assertEqual(p.returncode, code, p.stderr)
        self.assertIn(text, p.stderr)
        self.assertEqual(len(p.stderr.splitlines()), 1, p.stderr)

    def test_events_and_truth_that_are_wrong(self):
        file = self.simulate(12)
        truth = pathlib.Path(f"{file}.truth.jsonl")
        lines = truth.read_text().splitlines(keepends=True)
        for name, text, message in (("shorter", lines[:-1], "is not the truth of"),
                                    ("swapped", lines[1:2] + lines[:1] + lines[2:], "is not the truth of"),
                                    ("cut", [*lines[:5], lines[5][:40]], "cut:6: is no line of truth")):
            self.says(FAILED, message, "evaluate", file, "--truth", self.write("".join(text), name))
        truth.unlink()
        self.says(MISSING, f"cannot read {truth}", "evaluate", file)
        data = file.read_bytes()
        (self.folder / "cut.l2raw").write_bytes(data[:len(data) // 2])
        self.says(FAILED, "ends within a record, at offset ", "select", self.folder / "cut.l2raw", "--totals")
        flipped = bytearray(data)
        flipped[len(data) // 2] ^= 1
        (self.folder / "flipped.l2raw").write_bytes(flipped)
        self.says(FAILED, "stream_checksum", "select", self.folder / "flipped.l2raw", "--totals")

    def test_files_of_another_kind(self):
        junk = self.write("junk", "junk.l2raw")
        self.write("", "junk.l2raw.truth.jsonl")
        self.store.mkdir()
        for arguments in (["select", junk], ["evaluate", junk], ["verify", junk, self.store, "--selection", "built-in"]):
            self.says(FAILED, f"{junk} is not an .l2raw file", *arguments)
            self.says(MISSING, f"cannot read {self.folder / 'none'}", *(self.folder / "none" if a == junk else a for a in arguments))


if __name__ == "__main__":
    harness.main()
