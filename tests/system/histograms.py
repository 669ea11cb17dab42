#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Histograms from end to end: a daemon counts the same of the same events however they are divided into frames and wherever its kernels
run, and the same as is counted here from the samples and from what `koto-l3 select` says; `koto-l3 histograms` shows, draws and compares
them, and tells of a reference that cannot be one."""
import json
import math
import re
import socket
import struct
import subprocess
import threading
import tomllib

import harness
import level2
import store_reader
from selection_stage import DEPLOY, DETECTOR, FAILED, RUN, Selecting

EVENTS, MISSING = 60, 69
ALL = {"one_in": 1}


class Histograms(Selecting):
    def count(self, file, events=EVENTS, frames=None, **histograms):
        """What a daemon says of its run when it has taken the file."""
        self.ports, self.store = harness.Ports(), self.folder / f"store-{len(self.programs)}"
        self.start_receiver()
        daemon = self.start_daemon(selection={"lines": "built-in"}, frames=frames or self.frames, compute={"backend": "pool"},
                                   histograms={**ALL, **histograms})
        code, said = self.run_tool("replay", file, "--to", f"tcp://{harness.HOST}:{self.ports.tcp}", "--rate", "max")
        self.assertEqual(code, 0, said)
        harness.wait_until(lambda: json.loads(daemon.get("/histograms")[1])["run"]["events"] == events, "all events in the histograms")
        harness.wait_until(lambda: json.loads(daemon.get("/histograms")[1])["spill"], "the histograms of a spill that has ended")
        return daemon, json.loads(daemon.get("/histograms")[1])

    def tool(self, *arguments, code=0):
        got, said = self.run_tool("histograms", *arguments)
        self.assertEqual(got, code, said)
        return said

    def as_json(self, *arguments, code=0):
        return self.run_for_json("histograms", *arguments, code=code)

    def save(self, daemon, name):
        path = self.folder / name
        self.tool(f"{harness.HOST}:{daemon.ports.monitor}", "--save", path)
        return path

    def simulate_with(self, name, *effects, events=EVENTS, spills=2, seed=11):
        file = self.folder / name
        code, said = self.run_tool("simulate", file, "--events", str(events), "--spills", str(spills), "--seed", str(seed), "--run", str(RUN),
                                   *effects)
        self.assertEqual(code, 0, said)
        return file

    def waveforms_in(self, file):
        """{"CRATE/SLOT/CHANNEL": [samples of each event]}"""
        found = {}
        for of_spill in self.events_in(file).values():
            for fragments in of_spill:
                for place, fragment in fragments.items():
                    crate = self.crates[place]
                    channels = level2.CHANNELS[crate.kind]
                    for i, slot in enumerate(level2.SLOTS[:crate.boards]):
                        words = struct.unpack_from(">1024H", fragment, 4 + i * level2.BOARD_BYTES + 12)
                        for c in range(channels):
                            found.setdefault(f"{crate.number}/{slot}/{c}", []).append([w & 0x3FFF for w in words[c::channels]])
        return found

    def test_are_the_same_in_any_frames_and_those_of_the_samples(self):
        file = self.simulate_with("sent.l2raw")
        daemon, said = self.count(file)
        run = said["run"]
        self.assertEqual((run["histograms"], run["spill"], run["one_in"], run["sampled"], run["left_out"]), (2, None, 1, EVENTS, 0))
        self.assertIn(said["spill"]["spill"], (1, 2))
        self.assertEqual(said["spill"]["events"], EVENTS // 2)
        self.assert_of_samples(run, self.waveforms_in(file))
        self.assert_of_events(run, self.select(file)["events"])
        self.finish(daemon)
        for frames in ({"count": 3, "events": 3}, {"count": 2, "events": 60}):
            daemon, other = self.count(file, frames=frames)
            self.assertEqual(other["run"], run, frames)
            self.finish(daemon)

    def assert_of_samples(self, run, waveforms):
        """Pedestals and noise by their definition; occupancy is that of pulses, which other tests look at."""
        channels = run["channels"]
        quiet = 0
        for number, address in enumerate(run["inputs"]):
            if address == "":
                self.assertEqual(channels["waveforms"][number], 0)
                continue
            mine = waveforms[address]
            fast = len(mine[0]) == 256
            lowest = [min(sum(w[q:q + 16]) for q in range(0, 256, 64)) if fast else min(sum(w[:8]), sum(w[56:])) for w in mine]
            pedestals = [(n + 2) // 4 if fast else (n + 1) // 2 for n in lowest]
            self.assertEqual(channels["waveforms"][number], len(mine))
            self.assertEqual(channels["pedestal"][number], sum(pedestals), address)
            self.assertEqual(channels["pedestal_squares"][number], sum(p * p for p in pedestals), address)
            if channels["quiet"][number] == len(mine):
                quiet += 1
                samples = [w[:32:4] if fast else w[:8] for w in mine]
                logs = [self.noise_log(8 * sum(x * x for x in s) - sum(s) ** 2) for s in samples]
                self.assertEqual(channels["noise_log"][number], sum(logs), address)
                self.assertEqual(channels["noise_log_squares"][number], sum(n * n for n in logs), address)
        self.assertGreater(quiet, 100, "or this says little of noise")
        self.assertGreater(sum(channels["lit"]), 1000)

    @staticmethod
    def noise_log(variance):
        """As section 16 of docs/formats.md has it; near the logarithm itself."""
        if variance == 0:
            return 0
        octave = variance.bit_length() - 1
        above = (variance - (1 << octave)) * 32768 >> octave
        made = (32768 * octave + above + 11 * above * (32768 - above) // (1 << 20) + 64) // 128
        assert abs(made - 256 * math.log2(variance)) < 2.6, variance
        return made

    def assert_of_events(self, run, events):
        quantities = ("calorimeter_energy", "crystals", "clusters", "photons", "vertex_z", "transverse_momentum")
        scales = {"MeV": 1000, "MeV/c": 1000, "mm": 10, "": 1}
        for h in run["of_events"]:
            if h["name"] in quantities:
                values = [e["quantities"][h["name"]] for e in events]
            elif h["name"] == "photon_energy":
                values = [p["energy"] for e in events for p in e["photons"]]
            else:
                continue
            low, width, scale = h["low"], h["width"], scales[h["unit"]]
            counts = [0] * len(h["counts"])
            for v in values:
                if v is not None and v != -2 ** 31:
                    counts[min(max(int((v - low * scale) // (width * scale)) + 1, 0), len(counts) - 1)] += 1
            self.assertEqual(h["counts"], counts, h["name"])
        self.assert_of_counters(run, events)

    def assert_of_counters(self, run, events):
        """Of each counter the hits that reach its threshold; an event lists the highest three."""
        selection = tomllib.loads((DEPLOY / "selection.toml").read_text())
        own = {c["name"]: c["threshold"] for c in selection["counter"] if "threshold" in c}
        factor = selection["vetoes"]["threshold_factor"]
        thresholds = {v["name"]: own.get(v["name"], v["threshold"] * factor) * 1000 for v in tomllib.loads(DETECTOR)["veto"]}
        self.assertEqual([h["name"] for h in run["of_counters"]], list(thresholds))
        for h in run["of_counters"]:
            listed = [sum(t["counter"] == h["name"] and t["energy"] >= thresholds[h["name"]] for t in e["hits"]) for e in events]
            if max(listed) < 3:
                self.assertEqual(sum(h["counts"]), sum(listed), h["name"])
            else:
                self.assertGreaterEqual(sum(h["counts"]), sum(listed), h["name"])
        self.assertGreater(sum(sum(h["counts"]) for h in run["of_counters"]), 20)

    def test_of_one_event_in_so_many_the_inputs_are_looked_at(self):
        file = self.simulate_with("sent.l2raw")
        daemon, said = self.count(file, one_in=5)
        run = said["run"]
        self.assertEqual(run["events"], EVENTS)
        self.assertTrue(0 < run["sampled"] < EVENTS // 2, run["sampled"])
        self.assertEqual(set(run["channels"]["waveforms"]), {0, run["sampled"]})
        self.finish(daemon)

    def test_are_compared_with_a_reference(self):
        good = self.simulate_with("good.l2raw", events=120)
        daemon, _ = self.count(good, events=120)
        reference = self.save(daemon, "good.json")
        short = json.loads(daemon.get("/histograms/short")[1])
        self.assertEqual((short["reference"], short["changed"]), (None, []))
        self.assertNotIn("koto_l3_histograms_changed", daemon.metrics())
        self.assertNotIn("koto_l3_inputs_changed", daemon.metrics())
        table = self.tool(reference)
        self.assertIn("120 events", table)
        self.assertIn("no input changed since the reference", self.tool(reference, "--reference", reference))
        self.finish(daemon)

        bad = self.simulate_with("bad.l2raw", "--noise-factor", "1", "--stuck", "0.01", events=120)
        waveforms = self.waveforms_in(bad)
        stuck = {a for a, mine in waveforms.items() if all(len(set(w)) == 1 for w in mine)}
        self.assertGreater(len(stuck), 10)
        daemon, _ = self.count(bad, events=120, reference=str(reference))
        harness.wait_until(lambda: daemon.metrics()["koto_l3_inputs_changed"] == len(stuck), "the inputs that changed counted")
        said = json.loads(daemon.get("/histograms")[1])
        self.assertEqual(said["reference"], str(reference))
        self.assertEqual({c["input"] for c in said["changed"]}, stuck)
        self.assertEqual({c["is"] for c in said["changed"] if c["what"] == "noise"}, {0})
        self.assertEqual(json.loads(daemon.get("/histograms/short")[1])["changed"], said["changed"])
        self.assert_told(daemon, len(stuck))

        address = f"{harness.HOST}:{self.ports.monitor}"
        told = self.tool(address, "--reference", reference, code=FAILED)
        self.assertIn(f"{len(stuck)} inputs changed since the reference", told)
        as_json = self.as_json(address, "--reference", reference, code=FAILED)
        self.assertEqual(as_json["changed"], said["changed"])
        self.assertEqual(as_json["run"], said["run"])
        self.finish(daemon)

    def assert_told(self, daemon, changed):
        status, crates = daemon.status(), r"\d+ of crate \d+, .* \(pedestal, noise\)"
        self.assertEqual(status["inputs_changed"], changed)
        self.assertIn("inputs_changed", status["state"]["degraded"])
        self.assertEqual(status["problem"]["name"], "inputs_changed")
        self.assertRegex(status["problem"]["text"], f"^changed: {crates}; ")
        daemon.wait_to_say(re.compile(rf"inputs changed: \d+ since the reference {self.folder}/good.json: {crates}"))

    def in_store(self):
        """Each block with histograms that the independent reader finds, and these."""
        return [(b, b.histograms) for b in store_reader.read_store(self.store) if b.histograms]

    def test_a_loss_of_gain_is_told_and_another_seed_is_not(self):
        weaker = self.folder / "weaker.toml"
        weaker.write_text(re.sub(r"^((?:small|large)_counts_per_mev = )([\d.]+)", lambda m: f"{m[1]}{0.7 * float(m[2]):.3f}", DETECTOR, flags=re.M))
        self.assertNotEqual(weaker.read_text(), DETECTOR)
        saved = {}
        for seed, (name, effects) in enumerate((("good", ()), ("other", ()), ("weak", ("--detector", weaker))), 11):
            file = self.simulate_with(f"{name}.l2raw", *effects, events=800, seed=seed)
            daemon, _ = self.count(file, events=800, reference=str(saved["good"]) if name == "weak" else "")
            saved[name] = self.save(daemon, f"{name}.json")
            if name == "weak":
                harness.wait_until(lambda: daemon.metrics()["koto_l3_histograms_changed"], "the histograms that changed counted")
                status = daemon.status()
                self.assertIn("histograms_changed", status["state"]["degraded"])
                daemon.wait_to_say(re.compile(rf"histograms changed: \d+ since the reference {saved['good']}: calorimeter_energy \(mean "))
            self.finish(daemon)
            file.unlink()
        told = self.tool(saved["other"], "--reference", saved["good"])
        self.assertIn("no input changed since the reference\nno histogram of events changed since the reference\n", told)
        told = self.tool(saved["weak"], "--reference", saved["good"], code=FAILED)
        self.assertRegex(told, r"\d histograms? of events changed since the reference")
        energy = self.as_json(saved["weak"], "--reference", saved["good"], code=FAILED)["changed_histograms"][0]
        self.assertEqual((energy["name"], energy["unit"]), ("calorimeter_energy", "MeV"))
        self.assertLess(energy["is"], 0.8 * energy["was"])
        self.assertIn(f"{'calorimeter_energy, MeV':<28} {energy['was']:>10.4g} {energy['is']:>10.4g}", told)

    def test_inputs_that_one_run_only_has_are_told_by_crate(self):
        file = self.simulate_with("sent.l2raw", events=20)
        daemon, _ = self.count(file, events=20)
        good = self.save(daemon, "good.json")
        self.finish(daemon)
        words = json.loads(good.read_text())
        moved = [i for i in words["inputs"] if i.startswith("4/")]
        self.assertGreater(len(moved), 100)
        words["inputs"] = [("44" + i[1:] if i in moved else i) for i in words["inputs"]]
        other = self.folder / "other.json"
        other.write_text(json.dumps(words))
        told = self.tool(good, "--reference", other, code=FAILED)
        self.assertIn(f"{2 * len(moved)} inputs changed since the reference\n", told)
        self.assertIn(f"crate 4: {len(moved)} inputs not in the reference\n", told)
        self.assertIn(f"crate 44: {len(moved)} inputs only in the reference\n", told)
        self.assertEqual(self.as_json(good, "--reference", other, code=FAILED)["only_here"], moved)
        daemon, _ = self.count(file, events=20, reference=str(other))
        harness.wait_until(lambda: daemon.metrics()["koto_l3_inputs_changed"] == 2 * len(moved), "the inputs of one run only")
        daemon.wait_to_say(re.compile(rf"inputs changed: {2 * len(moved)} since the reference {other}: "
                                      rf"{len(moved)} of crate 4 \(not in the reference\); {len(moved)} of crate 44 \(only in the reference\)"))
        self.finish(daemon)

    def test_lie_in_the_store_beside_the_events(self):
        file = self.simulate_with("sent.l2raw", spills=3)
        daemon, _ = self.count(file)
        harness.wait_until(lambda: json.loads(daemon.get("/histograms")[1])["spill"]["spill"] == 3, "the last spill's end")
        said = json.loads(daemon.get("/histograms")[1])
        self.finish(daemon)
        found = self.in_store()
        self.assertEqual(sorted(h["spill"] for _, h in found), [1, 2, 3])
        self.assertEqual(sum(h["events"] for _, h in found), EVENTS)
        self.assertIn(said["spill"], [h for _, h in found])
        self.assertTrue(all(b.settings for b, _ in found), "what decided is beside them")
        run = said["run"]
        for name, values in run["channels"].items():
            self.assertEqual([sum(v) for v in zip(*(h["channels"][name] for _, h in found))], values, name)
        of_a_file, = self.store.glob("blocks-*.kl3")
        self.assertEqual(self.as_json(self.store)["run"], run)
        self.assertEqual(self.as_json(of_a_file)["run"], run)
        self.assertEqual(self.as_json(self.store, "--spill", "3")["run"], said["spill"])
        self.assertIn("holds no such histograms", self.tool(self.store, "--spill", "4", code=FAILED))
        self.assertIn(f"has no histograms of run 99: it holds run {said['run']['run']}\n", self.tool(self.store, "--run", "99", code=FAILED))
        self.assertIn("no input changed", self.tool(of_a_file, "--reference", self.store))
        saved = self.folder / "saved.json"
        self.tool(self.store, "--save", saved)
        self.assertEqual(json.loads(saved.read_text()), run)
        self.tool(self.store, "--save", saved)
        self.assertEqual(json.loads(saved.read_text()), run, "what --save wrote is replaced")
        stored = of_a_file.read_bytes()
        self.assertIn("is there already, and --save did not write it", self.tool(saved, "--save", of_a_file, code=FAILED))
        self.assertEqual(of_a_file.read_bytes(), stored)
        self.assertIn("choose from a store", self.tool(saved, "--spill", "3", code=2))

    def test_what_is_damaged_is_left_out_and_told(self):
        file = self.simulate_with("sent.l2raw", spills=3)
        daemon, _ = self.count(file)
        harness.wait_until(lambda: json.loads(daemon.get("/histograms")[1])["spill"]["spill"] == 3, "the last spill's end")
        self.finish(daemon)
        whole = self.as_json(self.store)["run"]
        found = self.in_store()
        of_a_file, = self.store.glob("blocks-*.kl3")
        data = of_a_file.read_bytes()
        at = data.index(b'{"histograms"')
        block = data.rindex(b"KL3B", 0, at)
        end = block + store_reader.BLOCK_HEADER.size + store_reader.BLOCK_HEADER.unpack_from(data, block)[4]
        damaged = bytearray(data)
        damaged[at + 9] ^= 1
        of_a_file.write_bytes(damaged)
        p = subprocess.run([harness.BIN / "koto-l3", "histograms", self.store, "--json"], capture_output=True, text=True, timeout=harness.PATIENCE)
        self.assertEqual(p.returncode, FAILED)
        self.assertRegex(p.stderr, "left out: .* block [0-9]+ of session .*, which may hold histograms, is damaged")
        rest = json.loads(p.stdout)["run"]
        lost = next(h for b, h in found if b.sequence == store_reader.BLOCK_HEADER.unpack_from(data, block)[7])
        self.assertEqual(rest["events"], whole["events"] - lost["events"])

    def test_of_spills_that_end_with_the_run_are_stored_without_events(self):
        file = self.simulate_with("sent.l2raw", events=20, spills=2)
        self.ports, self.store = harness.Ports(), self.folder / "store"
        self.start_receiver()
        daemon = self.start_daemon(selection={"lines": "built-in"}, frames=self.frames, histograms=ALL)
        code, said = self.run_tool("replay", file, "--to", f"tcp://{harness.HOST}:{self.ports.tcp}", "--rate", "max")
        self.assertEqual(code, 0, said)
        self.finish(daemon)
        found = self.in_store()
        self.assertEqual(sorted((h["spill"], h["events"]) for _, h in found), [(1, 10), (2, 10)])
        self.assertIn([], [b.events for b, _ in found])

    def test_a_wrong_reference_is_told_with_its_file_and_what_to_do(self):
        file = self.simulate_with("sent.l2raw", events=20)
        daemon, said = self.count(file, events=20)
        good = self.save(daemon, "good.json")
        self.finish(daemon)
        other = json.loads(good.read_text())
        vertex = next(h for h in other["of_events"] if h["name"] == "vertex_z")
        vertex["width"] = 50
        finer, broken, absent = self.folder / "finer.json", self.folder / "broken.json", self.folder / "absent.json"
        finer.write_text(json.dumps(other))
        broken.write_text(good.read_text()[:1000])
        place = f"{finer}:1:{finer.read_text().index(chr(34) + 'vertex_z') + 1}"
        for path, part in ((finer, f"{place} has another binning: vertex_z has 82 bins of 50 mm"), (broken, f"{broken} holds no histograms"),
                           (absent, str(absent))):
            told = self.tool(good, "--reference", path, code=FAILED)
            self.assertIn(part, told)
            self.assertEqual("`koto-l3 histograms" in told, path != absent, told)
            daemon, said = self.count(file, events=20, reference=str(path))
            daemon.wait_to_say("the run is compared with no reference: " + part)
            self.assertEqual((said["reference"], said["changed"]), (None, []))
            self.finish(daemon)

    def test_none_are_made_without_a_selection_or_if_they_are_switched_off(self):
        file = self.simulate_with("sent.l2raw", events=8)
        for lines, one_in in (("", 1), ("built-in", 0)):
            self.ports, self.store = harness.Ports(), self.folder / f"store-{one_in}"
            self.start_receiver()
            daemon = self.start_daemon(selection={"lines": lines}, frames=self.frames, histograms={"one_in": one_in})
            self.assertEqual([daemon.get(p) for p in ("/histograms", "/histograms/short")], [(200, "null")] * 2)
            code, said = self.run_tool("replay", file, "--to", f"tcp://{harness.HOST}:{self.ports.tcp}", "--rate", "max")
            self.assertEqual(code, 0, said)
            told = self.tool(f"{harness.HOST}:{self.ports.monitor}", code=FAILED)
            self.assertIn("the daemon makes no histograms", told)
            self.finish(daemon)
        told = self.tool(f"{harness.HOST}:1", code=MISSING)
        self.assertIn(f"http://{harness.HOST}:1/histograms", told)

    def test_of_what_answers_at_the_address_only_silence_is_missing(self):
        http = b"HTTP/1.1 200 OK\r\nContent-Length: "
        answers = {b"SSH-2.0-OpenSSH_9.2\r\n": (FAILED, "it does not speak HTTP"),
                   b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n": (FAILED, "it answers 404"),
                   http + b"16777217\r\n\r\n": (FAILED, "its answer has more than 16 MiB"),
                   http + b"2\r\n\r\n{}": (FAILED, "answers with no histograms that this version reads"),
                   b"": (MISSING, "it closed the connection without an answer")}
        with socket.create_server((harness.HOST, 0)) as listener:
            for answer, (code, part) in answers.items():
                def serve(answer=answer):
                    with listener.accept()[0] as peer:
                        peer.recv(1 << 16)
                        peer.sendall(answer)
                        peer.shutdown(socket.SHUT_WR)
                        peer.recv(1)
                server = threading.Thread(target=serve, daemon=True)
                server.start()
                said = self.tool(f"{harness.HOST}:{listener.getsockname()[1]}", code=code)
                server.join()
                self.assertIn(part, said)


if __name__ == "__main__":
    harness.main()
