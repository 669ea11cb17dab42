# SPDX-License-Identifier: Apache-2.0
"""What needs more than numpy: Arrow, awkward, matplotlib, and export, each read back by the library that analysts use for it."""
import contextlib
import io
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

import awkward as ak
import h5py
import lh5
import matplotlib
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import uproot

import sample

import koto_l3 as l3
from koto_l3 import _arrow, export

matplotlib.use("agg")


def setUpModule():
    sample.make()


def same(test, column, wanted):
    """A column of another library against one of ours, NaN and None alike."""
    got = np.array([np.nan if v is None else v for v in column])
    test.assertEqual(got.dtype.kind in "fiub", True)
    test.assertTrue(np.array_equal(got.astype(float), np.asarray(wanted, float), equal_nan=True))


class Extras(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.s = l3.open([sample.STORE, sample.LEDGERS])
        cls.e = cls.s.events()
        cls.a = cls.e.awkward()

    def test_arrow(self):
        table = pa.table(self.e)
        self.assertEqual(table.schema.names, self.e.names)
        for name in ("run", "event", "photon_energy", "vertex_z", "crystals", "line_klpi0pi0", "veto_CBAR"):
            same(self, table[name].to_pylist(), self.e[name])
        self.assertEqual(table["vertex_z"].null_count, np.isnan(self.e.vertex_z).sum())
        self.assertEqual(table["photon"].to_pylist(), self.a.photon.to_list())
        self.assertEqual(table.schema.field("vertex_z").metadata[b"unit"], b"mm")
        self.assertEqual(pa.table(self.s.cables())["name"].to_pylist()[17], "crystal 17")
        self.assertEqual(pa.table(self.s.runs)["begin"].type, pa.timestamp("ns", "UTC"))
        self.assertEqual(pa.table(self.e[:0]).num_rows, 0)
        with unittest.mock.patch("koto_l3._events._BATCH", 100):
            self.assertEqual(pa.table(self.e).to_pylist(), table.to_pylist())

    def test_arrow_passes_errors_on(self):
        def batches():
            yield {"a": l3.Column(np.arange(3))}
            raise l3.Error("the disk is gone")

        class Broken:
            def __arrow_c_stream__(self, requested_schema=None):
                return _arrow.stream({"a": l3.Column(np.arange(0))}, batches())
        with self.assertRaisesRegex(Exception, "the disk is gone"):
            pa.table(Broken())

    def test_awkward(self):
        e, a = self.e, self.a
        self.assertEqual(ak.num(a.photon).to_list(), np.minimum(e.photons_found, 16).tolist())
        same(self, a.vertex_z.to_list(), e.vertex_z)
        self.assertTrue(np.allclose(ak.sum(a.photon.energy, axis=1)[e.photons > 0], e.photon_energy[e.photons > 0]))
        few = e[:20].awkward()
        self.assertTrue((ak.to_numpy(few.waveform.samples[:, 17]) == e[:20].samples("crystal 17")).all())
        self.assertEqual(ak.to_numpy(few.waveform_500.samples).shape[2], 256)
        truth = l3.truth(f"{sample.FOUR}.truth.jsonl", run=102).join(self.s.events(102)).awkward()
        self.assertTrue(ak.all(ak.num(truth.photon) == 4))

    def test_awkward_reads_what_is_used(self):
        e = self.s.events(102)
        a = e.awkward()
        self.assertNotIn("fired", e._columns)
        a.photon.energy[0, 0]
        self.assertNotIn("fired", e._columns)
        a.vertex_z[0]
        self.assertIn("fired", e._columns)

    def test_show(self):
        one = self.s.events(102, fired="klpi0pi0")[3]
        for by in ("energy", "time"):
            ax = one.show(by=by)
            self.assertIn("klpi0pi0", ax.get_title())
            self.assertEqual(len(ax.texts), 4)
            ax.figure.savefig(io.BytesIO())
        with self.assertRaises(ValueError):
            one.show(by="charge")


class Export(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.e = l3.open(sample.STORE).events()

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def export(self, name, *more, code=0):
        said, complaints = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(complaints):
            self.assertEqual(export.main([str(sample.STORE), "-o", str(self.folder / name), *more]), code, complaints.getvalue())
        return said.getvalue() + complaints.getvalue()

    def check_settings(self, text):
        about = json.loads(text)
        self.assertEqual(about["columns"]["vertex_z"]["unit"], "mm")
        self.assertEqual([run["run"] for run in about["runs"]], [101, 102])
        self.assertIn('name = "klpi0pi0"', about["menus"][0]["menu"])
        self.assertEqual(about["menus"][0]["lines"][1]["prescale"], 4)

    def test_parquet(self):
        self.export("all.parquet")
        table = pq.read_table(self.folder / "all.parquet")
        self.check_settings(table.schema.metadata[b"koto_l3"])
        self.assertEqual(table.schema.names, self.e.names)
        self.assertEqual(table["hit"].to_pylist(), self.e.awkward().hit.to_list())
        same(self, table["vertex_z"].to_pylist(), self.e.vertex_z)
        self.export("few.parquet", "--run", "102", "--fired", "klpi0pi0", "five_photon", "--columns", "run", "event", "photon")
        few = pq.read_table(self.folder / "few.parquet")
        e = self.e[(self.e.run == 102) & (self.e.line("klpi0pi0") | self.e.line("five_photon"))]
        self.assertEqual((few.schema.names, few["event"].to_pylist()), (["run", "event", "photon"], e.event.tolist()))

    def test_root(self):
        photons = self.e.awkward().photon.energy.to_list()
        for how, energy in ((), "photon"), (("--ttree",), "photon.energy"):
            name = f"all{len(how)}.root"
            self.export(name, *how)
            with uproot.open(self.folder / name) as file:
                self.check_settings(file["koto_l3"])
                events = file["events"]
                a = events.arrays([energy, "vertex_z", "run", "line_klpi0pi0"])
                self.assertEqual(a[energy].to_list() if how else a.photon.energy.to_list(), photons)
                same(self, a.vertex_z.to_list(), self.e.vertex_z)
                self.assertEqual(a.run.to_list(), self.e.run.tolist())
                self.assertEqual(a.line_klpi0pi0.to_list(), self.e["line_klpi0pi0"].tolist())

    def test_lh5(self):
        self.export("w.lh5", "--kept-by", "klpi0pi0", "--waveforms", "crystal 17", "--waveforms", "BHPV")
        e = self.e[self.e.line("klpi0pi0", "kept_by")]
        path = str(self.folder / "w.lh5")
        with h5py.File(path) as file:
            self.check_settings(file["koto_l3"][()])
            self.assertEqual(file["crystal_17/raw/waveform/values"].attrs["datatype"], "array_of_equalsized_arrays<1,1>{real}")
        raw = lh5.read("crystal_17/raw", path)
        self.assertTrue((raw.waveform.values.nda == e.samples("crystal 17")).all())
        self.assertEqual((raw.event.nda.tolist(), raw.waveform.dt.attrs["units"], set(raw.waveform.dt.nda)), (e.event.tolist(), "ns", {8.0}))
        fast, cables = lh5.read("BHPV/raw", path), lh5.read("cables", path)
        w = e.samples("BHPV")
        self.assertTrue((fast.waveform.values.nda.reshape(w.shape) == w).all())
        self.assertEqual([cables["name"].nda[c].decode() for c in fast.channel.nda[:3]], w.channels.name[:3].tolist())
        self.assertEqual(fast.event_row.nda[-1], len(e) - 1)
        same(self, lh5.read("events/vertex_z", path).nda, e.vertex_z)

    def test_an_interrupted_export_goes_on(self):
        def fails_after(n):
            left = [n]

            def bar(total):
                def done(events):
                    left[0] -= events
                    if left[0] < 0:
                        raise KeyboardInterrupt
                return done
            return bar
        store = self.e.store
        how = {"per_file": 100, "request": "all"}
        out = self.folder / "all.parquet"
        with self.assertRaises(KeyboardInterrupt):
            export.export(store, self.e, out, progress=fails_after(250), **how)
        first = self.folder / "all-00000.parquet"
        self.assertEqual(sorted(f.name for f in self.folder.glob("*.parquet")), ["all-00000.parquet", "all-00001.parquet"])
        before = first.stat().st_mtime_ns
        with self.assertRaisesRegex(l3.Error, "all-00000.parquet exists"):
            export.export(store, self.e, out, per_file=100, request="another", progress=fails_after(9999))
        files = export.export(store, self.e, out, progress=fails_after(9999), **how)
        self.assertEqual((first.stat().st_mtime_ns, len(files)), (before, -(-len(self.e) // 100)))
        self.assertEqual(sorted(self.folder.iterdir()), files)
        self.assertEqual(pq.read_table([str(f) for f in files])["event"].to_pylist(), self.e.event.tolist())

    def test_the_script_is_installed(self):
        done = subprocess.run([pathlib.Path(sys.executable).with_name("koto-l3-export"), sample.STORE, "-o", self.folder / "x.parquet"], capture_output=True)
        self.assertEqual((done.returncode, (self.folder / "x.parquet").exists()), (0, True), done.stderr)

    def test_mistakes_are_named(self):
        for name, more, text in (("x.csv", (), ".parquet"), ("x.h5", (), "waveforms"), ("x.root", ("--waveforms", "CSI"), ".lh5"),
                                 ("x.parquet", ("--fired", "klpi0"), "klpi0pi0"), ("x.parquet", ("--columns", "vertex"), "vertex_z"),
                                 ("x.lh5", ("--waveforms", "CSX"), "CSI")):
            self.assertIn(text, self.export(name, *more, code=1))
            self.assertEqual(list(self.folder.glob("x.*")), [])


if __name__ == "__main__":
    unittest.main()
