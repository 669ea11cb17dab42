#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares what `koto-l3-bench counts` counts with counts.txt. A kernel that executes 3 % more than there fails the test; so does
one that executes 3 % less, because the table is what pages quote. --write makes the table anew."""
import json
import pathlib
import re
import subprocess
import sys

TABLE = pathlib.Path(__file__).with_name("counts.txt")
COLUMNS = ["warp_instructions_per_waveform", "shared_wavefronts_per_waveform", "sectors_per_request", "barriers_per_event"]
TOLERANCE = 0.03
MOST_HISTOGRAMS = 0.15  # of measure_pulses
ONE_IN = 4  # histograms.one_in by default: of so many events the waveforms of one are looked at; counted are those of every event
HEAD = """# What kernels execute for four events of the whole readout (18 176 waveforms of 64 samples): simulated ones, or made-up ones
# with the N of recordings where a row says so. PTX of compute_90 run by tests/device: `build/interpreted/koto-l3-bench counts`.
# tests/device/counts_test.py --write makes this table.
"""


def compiler(nvcc):
    said = subprocess.run([nvcc, "--version"], capture_output=True, text=True, check=True).stdout
    return re.search(r"release [\d.]+, V([\d.]+)", said).group(1)


def counted(bench):
    said = subprocess.run([bench, "counts", "--json"], capture_output=True, text=True, check=True).stdout
    return {(row["what"], row["kernel"]): [row[c] for c in COLUMNS] for row in json.loads(said)["rows"]}


def write(version, rows):
    lines = [f"nvcc {version}", " | ".join(["what", "kernel", *COLUMNS])]
    lines += [" | ".join([*key, *(f"{v:.4g}" for v in values)]) for key, values in sorted(rows.items())]
    TABLE.write_text(HEAD + "\n".join(lines) + "\n")


def committed():
    lines = [line for line in TABLE.read_text().splitlines() if not line.startswith("#")]
    rows = [line.split(" | ") for line in lines[2:]]
    return lines[0].removeprefix("nvcc "), {(row[0], row[1]): [float(v) for v in row[2:]] for row in rows}


def differences(now, before):
    """A sentence for each figure that is not the table's."""
    found = [f"{' / '.join(key)}: not in the table" for key in sorted(now.keys() - before.keys())]
    found += [f"{' / '.join(key)}: in the table, and not launched" for key in sorted(before.keys() - now.keys())]
    for key in sorted(now.keys() & before.keys()):
        for name, new, old in zip(COLUMNS, now[key], before[key]):
            if abs(new - old) > TOLERANCE * old:
                found.append(f"{' / '.join(key)}: {name} {new:.4g}, in the table {old:.4g}")
    return found


def cost_of_histograms(rows):
    """What histograms add by default, as a part of measure_pulses: their kernels, and what more leaves the device."""
    def cost(way, kernel):
        return rows.get((way, kernel), [0.0])[0]
    with_them, without = "selection, histograms", "selection"
    added = cost(with_them, "deliver_events") - cost(without, "deliver_events")
    for way, kernel in rows:
        if way == with_them and "histogram" in kernel:
            added += cost(way, kernel) / (ONE_IN if kernel == "histogram_channels" else 1)
    return added / cost(without, "measure_pulses")


def check_itself():
    """A kernel that gets worse, one that gets better, a new one and one that is gone are told."""
    before = {("a", "k"): [100.0, 1.0, 2.0, 0.0], ("a", "gone"): [1.0, 1.0, 1.0, 1.0]}
    assert differences(before, before) == []
    assert differences({**before, ("a", "k"): [102.9, 1.0, 2.0, 0.0]}, before) == []
    for worse in ([103.1, 1.0, 2.0, 0.0], [100.0, 1.1, 2.0, 0.0], [100.0, 1.0, 2.0, 0.1], [96.0, 1.0, 2.0, 0.0]):
        assert len(differences({**before, ("a", "k"): worse}, before)) == 1, worse
    assert len(differences({("a", "k"): before["a", "k"], ("a", "new"): [1.0] * 4}, before)) == 2
    rows = {("selection", "measure_pulses"): [20.0], ("selection", "deliver_events"): [1.0], ("selection, histograms", "deliver_events"): [2.0],
            ("selection, histograms", "histogram_channels"): [12.0], ("selection, histograms", "clear_histograms"): [1.0]}
    assert cost_of_histograms(rows) == 0.25


def main():
    check_itself()
    bench, nvcc = sys.argv[1:3]
    version, now = compiler(nvcc), counted(bench)
    if "--write" in sys.argv:
        write(version, now)
        return 0
    known_version, before = committed()
    histograms = cost_of_histograms(now)
    print(f"histograms take {histograms:.1%} of measure_pulses")
    if histograms > MOST_HISTOGRAMS:
        return 1
    if version != known_version:
        print(f"the table was made with nvcc {known_version}, this is {version}: not compared")
        return 77
    found = differences(now, before)
    print("\n".join(found) if found else f"{len(now)} kernels execute what the table says")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
