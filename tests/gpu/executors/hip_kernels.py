#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles all kernels for AMD's devices, prints the resources of each as the compiler reports them, and fails if a kernel works
in scratch memory or spills registers. Exit code 77, with a reason, where there is no hipcc.

hip_kernels.py SOURCE_FOLDER ARCHITECTURE…."""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

SOURCES = ("selection/engine/engine_hip.hip", "gpu/memory/hip_memory.hip")
NO_COMPILER = 77
FIGURES = {"VGPRs": "VGPRs", "LDS": "LDS Size [bytes/block]", "waves": "Occupancy [waves/SIMD]",
           "scratch": "ScratchSize [bytes/lane]", "spilled": "VGPRs Spill", "scalars spilled": "SGPRs Spill"}
FORBIDDEN = ("scratch", "spilled", "scalars spilled")
REMARK = re.compile(r"remark:\s+([^:]+): (\S+) \[-Rpass-analysis=kernel-resource-usage\]")


def parse(report):
    """[(symbol, {figure: number})], a kernel each."""
    kernels = []
    for what, value in REMARK.findall(report):
        if what == "Function Name":
            kernels.append((value, {}))
        else:
            kernels[-1][1].update({figure: int(value) for figure, words in FIGURES.items() if words == what})
    return kernels


def compile_for(architecture, folder):
    """The compiler's report on all sources, as one translation unit, without the code of the host."""
    with tempfile.TemporaryDirectory() as out:
        everything = pathlib.Path(out, "all.hip")
        everything.write_text("".join(f'#include "{source}"\n' for source in SOURCES))
        p = subprocess.run(["hipcc", "-std=c++20", "-O3", "-ffp-contract=off", "-Wall", "-Wextra", "-Werror", "-I.", f"--offload-arch={architecture}",
                            "--cuda-device-only", "-Rpass-analysis=kernel-resource-usage", "-c", everything, "-o", f"{out}/object"],
                           cwd=folder, capture_output=True, text=True)
    if p.returncode != 0:
        raise SystemExit(p.stderr)
    return p.stderr


def name_of(symbol):
    name = subprocess.run(["c++filt", symbol], capture_output=True, text=True, check=True).stdout.replace("(anonymous namespace)::", "")
    found = re.search(r"run_block<([\w:]+)", name) or re.search(r"([\w:]+)\(", name)
    return found.group(1).removeprefix("l3::") if found else symbol


def check(folder, architectures):
    """Every reason to fail, as texts."""
    problems = []
    print(f"{'kernel':<20} {'device':<8} " + " ".join(f"{figure:>15}" for figure in FIGURES))
    for architecture in architectures:
        kernels = parse(compile_for(architecture, folder))
        if not kernels:
            problems.append(f"no kernel is reported for {architecture}")
        for symbol, figures in kernels:
            kernel = name_of(symbol)
            if figures.keys() != FIGURES.keys():
                problems.append(f"{kernel} on {architecture}: the report is not understood")
                continue
            print(f"{kernel:<20} {architecture:<8} " + " ".join(f"{figures[figure]:>15}" for figure in FIGURES))
            problems += [f"{kernel} on {architecture}: {figure} {figures[figure]}" for figure in FORBIDDEN if figures[figure]]
    return problems


if __name__ == "__main__":
    if shutil.which("hipcc") is None:
        print("Skipped: no hipcc (Debian's packages hipcc and libamdhip64-dev)")
        sys.exit(NO_COMPILER)
    found = check(sys.argv[1], sys.argv[2:])
    print("\n".join(found) or "ok")
    sys.exit(1 if found else 0)
