#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the resources of each kernel on each architecture, as the compiler reported them, and fails if a kernel has a stack
frame or spills registers: such a kernel works in device memory where it should work in registers.

kernel_resources.py SOURCE_FOLDER BUILD_FOLDER."""
import pathlib
import re
import subprocess
import sys

ENTRY = re.compile(r"ptxas info\s*: Compiling entry function '(\w+)' for '(\w+)'")
STACK = re.compile(r"\s*(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
USED = re.compile(r"ptxas info\s*: Used (\d+) registers")
LIBRARIES = ("_ZN3cub",)  # the test ignores their kernels
SHARED = re.compile(r"(\d+) bytes smem")


class Kernel:
    def __init__(self, symbol, architecture):
        self.symbol, self.architecture = symbol, architecture
        self.registers = self.shared = self.stack = self.spilled = None

    def complete(self):
        return None not in (self.registers, self.stack, self.spilled)


def parse(text):
    """The kernels of one report. The report lists functions that are not inlined by name under the kernel before them."""
    kernels = []
    for line in text.splitlines():
        if m := ENTRY.match(line):
            kernels.append(Kernel(*m.groups()))
        elif m := STACK.match(line):
            stack, stores, loads = map(int, m.groups())
            kernels[-1].stack = max(kernels[-1].stack or 0, stack)
            kernels[-1].spilled = max(kernels[-1].spilled or 0, stores + loads)
        elif m := USED.match(line):
            kernels[-1].registers = int(m.group(1))
            kernels[-1].shared = int(m.group(1)) if (m := SHARED.search(line)) else 0
    return kernels


def reports(source, build):
    """The reports of all device sources that still exist, except those of tests."""
    for report in sorted(build.rglob("*.cu.o.ptxas")):
        room, target, name = re.fullmatch(r"(.*)/CMakeFiles/(.*?)\.dir/(.*)\.o\.ptxas", str(report.relative_to(build))).groups()
        if not room.startswith("tests") and (source / room / name).exists():
            yield f"{room}/{name}", report.read_text()


def readable(symbols):
    names = subprocess.run(["c++filt", *symbols], capture_output=True, text=True, check=True).stdout.splitlines()
    names = [n.replace("(anonymous namespace)::", "") for n in names]
    short = [re.search(r"run_block<([\w:]+)", n) or re.search(r"([\w:]+)\(", n) for n in names]
    return {s: (m.group(1) if m else n).split("::")[-1] for s, n, m in zip(symbols, names, short)}


def check(source, build):
    """Every reason to fail, as texts."""
    problems, architectures, found = [], {}, 0
    print(f"{'kernel':<24} {'device':<8} {'registers':>9} {'shared':>8} {'stack':>7} {'spilled':>8}  source")
    for name, text in reports(source, build):
        kernels = [k for k in parse(text) if not k.symbol.startswith(LIBRARIES)]
        names = readable([k.symbol for k in kernels]) if kernels else {}
        for k in kernels:
            kernel = names[k.symbol]
            found += 1
            architectures.setdefault(name, {}).setdefault(k.symbol, (kernel, set()))[1].add(k.architecture)
            if not k.complete():
                problems.append(f"{kernel} on {k.architecture}: the report is not understood")
                continue
            print(f"{kernel:<24} {k.architecture:<8} {k.registers:>9} {k.shared:>8} {k.stack:>7} {k.spilled:>8}  {name}")
            if k.stack or k.spilled:
                problems.append(f"{kernel} on {k.architecture}: {k.stack} bytes of stack frame, {k.spilled} bytes spilled")
    if not found:
        problems.append(f"no kernel is reported in {build}")
    for name, kernels in architectures.items():  # benches are compiled for fewer devices than the programs
        every = set().union(*(has for _, has in kernels.values()))
        problems += [f"{kernel} in {name} is missing for {', '.join(sorted(every - has))}"
                     for kernel, has in kernels.values() if has != every]
    return problems


if __name__ == "__main__":
    found = check(*map(pathlib.Path, sys.argv[1:]))
    print("\n".join(found) or "ok")
    sys.exit(1 if found else 0)
