#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`koto-l3-bench codecs`: its table, its JSON and its plot agree with what `koto-l3 pack` writes."""
import json
import random
import struct
import subprocess
import unittest
import xml.etree.ElementTree

import harness

MISSING, FAILED, USAGE = 69, 1, 2


class Codecs(harness.SystemTest):
    def bench(self, *arguments):
        return subprocess.run([harness.BIN / "koto-l3-bench", "codecs", *arguments], capture_output=True, text=True, timeout=harness.PATIENCE)

    def noise(self, name, waveforms, samples, width):
        draw = random.Random(waveforms)
        values = [round(draw.gauss(900, width)) for _ in range(waveforms * samples)]
        path = self.folder / name
        path.write_bytes(struct.pack(f"<{len(values)}H", *values))
        return path

    def packed_bytes(self, path, codec, samples):
        packed = self.folder / "packed"
        subprocess.run([harness.BIN / "koto-l3", "pack", path, packed, "--codec", codec, "--samples", str(samples)], check=True, capture_output=True)
        return packed.stat().st_size

    def test_the_table_has_the_sizes_that_pack_writes(self):
        for samples in (64, 256):
            files = [self.noise("narrow.u16", 203, samples, 2), self.noise("wide.u16", 700, samples, 30)]
            p = self.bench(*files, "--samples", str(samples), "--rounds", "1", "--json", self.folder / "r.json", "--svg", self.folder / "r.svg")
            self.assertEqual(p.returncode, 0, p.stderr)
            report = json.loads((self.folder / "r.json").read_text())
            rows = {(r["file"], r["what"]): r for r in report["rows"]}
            for path in files:
                plain, koto = path.stat().st_size, self.packed_bytes(path, "koto", samples)
                for what, size in (("koto records", koto), ("strong", self.packed_bytes(path, "strong", samples))):
                    row = rows[path.name, what]
                    self.assertEqual(row["bytes"], size)
                    self.assertAlmostEqual(row["ratio"], plain / size)
                    self.assertAlmostEqual(row["koto_ratio"], koto / size)
                    self.assertIn(f"{plain / size:.4g}", p.stdout)
                adaptive = rows[path.name, "limit: adaptive arithmetic code"]
                self.assertLess(adaptive["bytes"], koto)
            for row in report["rows"]:
                timed = not row["what"].startswith("limit")
                self.assertEqual("encode" in row and row["encode"]["right"] and row["decode"]["right"], timed, row)
            # Each codec of others is either measured or told as left out.
            over_files = " ".join(r["what"] for r in report["over_files"])
            for name in ("zstd -1", "zstd -19", "lz4", "zlib -6", "igzip -1", "xz -6", "libaec", "flac -5", "blosc"):
                self.assertIn(name, over_files)
                self.assertIn(name, p.stdout)
            self.assertIn("TurboPFor: built without TurboPFor, which Debian lacks", report["left_out"])
            strong = [rows[path.name, "strong"]["koto_ratio"] for path in files]
            mean = next(r for r in report["over_files"] if r["what"] == "strong")
            self.assertAlmostEqual(mean["koto_ratio"], (strong[0] * strong[1]) ** 0.5)
            self.assertAlmostEqual(mean["least_koto_ratio"], min(strong))
            drawn = xml.etree.ElementTree.parse(self.folder / "r.svg").getroot()
            named = " ".join(t.text or "" for t in drawn.iter("{http://www.w3.org/2000/svg}text"))
            self.assertIn("strong", named)
            self.assertEqual(len(list(drawn.iter("{http://www.w3.org/2000/svg}circle"))), sum("encoded_bytes_per_second" in r for r in report["over_files"]))

    def test_bad_files_are_refused_with_one_sentence(self):
        good = self.noise("good.u16", 16, 64, 2)
        odd, empty = self.folder / "odd.u16", self.folder / "empty.u16"
        odd.write_bytes(bytes(129))
        empty.write_bytes(b"")
        for bad, code, said in ((odd, FAILED, "offset 128: 1 bytes are left, not a whole waveform of 64 samples"),
                                (empty, FAILED, "is empty: it holds no waveform"),
                                (self.folder / "none", MISSING, "cannot be read: No such file or directory"),
                                (self.folder, MISSING, "cannot be read: Is a directory")):
            p = self.bench(good, bad, "--json", self.folder / "bad.json")
            self.assertEqual((p.returncode, p.stdout), (code, ""), p.stderr)
            self.assertEqual(p.stderr.count("\n"), 1)
            self.assertIn(said, p.stderr)
            self.assertFalse((self.folder / "bad.json").exists())
        self.assertEqual(self.bench(good, "--samples", "65").returncode, USAGE)


if __name__ == "__main__":
    harness.main()
