#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Bare records that `koto-l3 pack` writes are what docs/formats.md says, of both codecs, and `unpack` gives the samples back. Simulated files are
read by every test that sends one."""
import json
import random
import struct
import subprocess

import harness
import strong_reader


def waveforms(samples, count):
    """Of every width, and pulses on some; golden_strong holds those of 64 and 256 samples."""
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


def edges(samples):
    """Of every width of a record, one below and at each."""
    tops = [top for bits in range(17) for top in ((1 << bits) - 1, 1 << bits) if top <= 0xFFFF]
    return [value for top in tops for value in [0] * (samples - 1) + [top]]


def koto_records(values):
    """64 samples each, packed as plainly as the page says it."""
    packed = b""
    for at in range(0, len(values), 64):
        record = values[at:at + 64]
        lowest, bits = min(record), (max(record) - min(record)).bit_length()
        word = sum((s - lowest) << (bits * i) for i, s in enumerate(record))
        packed += struct.pack("<BH", bits, lowest) + word.to_bytes(8 * bits, "little")
    return packed


class Files(harness.SystemTest):
    def packed(self, values, samples, codec):
        """The file; unpack must give the samples back."""
        source, packed, back = (self.folder / f"{codec}-{samples}{end}" for end in (".u16", ".packed", ".back"))
        source.write_bytes(struct.pack(f"<{len(values)}H", *values))
        for arguments in (("pack", source, packed, "--samples", str(samples)),
                          ("unpack", packed, back, *(("--samples", str(samples)) if codec == "koto" else ()))):
            code, said = self.run_tool(*arguments, "--codec", codec)
            self.assertEqual(code, 0, said)
        self.assertTrue(back.read_bytes() == source.read_bytes())
        return packed.read_bytes()

    def test_they_are_those_of_the_page(self):
        for samples, count in ((64, 90), (256, 21), (192, 11)):
            with self.subTest(samples=samples):
                values = waveforms(samples, count)
                self.assertEqual(strong_reader.read_file(self.packed(values, samples, "strong")), (samples, values))
                if samples != 192:
                    values += edges(samples)
                    self.assertTrue(self.packed(values, samples, "koto") == koto_records(values), "not the records of section 5")

    def test_the_bytes_of_the_strong_codec_stay(self):
        for samples in (64, 256):
            with self.subTest(samples=samples):
                kept, values = (harness.HERE / "golden_strong" / f"{samples}.kl3w").read_bytes(), waveforms(samples, 2048 // samples)
                self.assertEqual(strong_reader.read_file(kept), (samples, values))
                self.assertTrue(self.packed(values, samples, "strong") == kept, "another file than the one that was kept")

    def test_the_report_stays_out_of_the_records_on_standard_output(self):
        source = self.folder / "in.u16"
        source.write_bytes(bytes(128))
        p = subprocess.run([harness.BIN / "koto-l3", "pack", source, "-", "--json"], capture_output=True, check=True)
        self.assertEqual(p.stdout, bytes(3))
        self.assertEqual(json.loads(p.stderr.splitlines()[-1])["bytes_out"], 3)


if __name__ == "__main__":
    harness.main()
