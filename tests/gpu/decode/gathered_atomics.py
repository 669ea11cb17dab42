#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks in the machine code of decode_boards that the switch "warp-aggregated atomics" acts. Off: one atomic for each lane, without
a vote or an exchange between lanes. On: one vote, one atomic and an exchange for the lanes of a warp, without the second gathering
that the compiler adds around atomics whose address it sees to be uniform.

gathered_atomics.py CUOBJDUMP FILE…, one of which has the kernels, or --self-test. Exits with 77 without cuobjdump."""
import collections
import re
import subprocess
import sys

NO_CUOBJDUMP = 77
ARCHITECTURE = re.compile(r"\s*arch = (\w+)")
FUNCTION = re.compile(r"\s*Function : (\w+)")
SWITCHES = re.compile(r"decode_boards<\w*:*decode_techniques\{([^}]*)\}")
NAMES = ["table_by_source", "zero_suppression", "warp_aggregation", "big_first", "short_registers", "opportunistic"]
KIND = re.compile(r"\b(ATOMG?|RED|VOTEU?|SHFL)\.(UP)?")  # not ATOMS, which is for shared memory


def parse(sass):
    """By architecture and symbol: how often each kind of instruction stands in the code."""
    kernels, architecture, counts = {}, None, None
    for line in sass.splitlines():
        if m := ARCHITECTURE.match(line):
            architecture = m.group(1)
        elif m := FUNCTION.match(line):
            counts = kernels.setdefault((architecture, m.group(1)), collections.Counter())
        elif counts is not None and (m := KIND.search(line)):
            counts[m.group(1).removesuffix("G").removesuffix("U") + (m.group(2) or "")] += 1
    return kernels


def switches_of(symbols):
    names = subprocess.run(["c++filt", *symbols], capture_output=True, text=True, check=True).stdout.splitlines()
    return {s: dict(zip(NAMES, (w.strip() == "true" for w in m.group(1).split(","))))
            for s, n in zip(symbols, names) if (m := SWITCHES.search(n))}


def check(sass, say=print):
    """Every reason to fail, as texts."""
    kernels = parse(sass)
    switches = switches_of(sorted({symbol for _, symbol in kernels})) if kernels else {}
    problems, seen = [], set()
    for (architecture, symbol), n in sorted(kernels.items()):
        if symbol not in switches:
            continue
        how = switches[symbol]
        on = how["warp_aggregation"]
        seen.add(on)
        name = f"{architecture}, aggregation {'on' if on else 'off'}{', looping' if how['opportunistic'] else ''}"
        say(f"{name}: {n['ATOM']} atomics, {n['VOTE']} votes, {n['SHFL']} exchanges, {n['SHFLUP']} of a scan")
        atomics = n["ATOM"] + n["RED"] - how["opportunistic"]  # it fetches its work by one atomic
        if on and (atomics, n["VOTE"], n["SHFLUP"]) != (1, 1, 0) or on and n["SHFL"] == 0:
            problems.append(f"{name}: not gathered once")
        if not on and (atomics < 1 or n["VOTE"] + n["SHFL"] + n["SHFLUP"] != 0):
            problems.append(f"{name}: gathered")
    if seen != {True, False}:
        problems.append("decode_boards is not there in both forms")
    return problems


def self_test():
    def kernel(on, looping, *instructions):
        flags = "".join(f"Lb{int(f)}E" for f in (True, True, on, True, False, looping))
        symbol = f"_ZN2l39run_blockINS_13decode_boardsIXtlNS_17decode_techniquesE{flags}EEEEJEEEvT_DpT0_"
        code = "".join(f"        /*0{k}00*/  {i} R4, R5 ;\n" for k, i in enumerate(instructions))
        return f"\tarch = sm_90\n\t\tFunction : {symbol}\n{code}"

    atomic, vote, exchange, scan = "@!P0 ATOMG.E.ADD.STRONG.GPU PT,", "VOTE.ANY", "SHFL.IDX PT,", "SHFL.UP P0,"
    on, off = kernel(True, False, vote, atomic, exchange), kernel(False, False, atomic, atomic, "ATOMS.OR")
    cases = [
        (on + off, 0),
        (kernel(True, True, atomic, vote, atomic, exchange, exchange) + off, 0),
        (on, 1), (off, 1), ("", 1),
        (on + kernel(False, False, "VOTEU.ANY", atomic, exchange), 1),
        (kernel(True, False, atomic) + off, 1),
        (kernel(True, False, vote, atomic) + off, 1),
        (kernel(True, False, vote, vote, atomic, exchange, exchange) + off, 1),
        (kernel(True, False, vote, atomic, scan, atomic, exchange) + off, 1),
        (kernel(True, True, vote, atomic, exchange) + off, 1),
    ]
    return [f"expected {n} problems, found {p} in {text}" for text, n in cases if len(p := check(text, say=lambda _: None)) != n]


if __name__ == "__main__":
    if sys.argv[1] == "--self-test":
        found = self_test()
    elif sys.argv[1].endswith("NOTFOUND"):
        print("machine code: Skipped\nthere is no cuobjdump, which shows it")
        sys.exit(NO_CUOBJDUMP)
    else:
        found = check("".join(subprocess.run([sys.argv[1], "-sass", f], capture_output=True, text=True, check=True).stdout
                              for f in sys.argv[2:]))
    print("\n".join(found) or "ok")
    sys.exit(1 if found else 0)
