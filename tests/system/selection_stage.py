# SPDX-License-Identifier: Apache-2.0
"""What tests of the selection share: files that are simulated for it, the two programs that judge them, and what must agree."""
import tomllib
from typing import NamedTuple

import harness
import l2raw
import level2
import store_reader
from stream_sender import EVENT

DEPLOY = harness.HERE.parents[1] / "deploy"
DETECTOR = (DEPLOY / "detector.toml").read_text()
RUN = 7
FAILED, USAGE, MISSING = 1, 2, 69

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


class Judged(NamedTuple):
    """A file that a daemon has judged as `select` does."""
    said: dict  # by select
    daemon: harness.Daemon
    metrics: dict
    status: dict
    ledger: dict
    packed: dict  # the stored events, packed
    verdict: dict  # of verify


class Selecting(harness.SystemTest):
    crate_lines = level2.KOTO
    crates = level2.readout(level2.KOTO)
    chunk_bytes = 8000
    frames = {"count": 16, "events": 8}  # the whole file, if need be: over UDP nobody waits

    def simulate(self, events, name="sent.l2raw", run=RUN, spills=2, seed=11):
        file = self.folder / name
        self.tool("simulate", file, "--events", events, "--spills", spills, "--seed", seed, "--run", run)
        return file

    def write(self, text, name="selection.toml"):
        path = self.folder / name
        path.write_text(text)
        return path

    def select(self, file, selection="built-in", *more):
        return self.run_for_json("select", file, "--selection", selection, *more)

    def events_in(self, file):
        """{spill: [{place: fragment} of event 1, …]}"""
        spills = {}
        for kind, spill, _, body in l2raw.read(file):
            if kind == EVENT:
                number, _, fragments = l2raw.read_event(body)
                spills.setdefault(spill, []).append(fragments)
                self.assertEqual(number, len(spills[spill]))
        return spills

    def run_daemon(self, events, selection="built-in", file=None, spills=None, **more_of_selection):
        """Sends a file over TCP, or spills over UDP, and gives the daemon when each of so many events is accounted for."""
        self.start_receiver()
        daemon = self.start_daemon(selection={"lines": str(selection), **more_of_selection}, frames=self.frames,
                                   compute={"backend": "pool", "verify_one_in": 1})
        if file:
            self.run_replay(file)
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

    def judge(self, file, events, selection="built-in", spills=None, **more):
        """What a daemon stores, counts and writes into its ledger is what `select` says, and `verify` agrees."""
        record = ("--record",) if more.get("mode") == "record" else ()
        said = self.select(file, selection, *record)
        kept = said["total"]["kept"]
        self.ports, self.store = harness.Ports(), self.folder / f"store-{len(self.programs)}"
        daemon = self.run_daemon(events, selection, None if spills else file, spills, **more)
        if "shadow" in more:
            daemon.wait_for(lambda s: sum(s["shadow"]["events"].values()) == events, f"{events} events to be judged by the shadow menu")
        metrics, status = self.assert_counted(said, daemon)
        ledger = self.finish(daemon)
        self.assertEqual((ledger["events"]["rejected"], ledger["events"]["forwarded"]), (events - kept, kept))
        packed = store_reader.packed_events_of(self.store)
        self.assert_summaries(said, packed)
        code, verdict = self.verify(file, "--selection", selection, *record, "--ledger", daemon.ledger_file)
        self.assertEqual((code, verdict["holds"], verdict["events"]["rejected"]), (0, True, events - kept), verdict)
        return Judged(said, daemon, metrics, status, ledger, packed, verdict)

    def verify(self, file, *more, store=None):
        return self.ask_for_json("verify", file, store or self.store, *more)[:2]

    # What must be equal

    def assert_summaries(self, said, packed):
        """The stored events are those that `select` keeps, and each summary is what it says."""
        kept = {(e["spill"], e["event"]): e for e in said["events"] if e["kept"]}
        self.assertEqual(kept.keys(), packed.keys())
        lines = said["total"]["lines"]
        counters = [veto["name"] for veto in tomllib.loads(DETECTOR)["veto"]] + [None] * 31
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
                 "quantities": s.quantities, "photons": [p._asdict() for p in s.photons],
                 "hits": [{"counter": counters[c], "module": module, "energy": energy, "time": time} for c, module, energy, time in s.hits]},
                {k: v for k, v in event.items() if k not in ("run", "spill", "event", "kept", "refused", "payload", "asked_by", "control_of")}, key)
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
        """/metrics and /status, which have what `select` says."""
        m, status = self.assert_metrics_conserved(daemon), daemon.status()
        total = said["total"]
        self.assertEqual(m['koto_l3_events_total{outcome="rejected"}'], total["events"] - total["kept"])
        self.assertEqual(m['koto_l3_events_total{outcome="forwarded"}'], total["kept"])
        self.assertEqual(status["events"]["rejected"], total["events"] - total["kept"])
        refused = {}
        for event in said["events"]:
            for line, reason in event["refused"].items():
                refused[line, reason] = refused.get((line, reason), 0) + 1
        self.assertEqual({k: v for k, v in m.items() if k.startswith("koto_l3_line_refused_total")},
                         {f'koto_l3_line_refused_total{{line="{line}",reason="{reason}"}}': n for (line, reason), n in refused.items()})
        self.assertEqual([line["line"] for line in status["lines"]], [line["line"] for line in total["lines"]])
        for mine, line in zip(status["lines"], total["lines"]):
            name = line["line"]
            for outcome in ("fired", "kept"):
                self.assertEqual(m[f'koto_l3_line_{outcome}_total{{line="{name}"}}'], line[outcome])
                self.assertEqual(mine[outcome], line[outcome])
            self.assertEqual(m[f'koto_l3_line_prescale{{line="{name}"}}'], line["prescale"])
            self.assertEqual(mine["prescale"], line["prescale"])
            self.assertEqual(mine["refused"], {reason: n for (its, reason), n in refused.items() if its == name})
        return m, status
