#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts the instructions of each kernel as they stand in the machine code of each device, and compares them with machine_code.txt.
A kernel that is 3 % longer or shorter than there fails the test. What runs is counted in PTX (counts_test.py); a step is one only
if the machine code gets shorter, too.

machine_code.py CUOBJDUMP NVCC FILE… [--write], or --self-test. Exits with 77 without cuobjdump, or with another compiler."""
import pathlib
import re
import subprocess
import sys

from counts_test import TOLERANCE, compiler

NOT_COMPARED = 77
TABLE = pathlib.Path(__file__).with_name("machine_code.txt")
HEAD = "# Instructions of each kernel as they stand in its machine code; tests/device/machine_code.py --write makes this table.\n"
ARCHITECTURE = re.compile(r"\s*(?:arch = |code for )(sm_\d+)")
FUNCTION = re.compile(r"\s*Function : (\w+)")
INSTRUCTION = re.compile(r"\s+/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+\s+)?(\w+)")


def parse(sass):
    """{(architecture, symbol): instructions}, without those that only fill the end."""
    found, architecture, key = {}, None, None
    for line in sass.splitlines():
        if m := ARCHITECTURE.match(line):
            architecture = m.group(1)
        elif m := FUNCTION.match(line):
            key = (architecture, m.group(1))
            found[key] = 0
        elif key and (m := INSTRUCTION.match(line)) and m.group(1) != "NOP":
            found[key] += 1
    return found


def by_kernel(found):
    """{kernel: {architecture: instructions}} of the longest form of each kernel."""
    symbols = sorted({symbol for _, symbol in found})
    names = subprocess.run(["c++filt", *symbols], capture_output=True, text=True, check=True).stdout.splitlines()
    name_of = {s: m.group(1) for s, n in zip(symbols, names) if (m := re.search(r"run_block<l3::(\w+)", n))}
    table = {}
    for (architecture, symbol), n in found.items():
        if symbol in name_of:
            row = table.setdefault(name_of[symbol], {})
            row[architecture] = max(n, row.get(architecture, 0))
    return table


def text_of(version, table):
    columns = sorted({a for row in table.values() for a in row})
    lines = [f"nvcc {version}", " | ".join(["kernel", *columns])]
    return "\n".join(lines + [" | ".join([k, *(str(row.get(a, "-")) for a in columns)]) for k, row in sorted(table.items())]) + "\n"


def read(text):
    lines = [line.split(" | ") for line in text.splitlines() if not line.startswith("#")]
    columns = lines[1][1:]
    return lines[0][0].removeprefix("nvcc "), {r[0]: {a: int(n) for a, n in zip(columns, r[1:]) if n != "-"} for r in lines[2:]}


def differences(now, before):
    """A sentence for each kernel that has another length on a device for which it was compiled."""
    found = [f"{kernel}: not in the table" for kernel in sorted(now.keys() - before.keys())]
    found += [f"{kernel}: in the table, and not in the program" for kernel in sorted(before.keys() - now.keys())]
    for kernel in sorted(now.keys() & before.keys()):
        for architecture in sorted(now[kernel].keys() & before[kernel].keys()):
            new, old = now[kernel][architecture], before[kernel][architecture]
            if abs(new - old) > TOLERANCE * old:
                found.append(f"{kernel}, {architecture}: {new} instructions, in the table {old}")
    return found


def self_test():
    symbol = "_ZN2l39run_blockINS_14measure_boardsEJEEEvT_DpT0_"
    sass = (f"\tarch = sm_90\n\t\tFunction : {symbol}\n        /*0000*/                   LDC R1, c[0x0][0x28] ;  /* 0x00000a */\n"
            "        /*0010*/              @!P0 BRA `(.L_x_1) ;\n        /*0020*/                   NOP;\n")
    table = by_kernel(parse(sass))
    assert table == {"measure_boards": {"sm_90": 2}}, table
    assert read(HEAD + text_of("1.2.3", table)) == ("1.2.3", table)
    before = {"a": {"sm_80": 100, "sm_90": 200}, "gone": {"sm_80": 1}}
    assert differences(before, before) == []
    assert differences({**before, "a": {"sm_80": 103}}, before) == []
    for other in ({"sm_80": 104, "sm_90": 200}, {"sm_80": 100, "sm_90": 190}):
        assert len(differences({**before, "a": other}, before)) == 1, other
    assert len(differences({"a": before["a"], "new": {"sm_80": 1}}, before)) == 2


def main():
    self_test()
    if "--self-test" in sys.argv:
        return 0
    cuobjdump, nvcc, *files = [a for a in sys.argv[1:] if not a.startswith("--")]
    if cuobjdump.endswith("NOTFOUND"):
        print("machine code: Skipped\nthere is no cuobjdump, which shows it")
        return NOT_COMPARED
    version = compiler(nvcc)
    now = by_kernel(parse("".join(subprocess.run([cuobjdump, "-sass", f], capture_output=True, text=True, check=True).stdout
                                  for f in files)))
    if "--write" in sys.argv:
        TABLE.write_text(HEAD + text_of(version, now))
        return 0
    known_version, before = read(TABLE.read_text())
    if not now:
        print("the program was compiled to PTX only: not compared")
        return NOT_COMPARED
    if version != known_version:
        print(f"the table was made with nvcc {known_version}, this is {version}: not compared")
        return NOT_COMPARED
    found = differences(now, before)
    print(text_of(version, now) + ("\n".join(found) if found else "as in the table"))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
