#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs benches with tiny sizes. Each must end with 0, which it does only if every output is right, and print its rows:
bench_test.py koto-l3-bench."""
import array
import json
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
    "device": (["--backend", "pool", "--threads", "2", "--least", "8KiB", "--most", "1MiB", *ONCE], "koto-l3, board packets, strong codec"),
    "decode": (["--backend", "serial", "--events", "2", *ONCE], "+ opportunistic looping"),
    "decode varied": (["--backend", "pool", "--threads", "2", "--events", "2", "--varied", *ONCE], "+ big banks first"),
    "select": (["--backend", "serial", "--events", "2", "--slices", "2", *ONCE], "find_clusters with connectors"),
    "sort": (["--backend", "none", "--segments", "2", *ONCE], "std::sort"),
    "engine": (["--backend", "serial", "--events", "2", "--batches", "4", "--select", "--suppressed", "--strong", *ONCE], "engine, serial, selection"),
    "daemon": (["--backend", "serial", "--events", "2", "--batches", "6", "--rate", "50MB", "--only", "selection", *ONCE], "daemon, serial, selection"),
}


def energy_is_counted(program, folder):
    """Two packages. Their counters are the time that the bench itself spent on a processor, which grows from read to read."""
    for n in (0, 1):
        counter = folder / f"intel-rapl:{n}" / "energy_uj"
        counter.parent.mkdir()
        counter.symlink_to("/proc/self/schedstat")
    command = [program, "device", "--backend", "serial", "--least", "8KiB", "--most", "8KiB", *ONCE, "--json", "--powercap", str(folder)]
    report = json.loads(subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout)
    return all(fit["processor_joules_per_gib"] > 0 for fit in report["fits"]) and len(report["fits"]) == len(report["rows"])


def main():
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        waveforms = pathlib.Path(folder) / "waveforms.u16"
        waveforms.write_bytes(array.array("H", (900 + i * i % 7 for i in range(64 * 40))).tobytes())
        if not energy_is_counted(sys.argv[1], pathlib.Path(folder)):
            failed += 1
            print("device: the energy of the processors is not counted")
        for name, (options, row) in BENCHES.items():
            command = [sys.argv[1], name.split()[0], *(str(waveforms) if o == "WAVEFORMS" else o for o in options)]
            done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
            if done.returncode != 0 or row not in done.stdout:
                failed += 1
                print(f"{name}: exit {done.returncode}, '{row}' is expected in\n{done.stdout}{done.stderr}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
