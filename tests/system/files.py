#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Bare records that the tools write are what docs/formats.md says, of both codecs. Simulated files are read by every test that sends one."""
import json
import pathlib
import random
import struct
import subprocess
from array import array

import harness
import strong_reader


def pack(samples):
    """KOTO's records of a waveform, 64 samples each, packed as plainly as docs/formats.md says it."""
    packed = b""
    for at in range(0, len(samples), 64):
        record = samples[at:at + 64]
        lowest = min(record)
        bits = (max(record) - lowest).bit_length()
        word = sum((s - lowest) << (bits * i) for i, s in enumerate(record))
        packed += struct.pack("<BH", bits, lowest) + word.to_bytes(8 * bits, "little")
    return packed


class Pack(harness.SystemTest):
    def waveforms(self, samples, count):
        rng = random.Random(samples)
        values = array("H")
        for _ in range(count):
            bits = rng.randint(0, 16)
            lowest = rng.randint(0, (1 << 16) - (1 << bits))
            values.extend(lowest + rng.getrandbits(bits) if bits else lowest for _ in range(samples))
        # The edges of every N, one below and at each.
        for bits in range(17):
            for top in ((1 << bits) - 1, 1 << bits):
                if top <= 0xFFFF:
                    values.extend([0] * (samples - 1) + [top])
        return values

    def test_pack_gives_the_bytes_of_the_page_and_unpack_the_input(self):
        for samples in (64, 256):
            with self.subTest(samples=samples):
                values = self.waveforms(samples, 300)
                source, packed, back = (self.folder / f"{samples}{end}" for end in (".u16", ".koto", ".back"))
                source.write_bytes(struct.pack(f"<{len(values)}H", *values))
                code, said = self.run_tool("pack", source, packed, "--samples", str(samples))
                self.assertEqual(code, 0, said)
                self.assertTrue(packed.read_bytes() == pack(values), "not the records of section 5")
                code, said = self.run_tool("unpack", packed, back, "--samples", str(samples))
                self.assertEqual(code, 0, said)
                self.assertTrue(back.read_bytes() == source.read_bytes())

    def test_the_report_stays_out_of_the_records_on_standard_output(self):
        source = self.folder / "in.u16"
        source.write_bytes(bytes(128))
        p = subprocess.run([harness.BIN / "koto-l3", "pack", source, "-", "--json"], capture_output=True, check=True)
        self.assertEqual(p.stdout, bytes(3))
        self.assertEqual(json.loads(p.stderr.splitlines()[-1])["bytes_out"], 3)


class Strong(harness.SystemTest):
    """Files of the strong codec, by a reader made from the page alone."""

    def waveforms(self, samples, count):
        rng = random.Random(samples)
        values = []
        for number in range(count):
            bits = rng.randint(0, 16) if number % 3 == 0 else rng.randint(0, 6)
            lowest = rng.randint(0, (1 << 16) - (1 << bits))
            pulse = 3000 if number % 5 == 0 else 0
            for i in range(samples):
                pulse = pulse * 7 // 8 if i > 20 else pulse
                values.append(min(lowest + (rng.getrandbits(bits) if bits else 0) + (pulse if i > 20 else 0), 0xFFFF))
        return values

    def packed(self, values, samples, name="strong"):
        source, packed = self.folder / f"{name}.u16", self.folder / f"{name}.kl3w"
        source.write_bytes(struct.pack(f"<{len(values)}H", *values))
        code, said = self.run_tool("pack", source, packed, "--codec", "strong", "--samples", str(samples))
        self.assertEqual(code, 0, said)
        return packed

    def test_a_stranger_reads_them(self):
        for samples, count in ((64, 90), (256, 21), (192, 11)):
            with self.subTest(samples=samples):
                values = self.waveforms(samples, count)
                packed = self.packed(values, samples)
                self.assertEqual(strong_reader.read_file(packed.read_bytes()), (samples, values))
                code, said = self.run_tool("unpack", packed, self.folder / f"back{samples}.u16", "--codec", "strong")
                self.assertEqual(code, 0, said)
                self.assertEqual((self.folder / f"back{samples}.u16").read_bytes(), (self.folder / "strong.u16").read_bytes())

    def test_the_bytes_stay(self):
        golden = pathlib.Path(__file__).resolve().parent / "golden_strong"
        for samples in (64, 256):
            with self.subTest(samples=samples):
                kept = (golden / f"{samples}.kl3w").read_bytes()
                self.assertEqual(strong_reader.read_file(kept), (samples, self.waveforms(samples, 2048 // samples)))
                self.assertTrue(self.packed(self.waveforms(samples, 2048 // samples), samples).read_bytes() == kept,
                                "another file than the one that was kept")


if __name__ == "__main__":
    harness.main()
