#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles all kernels for AMD's devices, prints the resources of each as the compiler reports them, and fails if a kernel works
in scratch memory or spills registers. Exit code 77, with a reason, where there is no hipcc.

hip_kernels.py SOURCE_FOLDER ARCHITECTURE…, or --self-test."""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

SOURCES = ("gpu/memory/hip_memory.hip", "selection/engine/engine_hip.hip")
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


def compile_for(architecture, folder, source):
    with tempfile.TemporaryDirectory() as out:
        p = subprocess.run(["hipcc", "-std=c++20", "-O3", "-ffp-contract=off", "-Wall", "-Wextra", "-Werror", "-I.", f"--offload-arch={architecture}",
                            "-Rpass-analysis=kernel-resource-usage", "-c", source, "-o", f"{out}/object"],
                           cwd=folder, capture_output=True, text=True)
    if p.returncode != 0:
        raise SystemExit(p.stderr)
    return p.stderr


def name_of(symbol):
    name = subprocess.run(["c++filt", symbol], capture_output=True, text=True, check=True).stdout.replace("(anonymous namespace)::", "")
    found = re.search(r"run_block<([\w:]+)", name) or re.search(r"([\w:]+)\(", name)
    return found.group(1).removeprefix("l3::") if found else symbol


def check(folder, architectures, sources=SOURCES, say=print):
    """Every reason to fail, as texts."""
    problems = []
    say(f"{'kernel':<20} {'device':<8} " + " ".join(f"{figure:>15}" for figure in FIGURES))
    for architecture in architectures:
        kernels = [k for source in sources for k in parse(compile_for(architecture, folder, source))]
        if not kernels:
            problems.append(f"no kernel is reported for {architecture}")
        for symbol, figures in kernels:
            kernel = name_of(symbol)
            if figures.keys() != FIGURES.keys():
                problems.append(f"{kernel} on {architecture}: the report is not understood")
                continue
            say(f"{kernel:<20} {architecture:<8} " + " ".join(f"{figures[figure]:>15}" for figure in FIGURES))
            problems += [f"{kernel} on {architecture}: {figure} {figures[figure]}" for figure in FORBIDDEN if figures[figure]]
    return problems


def self_test():
    """A kernel that needs scratch memory is found, and only that one."""
    text = """#include <hip/hip_runtime.h>
__global__ void good(int* a) { a[threadIdx.x] = 1; }
__global__ void tall(int* a, int n) {
  int some[64];
  for (int i = 0; i < 64; ++i) some[i] = a[i];
  for (int i = 0; i < n; ++i) some[a[i] & 63] += i;
  for (int i = 0; i < 64; ++i) a[i] = some[i];
}
"""
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "k.hip").write_text(text)
        problems = check(folder, ["gfx90a"], ["k.hip"], say=lambda _: None)
        (pathlib.Path(folder) / "k.hip").write_text("int none;\n")
        problems += check(folder, ["gfx90a"], ["k.hip"], say=lambda _: None)
    expected = ["tall on gfx90a: scratch", "no kernel is reported for gfx90a"]
    if len(problems) == len(expected) and all(p.startswith(e) for p, e in zip(problems, expected)):
        return []
    return [f"expected {expected}, found {problems}"]


if __name__ == "__main__":
    if shutil.which("hipcc") is None:
        print("Skipped: no hipcc (Debian's packages hipcc and libamdhip64-dev)")
        sys.exit(NO_COMPILER)
    found = self_test() if sys.argv[1] == "--self-test" else check(sys.argv[1], sys.argv[2:])
    print("\n".join(found) or "ok")
    sys.exit(1 if found else 0)
