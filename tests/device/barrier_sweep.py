#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Leaves out each barrier of each kernel in turn and runs the cases that launch the kernel: they must fail, or the barrier stands
in superfluous_barriers.txt with the reason. Takes minutes: part of `./run test --long`."""
import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).parent
SCHEDULES = ["converged", "random:1:8"]
PATIENCE = 4  # times as long as with the barrier: then it is noticed by not ending


def run(program, schedule, limit=600, **variables):
    """Whether the program passes, and how long it took."""
    environment = dict(os.environ, L3_REQUIRE_GPU="1", L3_DEVICE_SCHEDULE=schedule, **variables)
    begin = time.monotonic()
    try:
        done = subprocess.run([program], capture_output=True, env=environment, timeout=limit, check=False)
        passed = done.returncode == 0
    except subprocess.TimeoutExpired:
        passed = False
    return passed, time.monotonic() - begin


def barriers_of(program, folder):
    """{(kernel, instruction): place} of those that the program executes, and the time that it takes by schedule."""
    report = folder / program.name
    times = {}
    for schedule in SCHEDULES:
        passed, times[schedule] = run(program, schedule, L3_DEVICE_REPORT=str(report))
        if not passed:
            sys.exit(f"{program.name} fails as it is ({schedule})")
    found = {}
    for line in report.read_text().splitlines():
        if line.startswith("barrier ") and line.endswith(" 1"):
            _, kernel, instruction, place, _ = line.split()
            found[kernel, int(instruction)] = place
    return found, times


def name_of(kernel):
    done = subprocess.run(["c++filt", kernel], capture_output=True, text=True, check=False)
    match = re.search(r"run_block<([^,]+(?:<[^>]*>)?)", done.stdout)
    return match.group(1) if match else kernel


def short(place):
    return re.sub(r"^.*/\.\./", "", place)


def superfluous():
    """{file: [(word of the kernel's name, reason)]} from lines 'KERNEL FILE:LINE reason'."""
    lines = (HERE / "superfluous_barriers.txt").read_text().splitlines()
    return {tuple(line.split(maxsplit=2)[:2]): line.split(maxsplit=2)[2] for line in lines if line and not line.startswith("#")}


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("tests", type=pathlib.Path, help="the folder with the *_interpreted programs")
    arguments.add_argument("--only", default="", help="programs whose names contain this")
    given = arguments.parse_args()
    programs = sorted(p for p in given.tests.glob("*_interpreted") if given.only in p.name)
    explained, unnoticed, swept = superfluous(), [], 0
    with tempfile.TemporaryDirectory() as folder:
        known = {p: barriers_of(p, pathlib.Path(folder)) for p in programs}
    by_barrier = {}
    for program, (barriers, times) in known.items():
        for barrier, place in barriers.items():
            by_barrier.setdefault(barrier, (place, []))[1].append((sum(times.values()), program, times))
    for barrier, (place, users) in sorted(by_barrier.items(), key=lambda b: b[1][0]):
        kernel, instruction = barrier
        swept += 1
        noticed_by = None
        for _, program, times in sorted(users, key=lambda u: u[0]):
            for schedule in SCHEDULES:
                limit = 5 + PATIENCE * times[schedule]
                if noticed_by is None and not run(program, schedule, limit, L3_DEVICE_LEAVE_OUT=f"{kernel}:{instruction}")[0]:
                    noticed_by = f"{program.name}, {schedule}"
        reason = explained.get((name_of(kernel), short(place)))
        print(f"{name_of(kernel)} {short(place)}: {noticed_by or ('superfluous: ' + reason if reason else 'NOT NOTICED')}", flush=True)
        if noticed_by is None and reason is None:
            unnoticed.append((kernel, place))
    print(f"{swept} barriers left out in turn, {len(unnoticed)} of them neither noticed nor explained")
    return 1 if unnoticed or swept == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
