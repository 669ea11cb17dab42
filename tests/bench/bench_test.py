#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs benches with tiny sizes. Each must end with 0, which it does only if every output is right, and print its rows:
bench_test.py koto-l3-bench."""
import array
import pathlib
import subprocess
import sys
import tempfile

ONCE = ["--rounds", "1"]
CODEC = ["--hot", "8192", "--cold", "16384", "--hot-rounds", "1", "--cold-rounds", "1"]
BENCHES = {
    "pack": ([*CODEC], "plain scalar loop"),
    "unpack": ([*CODEC], "koto-l3, portable"),
    "codecs": (["WAVEFORMS", *ONCE], "strong"),
    "building": (["--events", "16", "--threads", "1", "--datagrams", "64", *ONCE], "mixed"),
    "receive": (["--events", "4", *ONCE], "bare loop into one place"),
    "memory": (["--backend", "none", "--hot", "4096", "--bytes", "8192", *ONCE], "memcpy, one core, from memory"),
    "decode": (["--backend", "serial", "--events", "2", *ONCE], "+ opportunistic looping"),
    "select": (["--backend", "serial", "--events", "2", *ONCE], "measure_pulses"),
    "sort": (["--backend", "none", "--segments", "2", *ONCE], "std::sort"),
    "engine": (["--backend", "serial", "--events", "2", "--batches", "4", *ONCE], "engine, serial"),
}


def main():
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        waveforms = pathlib.Path(folder) / "waveforms.u16"
        waveforms.write_bytes(array.array("H", (900 + i * i % 7 for i in range(64 * 40))).tobytes())
        for name, (options, row) in BENCHES.items():
            command = [sys.argv[1], name, *(str(waveforms) if o == "WAVEFORMS" else o for o in options)]
            done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
            if done.returncode != 0 or row not in done.stdout:
                failed += 1
                print(f"{name}: exit {done.returncode}, '{row}' is expected in\n{done.stdout}{done.stderr}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
