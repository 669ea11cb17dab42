# SPDX-License-Identifier: Apache-2.0
"""The package with numpy alone."""
import collections
import itertools
import json
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import threading
import unittest
import warnings

import numpy as np

import sample

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests" / "system" / "peers"))

import store_reader  # noqa: E402 a reader that shares no code

import koto_l3 as l3  # noqa: E402
from koto_l3 import _page  # noqa: E402
from koto_l3._events import bytes_of  # noqa: E402


def setUpModule():
    sample.make()


class Store(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.s = l3.open([sample.STORE, sample.LEDGERS])

    def test_runs_are_those_of_the_ledgers(self):
        runs = self.s.runs
        ledgers = {g["run"]: g for g in (json.loads(f.read_text()) for f in sample.LEDGERS.glob("run*.json"))}
        self.assertEqual(runs.run.tolist(), [101, 102])
        self.assertEqual(runs.spills.tolist(), [3, 2])
        for row in (runs[0], runs[1]):
            events = ledgers[row["run"]]["events"]
            self.assertEqual([row[k] for k in ("admitted", "rejected", "stored")], [events[k] for k in ("admitted", "rejected", "forwarded")])
        self.assertEqual(runs.begin.dtype, "datetime64[ns]")
        self.assertTrue(np.isnan(l3.open(sample.STORE).runs.admitted).all(), "known from ledgers only")
        self.assertIn("102", repr(runs) + runs._repr_html_())

    def test_menu_is_that_of_the_command(self):
        menu = self.s.menu(101)
        self.assertEqual(menu.lines.name[:2].tolist(), ["pi0nunu", "klpi0pi0"])
        self.assertEqual(menu.lines.prescale[1], 4)
        self.assertIn('name = "klpi0pi0"', menu.text)
        self.assertEqual(len(menu.counters), 18)
        self.assertTrue(self.s.menu(102).record)

    def test_cables_are_those_of_the_command(self):
        table = sample.take_data.run("cables").splitlines()[1:]
        cables = self.s.cables()
        of = {"{crate}/{slot}/{channel}".format(**cables[i]): cables[i] for i in np.flatnonzero(cables.kind)}
        self.assertEqual(len(of), len(table))
        for line in table:
            where, detector, module, end, x, y, size = line.split(",")
            row = of[where]
            self.assertEqual((row["detector"], row["module"], row["end"]), (detector, int(module), int(end or 0)))
            if x:
                self.assertEqual((row["x"], row["y"], row["size"]), (float(x), float(y), float(size)))

    def test_events_are_chosen_by_run_line_and_spill(self):
        s, fired = self.s, self.s.events(102, fired="klpi0pi0")
        kept = s.events(102, kept_by=["klpi0pi0", "pass_through"])
        self.assertTrue((fired.run == 102).all() and fired["line_klpi0pi0"].all())
        self.assertTrue((kept["kept_klpi0pi0"] | kept["kept_pass_through"]).all())
        self.assertEqual(len(kept), (s.events(102).line("klpi0pi0", "kept_by") | s.events(102).line("pass_through", "kept_by")).sum())
        self.assertEqual(sum(len(s.events(spill=n)) for n in (1, 2, 3)), len(s))
        self.assertEqual(len(s.events(run=[101, 102], node=0)), len(s))
        self.assertEqual(len(s.events(run=7)), 0)

    def test_errors_name_what_there_is(self):
        e = self.s.events()
        for call, text in ((lambda: self.s.events(kept_by="klpi0"), "klpi0pi0"), (lambda: e.samples("crystal 99999"), "crystal 999"),
                           (lambda: self.s.menu(7), "101, 102"), (lambda: e["vertex"], "vertex_z"), (lambda: e.weight("pi0"), "pi0nunu"),
                           (lambda: l3.open("/nowhere"), "/nowhere"), (lambda: self.s.menu(), "menus()"), (lambda: e.photon, "awkward"),
                           (lambda: e.samples(["CSI", "BHPV"]), "256 samples")):
            with self.assertRaises((KeyError, l3.Error, AttributeError)) as raised:
                call()
            self.assertIn(text, str(raised.exception))

    def test_lists_of_inputs_are_joined(self):
        files = sorted(sample.STORE.glob("*.kl3"))
        joined = l3.open([*files[::-1], sample.FOUR])
        e = joined.events()
        self.assertEqual(e.run.tolist(), [102] * 500 + [101] * (len(e) - 1000) + [102] * 500)
        some = e[[0, len(e) - 1, 501, 1]]
        self.assertEqual(some.run.tolist(), [102, 102, 101, 102])
        self.assertTrue((some.samples("CSI").data == e.samples("CSI").data[[0, len(e) - 1, 501, 1]]).all())
        self.assertEqual(e["line_klpi0pi0"].sum(), self.s.events().line("klpi0pi0").sum(), "level-2 data fire no line")


class Events(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.s = l3.open([sample.STORE, sample.LEDGERS])

    def test_summaries_are_those_of_a_reader_without_common_code(self):
        e = self.s.events(101)
        packed = [event for block in store_reader.read_file(sorted(sample.STORE.glob("*.kl3"))[0], store_reader.packed) for event in block.events]
        self.assertEqual(len(packed), len(e))
        photon, hit, decision = e.lists("photon"), e.lists("hit"), e.lists("decision")
        for i, (event, summary) in enumerate(zip(packed, map(store_reader.summary_of, packed))):
            self.assertEqual(struct.unpack_from("<III", event), tuple(e.raw[k][i] for k in ("bytes", "spill", "event")))
            self.assertEqual([e.raw[k][i] for k in ("fired", "kept_by", "vetoes", "unknown", "trigger", "status", "settings_hash")],
                             [summary.fired, summary.kept_by, summary.vetoes, summary.unknown, summary.trigger, summary.status, summary.settings])
            for name, value in summary.quantities.items():
                self.assertEqual(e.raw[name][i], store_reader.UNDEFINED if value is None else value)
            of = photon.of(i)
            self.assertEqual(list(zip((of.energy * 1000).round(), of.time * 128, (of.x * 10).round(), (of.y * 10).round(), of.crystals)),
                             [tuple(p) for p in summary.photons])
            of = hit.of(i)
            self.assertEqual(list(zip(of.counter, of.module, (of.energy * 1000).round(), of.time * 128)), summary.hits)
            self.assertEqual(decision.of(i).reason.tolist(), summary.reasons)

    def test_units_and_missing_values(self):
        e = self.s.events()
        missing = e.raw["vertex_z"] == -2**31
        self.assertTrue(missing.any() and not missing.all())
        self.assertTrue((np.isnan(e.vertex_z) == missing).all())
        self.assertTrue(np.allclose(e.vertex_z[~missing], e.raw["vertex_z"][~missing] / 10))
        self.assertEqual((e.units["vertex_z"], e.units["photon_energy"]), ("mm", "MeV"))
        self.assertEqual(e[3].vertex_z if e[3].photons == 2 else e[3].photons, e.vertex_z[3] if e[3].photons == 2 else e.photons[3])

    def test_an_event_says_why(self):
        e = self.s.events(102)
        one = e[int(np.flatnonzero(e.line("klpi0pi0") & ~e.line("klpi0pi0", "kept_by"))[0])]
        self.assertIn("klpi0pi0", one.lines)
        self.assertEqual((one.refused["klpi0pi0"], one.refused["pi0nunu"]), ("prescale", "trigger"))
        two = e[int(np.flatnonzero(e.photons == 3)[0])]
        self.assertEqual(two.refused["klpi0pi0"], "veto" if two.vetoes else "photons")
        crystals = one.map()
        lit = crystals[(crystals.energy >= 3) & (abs(crystals.time - one.event_time) <= 28)]
        self.assertAlmostEqual(lit.energy.sum(), one.calorimeter_energy, 1)

    def test_the_display_of_notebooks_is_that_of_inspect(self):
        e = self.s.events(102, fired="klpi0pi0")[3]
        with tempfile.TemporaryDirectory() as folder:
            sample.take_data.run("inspect", sample.STORE, "--run", 102, "--event", f"{e.spill}/{e.event}", "--html", f"{folder}/e.html")
            page = pathlib.Path(f"{folder}/e.html").read_text()
        self.assertEqual(json.loads(_page.picture(e)), json.loads(re.search(r'id="data">(.*?)</script>', page, re.S)[1]))
        self.assertIn("showEvent(document", e._repr_html_())

    def test_weights(self):
        e = self.s.events(101)
        kept = e.line("klpi0pi0", "kept_by")
        self.assertEqual(e.weight("klpi0pi0").tolist(), [4.0 if k else 0.0 for k in kept])
        with self.assertWarns(UserWarning):
            l3.open(sample.STORE).events(101).weight("klpi0pi0")
        with tempfile.TemporaryDirectory() as folder:
            for file in sample.LEDGERS.glob("run000101*.json"):
                ledger = json.loads(file.read_text())
                ledger["events"]["shed"]["priority"] = 3
                (pathlib.Path(folder) / file.name).write_text(json.dumps(ledger))
            for biased in (lambda e: e.weight("klpi0pi0"), lambda e: e.efficiency("pass_through")):
                with self.assertRaisesRegex(l3.Error, "shed 3 events by priority"):
                    biased(l3.open([sample.STORE, folder]).events(101))

    def test_efficiency(self):
        e = self.s.events(102)
        table, refused = e.efficiency(), [one.refused for one in e]
        self.assertEqual(set(table.line), set(self.s.menu(102).line_bits))
        for row in (table[i] for i in range(len(table))):
            name = row["line"]
            fired, triggered = e.line(name), np.array([r.get(name) != "trigger" for r in refused])
            self.assertEqual((row["events"], row["fired"], row["triggered"]), (500, fired.sum(), triggered.sum()))
            self.assertEqual(row["share"], fired.mean())
            self.assertTrue(row["lower"] <= row["share"] <= row["upper"], row)
            self.assertEqual(row["bytes"], e.raw["bytes"][e.line(name, "kept_by")].sum())
            if triggered.any():
                self.assertEqual(row["share_of_triggered"], fired[triggered].mean())
            why = collections.Counter(r[name] for r, f in zip(refused, fired) if not f)
            self.assertEqual(row["refused"].split(", ")[0], "{} {}".format(*why.most_common(1)[0]) if why else "")
            self.assertEqual(sum(int(part.split()[1]) for part in row["refused"].split(", ") if part), sum(why.values()))
        klpi0pi0 = table[table.line == "klpi0pi0"][0]
        self.assertGreater(klpi0pi0["fired"], 50)
        some = self.s.events(101)
        self.assertEqual(set(some.efficiency("minimum_bias").events), {some.line("minimum_bias", "kept_by").sum()})
        with self.assertRaisesRegex(l3.Error, "did not record every event"):
            some.efficiency()
        with self.assertRaisesRegex(KeyError, "did you mean pass_through"):
            some.efficiency("pas_through")
        with self.assertWarns(UserWarning):
            l3.open(sample.STORE).events(102).efficiency()
        with tempfile.TemporaryDirectory() as folder:
            sample.take_data.run("reprocess", sorted(sample.STORE.glob("*.kl3"))[-1], f"{folder}/again", "--selection", "built-in")
            with self.assertRaisesRegex(l3.Error, "decided again"):
                l3.open(f"{folder}/again").events().efficiency("pass_through")

    def test_truth(self):
        t = l3.truth(f"{sample.MIX}.truth.jsonl", run=101)
        e = self.s.events(101)
        joined = t.join(e[::-1])
        self.assertEqual(joined.event.tolist(), e.event[::-1].tolist())
        self.assertEqual(len(joined.photon.of(0)), sum(1 for _ in joined[0]["photon"].x))
        with self.assertRaisesRegex(l3.Error, "run 102"):
            t.join(self.s.events(102))


class Waveforms(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.s = l3.open(sample.STORE)

    def test_samples_are_those_that_were_sent(self):
        e, sent = self.s.events(102), l3.open(sample.FOUR).events()
        for channels in ("CSI", "CBAR", "BHPV", ["crystal 5", "crystal 2700", (0, 3, 0)]):
            here, there = e.samples(channels), sent.samples(channels, threads=1)
            self.assertTrue(here.present.all() and not here.error.any())
            self.assertTrue((here.data == there.data).all(), channels)
        self.assertEqual(e.samples("crystal 5").shape, (500, 64))
        self.assertEqual(e.samples("BHPV").shape[2], 256)
        self.assertEqual(e.samples("CSI").channels.name[17], "crystal 17")

    def test_given_array_and_threads(self):
        e = self.s.events(102)[100:200]
        out = np.empty((100, 2716, 64), np.uint16)
        got = e.samples("CSI", out=out, threads=2)
        self.assertTrue(np.shares_memory(got, out) and (out[:, 17] == e.samples("crystal 17")).all())
        for wrong in (out[:, ::2], out[:50], np.empty((100, 2716, 64), np.int16)):
            with self.assertRaises(ValueError):
                e.samples("CSI", out=wrong)

    def test_absent_waveforms_are_masked(self):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            menu = folder / "summary.toml"
            menu.write_text(self.s.menu(101).text.replace('name = "klpi0pi0"', 'name = "klpi0pi0"\npayload = "summary"\ncontrol = 2')
                            .replace('"decide"]', '"decide", "keep_waveforms"]'))
            sample.take_data.take([sample.FOUR], folder / "store", lines=str(menu), run_number=102)
            e = l3.open(folder / "store").events(kept_by="klpi0pi0")
            w = e.samples("crystal 17")
            absent = e.kept_waveforms > 0
            self.assertTrue(absent.any() and not absent.all())
            self.assertTrue((w.present == ~absent).all() and (np.ma.getmaskarray(w)[:, 0] == absent).all() and not w.error.any())
            self.assertEqual(w.compressed().size, 64 * (~absent).sum())
            self.assertTrue((w[absent].present == False).all())  # noqa: E712
            p = e.pulses("CSI")
            self.assertTrue(np.isnan(p.energy[absent]).all() and np.isfinite(p.energy[~absent]).any())

    def test_features_are_drawn(self):
        """The stored pulses have the energies of the stored sum, in both displays."""
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            menu = folder / "features.toml"
            menu.write_text(self.s.menu(101).text.replace('name = "klpi0pi0"', 'name = "klpi0pi0"\npayload = "features"')
                            .replace('"decide"]', '"decide", "keep_waveforms"]'))
            sample.take_data.take([sample.FOUR], folder / "store", lines=str(menu), run_number=102)
            e = l3.open(folder / "store").events(kept_by="klpi0pi0")
            one = e[int(np.flatnonzero(e.kept_waveforms == 2)[0])]
            sample.take_data.run("inspect", folder / "store", "--event", f"{one.spill}/{one.event}", "--html", folder / "e.html")
            drawn = json.loads(re.search(r'id="data">(.*?)</script>', (folder / "e.html").read_text(), re.S)[1])["pulses"]
            self.assertEqual(json.loads(_page.picture(one))["pulses"], drawn)
        in_time = [energy for *_, energy, _, counts in drawn if counts]
        self.assertEqual((len(in_time), sum(in_time)), (one.crystals, round(one.calorimeter_energy * 1000)))

    def test_pulses_are_those_of_the_photons(self):
        e = self.s.events(102, fired="klpi0pi0")[:50]
        p = e.pulses("CSI")
        self.assertEqual(p.raw["flags"].shape, (50, 2716))
        self.assertEqual(e.pulses("BHPV").energy.shape[2:], (4,))
        self.assertTrue((np.isnan(p.energy) == ~p.found).all())
        w, top = e.samples("CSI").data, p.raw["peak"]
        self.assertTrue((np.take_along_axis(w, p.raw["peak_sample"][..., None].astype(int), 2)[..., 0] == top)[p.found].all())

    def test_batches(self):
        e = self.s.events(102)
        batches = list(e.batches("60 MB"))
        self.assertGreater(len(batches), 3)
        self.assertEqual(list(itertools.chain.from_iterable(b.event for b in batches)), e.event.tolist())
        self.assertEqual([bytes_of(t) for t in ("512 MB", "2 GiB", "1.5kB", 7)], [512_000_000, 2 << 30, 1500, 7])
        with self.assertRaisesRegex(MemoryError, r"batches\("):
            l3._events.check_memory(1 << 60, "samples")


class Damage(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        self.file = self.folder / "one.kl3"
        shutil.copy(sorted(sample.STORE.glob("*.kl3"))[0], self.file)

    def test_damage_raises_or_is_listed(self):
        whole = l3.open(self.file).events()
        data = bytearray(self.file.read_bytes())
        data[len(data) // 2] ^= 1
        self.file.write_bytes(data)
        with self.assertRaisesRegex(l3.Error, "one.kl3"):
            l3.open(self.file).events().samples("CSI")
        s = l3.open(self.file, skip_damaged=True)
        w = s.events().samples("CSI")
        self.assertTrue(0 < (~w.present).all(axis=1).sum() < len(whole))
        self.assertEqual(set(np.unique(w.error)), {0, int(l3.State.DAMAGED)})
        self.assertEqual(s.damage.file.tolist(), [str(self.file)])
        self.assertGreater(l3.open(self.file, skip_damaged=True).check(), 0)
        with self.assertRaises(l3.Error):
            l3.open(self.file).check()

    def test_a_file_that_is_cut(self):
        whole, known = l3.open(self.file).events(), l3.open(self.file).events()
        events = whole.event
        self.file.write_bytes(self.file.read_bytes()[:-self.file.stat().st_size // 3])
        for read in (lambda: known.event, lambda: known.samples("CSI"), lambda: known.lists("hit"), lambda: known.pulses("CSI")):
            with self.assertRaisesRegex(l3.Error, "one.kl3"):
                read()
        s = l3.open(self.file, skip_damaged=True)
        self.assertTrue(0 < len(s.events()) < len(whole))
        self.assertEqual(s.events().event.tolist(), events[:len(s.events())].tolist())

    def test_follow_a_store_that_grows(self):
        data, whole = self.file.read_bytes(), l3.open(self.file).events()
        (self.folder / "store").mkdir()
        growing = self.folder / "store" / "blocks-000001.kl3"
        growing.write_bytes(data[:len(data) // 3])
        came, more = [], threading.Event()

        def write():
            for begin, end in ((len(data) // 3, len(data) // 2), (len(data) // 2, len(data))):
                more.wait()
                more.clear()
                with open(growing, "ab") as file:  # like a receiver: what is mapped is never shorter
                    file.write(data[begin:end])
        writer = threading.Thread(target=write)
        writer.start()
        for b in l3.open(self.folder / "store").follow(poll=0.01):
            came += list(zip(b.spill, b.event))
            more.set()
            if len(came) == len(whole):
                break
        more.set()
        writer.join()
        self.assertEqual(came, list(zip(whole.spill, whole.event)))
        self.assertEqual(len(list(l3.open(self.folder / "store").follow(poll=0.01, idle=0.1, new_only=True))), 0)


class Package(unittest.TestCase):
    def test_no_list_of_fields_in_python(self):
        """One schema: names of quantities stand in the C library alone, so a field that is added there appears here."""
        source = "".join(f.read_text() for f in pathlib.Path(l3.__file__).parent.glob("_*.py"))
        for name in ("transverse_momentum", "calorimeter_energy", "photon_radius", "peak_sample"):
            self.assertNotIn(name, source)

    def test_the_man_page_has_all_options_of_the_export(self):
        root = pathlib.Path(__file__).resolve().parents[2]
        page = (root / "deploy" / "man" / "koto-l3-export.1").read_text().replace("\\-", "-")
        told = subprocess.run([sys.executable, root / "python" / "koto-l3-export", "--help"], capture_output=True, text=True, check=True).stdout
        options = {option for option in re.findall(r"--[a-z-]+", told) if option != "--help"}
        self.assertEqual(options, set(re.findall(r"--[a-z-]+", page)))

    def test_import_needs_no_library(self):
        code = "import koto_l3; koto_l3.open('x')"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True,
                              env={"KOTO_L3_READ_LIBRARY": "/nowhere.so", "PYTHONPATH": str(pathlib.Path(l3.__file__).parents[1])})
        self.assertIn("libkoto-l3-read1", done.stderr.splitlines()[-1])


if __name__ == "__main__":
    warnings.simplefilter("ignore", ResourceWarning)
    unittest.main()
