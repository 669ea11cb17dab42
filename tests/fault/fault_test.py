#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The table of faults: breaks koto-l3 on purpose, row by row, and prints what was injected beside what was seen. Rows, promises and
bars are those of docs/reliability.md and docs/farm.md. KOTO_L3_BIN names the folder of the programs; KOTO_L3_KEEP=1 keeps
what a row leaves.

Exit code 0: every row that was run holds; 1: one does not; 77: none could be run here."""
import argparse
import os
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "system")]


def options():
    p = argparse.ArgumentParser(prog="./run fault-test, farm-test", description="Break koto-l3 on purpose, and count.")
    p.add_argument("--short", action="store_true", help="the short form of ./run test: seconds per row, and only counts are judged")
    p.add_argument("--minutes", type=float, default=10, help="minimum minutes of the random mix of R1 and of the outages of R8 and R9 (10)")
    p.add_argument("--events", type=int, default=1_000_000, help="minimum number of events that R1 sends (1000000)")
    p.add_argument("--only", nargs="+", metavar="ROW", help="only these rows, as in R4 R12 or R2-6; a row of several promises is run whole")
    p.add_argument("--seed", type=int, default=1, help="seed of all random choices (1)")
    p.add_argument("--build", type=pathlib.Path, help="use the programs of this build folder, e.g. build-asan")
    p.add_argument("--list", action="store_true", help="list the rows (with --only, only those) and end")
    p.add_argument("--farm", action="store_true", help="run the rows of the farm: several nodes, some of which die")
    p.add_argument("--headlines", action="store_true", help="run the rows of headlines: what people see of each trouble; --only takes a part of a name")
    return p.parse_args()


def numbers(name):
    """The first and the last of a row or a range, as in R4, R12–14, r2-r6; None if it is neither."""
    m = re.fullmatch(r"r?(\d+)(?:[-–]r?(\d+))?", name, re.I)
    return m and (int(m[1]), int(m[2] or m[1]))


def chosen(rows, names):
    """The rows that have one of the names or numbers, in the order of the table."""
    found = set()
    for name in names:
        asked = numbers(name)
        fitting = {row.name for row in rows if row.name == name or row.group and name in row.name or
                   asked and (own := numbers(row.name)) and own[0] <= asked[1] and asked[0] <= own[1]}
        if not fitting:
            sys.exit(f"no row {name}; --list names them")
        found |= fitting
    return [row for row in rows if row.name in found]


def main():
    o = options()
    sanitizer = os.environ.get("KOTO_L3_SANITIZED", "")
    if o.build:
        os.environ["KOTO_L3_BIN"] = str(o.build.resolve() / "bin")
        sanitizer = re.search(r"^L3_SANITIZE:\w+=(.*)$", (o.build / "CMakeCache.txt").read_text(), re.M)[1]
        os.environ["KOTO_L3_SANITIZED"] = sanitizer
        os.environ.setdefault("TSAN_OPTIONS", f"suppressions={HERE.parent / 'tsan.supp'}")
    import harness
    import namespaces
    import own_space
    from rows import CHAIN, FARM, HEADLINES
    from shift import missing, shift_of
    from table import Plan, Table

    rows = HEADLINES if o.headlines else FARM if o.farm else CHAIN
    rows = chosen(rows, o.only) if o.only else [row for row in rows if not (o.short and row.long)]
    if o.list:
        print("\n".join(f"{r.name:7} {r.promise}: {r.bar}" for r in rows))
        return 0
    for program in ("koto-l3", "koto-l3d"):
        if not os.access(harness.BIN / program, os.X_OK):
            sys.exit(f"{harness.BIN / program} is not there: build it, and say where it is in KOTO_L3_BIN")

    table, not_here, groups = Table(), None, [group for group in dict.fromkeys(row.group for row in rows) if group]
    try:
        own_space.enter(own_space.MOUNTS | own_space.NETWORK)
        if groups:
            namespaces.Machines()
            not_here = missing()
    except OSError as e:
        not_here = f"no right to make namespaces here: {e.strerror}"
    print(table.head(), flush=True)
    with shift_of(() if not_here else groups) as shift:
        table.play(rows, Plan(o.short, o.minutes, o.events, o.seed, sanitizer, shift), not_here)
    print(table.summary(), flush=True)
    return 1 if "FAILS" in table.verdicts() else harness.SKIPPED if table.verdicts() == {"skipped"} else 0


if __name__ == "__main__":
    sys.exit(main())
