#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The table of faults: breaks koto-l3 on purpose, row by row, and prints what was injected beside what was seen. Rows, promises and
bars are those of docs/reliability.md. KOTO_L3_BIN names the folder of the programs; KOTO_L3_KEEP=1 keeps what a row leaves.

Exit code 0: every row that was run holds; 1: one does not; 77: none could be run here."""
import argparse
import os
import pathlib
import random
import re
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "system")]


def options():
    p = argparse.ArgumentParser(prog="./run fault-test", description="Break koto-l3 on purpose, and count.")
    p.add_argument("--short", action="store_true", help="the form that is part of ./run test: seconds a row, counts alone are judged")
    p.add_argument("--minutes", type=float, default=10, help="how long the random mix of R1 lasts at least, and the outages of R8 and R9 (10)")
    p.add_argument("--events", type=int, default=1_000_000, help="how many events R1 sends at least (1000000)")
    p.add_argument("--only", nargs="+", metavar="ROW", help="these rows, as in R4 R12 or R2-6; a row that stands for several is run whole")
    p.add_argument("--seed", type=int, default=1, help="of everything that is random (1)")
    p.add_argument("--build", type=pathlib.Path, help="use the programs of this build folder, e.g. build-asan")
    p.add_argument("--json", type=pathlib.Path, metavar="FILE", help="write the table as JSON, too")
    p.add_argument("--list", action="store_true", help="list the rows (those of --only, if it is there) and end")
    return p.parse_args()


def main():
    o = options()
    sanitizer = os.environ.get("KOTO_L3_SANITIZED", "")
    if o.build:
        os.environ["KOTO_L3_BIN"] = str(o.build.resolve() / "bin")
        sanitizer = re.search(r"^L3_SANITIZE:\w+=(.*)$", (o.build / "CMakeCache.txt").read_text(), re.M)[1]
        os.environ["KOTO_L3_SANITIZED"] = sanitizer
        os.environ.setdefault("TSAN_OPTIONS", f"suppressions={HERE.parent / 'tsan.supp'}")
    import chain
    import harness
    import own_space
    import rows
    from table import Findings, Plan, Table

    chosen, unknown = rows.named(o.only) if o.only else (rows.ALL, [])
    if unknown:
        sys.exit(f"no row {', '.join(unknown)}; --list names them")
    if o.list:
        print("\n".join(f"{r.name:7} {r.promise}: {r.bar}" for r in chosen))
        return 0
    for program in ("koto-l3", "koto-l3d"):
        if not os.access(harness.BIN / program, os.X_OK):
            sys.exit(f"{harness.BIN / program} is not there: build it, and say where it is in KOTO_L3_BIN")

    table, here = Table(), None
    try:
        own_space.enter(own_space.MOUNTS | own_space.NETWORK)
    except OSError as e:
        here = f"no right to make namespaces here: {e.strerror}"
    print(table.head(), flush=True)
    for row in chosen:
        plan = Plan(o.short, o.minutes, o.events, o.seed, sanitizer)
        findings, begun, skipped = Findings(plan), time.monotonic(), here
        random.seed(o.seed)
        if not here:
            try:
                row.run(findings, plan)
            except chain.Skipped as e:
                skipped = str(e)
            except Exception as e:  # a row that breaks must not hide the others
                findings.check(False, f"{type(e).__name__}: {e}")
        table.add(row, findings, time.monotonic() - begun, skipped)
        print(table.line(table.rows[-1]), flush=True)
    print(table.summary(), flush=True)
    if o.json:
        o.json.write_text(table.json())
    return 1 if table.failed() else harness.SKIPPED if table.all_skipped() else 0


if __name__ == "__main__":
    sys.exit(main())
