#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Leaves out each barrier of each kernel in turn and runs the cases that launch the kernel: they must fail, or the barrier stands
in superfluous_barriers.txt with the reason. A kernel that does not end without the barrier is stopped after a number of
instructions, never after a time. Takes minutes: part of `./run test --long`. --self-test only looks at the list."""
import argparse
import collections
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile

from places import in_tree

HERE = pathlib.Path(__file__).parent
LIST = HERE / "superfluous_barriers.txt"
SCHEDULES = ["converged", "random:1:8"]
PATIENCE = 4  # times as many instructions in one launch as in all launches of the kernel that executes most
LIMIT = 1800  # seconds: a program that takes longer is a fault of the sweep, not a barrier that is noticed


def passes(program, schedule, **variables):
    environment = dict(os.environ, L3_REQUIRE_GPU="1", GTEST_FAIL_FAST="1", L3_DEVICE_SCHEDULE=schedule, **variables)
    return subprocess.run([program], capture_output=True, env=environment, timeout=LIMIT, check=False).returncode == 0


class Cases:
    """A program of cases as it is: which barriers it executes, and how many instructions each kernel takes."""

    def __init__(self, program, folder):
        self.program, self.barriers, self.instructions = program, {}, collections.Counter()
        report = folder / program.name
        for schedule in SCHEDULES:
            if not passes(program, schedule, L3_DEVICE_REPORT=str(report)):
                sys.exit(f"{program.name} fails as it is ({schedule})")
            for line in report.read_text().splitlines():
                kind, *words = line.split()
                if kind == "barrier" and words[3] == "1":
                    self.barriers[words[0], int(words[1])] = words[2]
                elif kind == "counts":
                    self.instructions[words[0]] += int(words[3])

    def notice(self, kernel, instruction):
        """The schedule that sees that this barrier is missing, or None."""
        for schedule in SCHEDULES:
            if not passes(self.program, schedule, L3_DEVICE_LEAVE_OUT=f"{kernel}:{instruction}",
                          L3_DEVICE_MOST_INSTRUCTIONS=str(PATIENCE * max(self.instructions.values()))):
                return schedule
        return None


def name_of(symbol):
    """The kernel's own name, without its namespaces; of its arguments only a number."""
    text = subprocess.run(["c++filt", symbol], capture_output=True, text=True, check=False).stdout.strip()
    match = re.search(r"run_block<(?:l3::test::)?(portable_form<)?((?:\w+::)*)(\w+(?:<\d+u>)?)", text)
    match = match or re.search(r"()((?:\w+::)*)(\w+)[<(]", text)
    return (match.group(3) + (", portable" if match.group(1) else "")) if match else symbol


def explained():
    """{(kernel, FILE:LINE): reason} from lines 'KERNEL | FILE:LINE | reason'."""
    lines = [line.split(" | ") for line in LIST.read_text().splitlines() if line and not line.startswith("#")]
    return {(kernel, place): reason for kernel, place, reason in lines}


def self_test():
    assert name_of("_ZN2l39run_blockINS_14measure_boardsEJEEEvT_DpT0_") == "measure_boards"
    assert name_of("_ZN2l39run_blockINS_4test13portable_formINS_11pack_boardsEEEJEEEvT_DpT0_") == "pack_boards, portable"
    assert name_of("_ZN2l39run_blockINS_4test13sort_segmentsILj1EEEJNS_6columnIKmEENS4_ImEEjEEEvT_DpT0_") == "sort_segments<1u>"
    for (_, place), reason in explained().items():
        name, line = place.split(":")
        assert reason and "sync()" in (HERE.parents[1] / name).read_text().splitlines()[int(line) - 1], f"{place} is no barrier"


def main():
    self_test()
    if sys.argv[1:] == ["--self-test"]:
        return 0
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("tests", type=pathlib.Path, help="the folder with the *_interpreted programs")
    arguments.add_argument("--only", default="", help="only programs whose names contain this; then no line of the list can be stale")
    arguments.add_argument("--jobs", type=int, default=1, help="number of barriers at a time; default %(default)s")
    given = arguments.parse_args()
    programs = sorted(p for p in given.tests.glob("*_interpreted") if given.only in p.name)
    with tempfile.TemporaryDirectory() as folder:
        all_cases = [Cases(p, pathlib.Path(folder)) for p in programs]
    # The quickest program first: most barriers are noticed by the first that runs without them.
    users, places = collections.defaultdict(list), {}
    for cases in sorted(all_cases, key=lambda c: sum(c.instructions.values())):
        for barrier, place in cases.barriers.items():
            users[barrier].append(cases)
            places[barrier] = in_tree(place)

    def sweep(barrier):
        for cases in users[barrier]:
            schedule = cases.notice(*barrier)
            if schedule:
                return f"{cases.program.name}, {schedule}"
        return None

    reasons, used, unnoticed = explained(), set(), 0
    with concurrent.futures.ThreadPoolExecutor(given.jobs) as workers:
        for barrier, noticed_by in zip(ordered := sorted(places, key=lambda b: (places[b], b)), workers.map(sweep, ordered)):
            key = (name_of(barrier[0]), places[barrier])
            if noticed_by is None and key in reasons:
                used.add(key)
                noticed_by = "needed by no case: " + reasons[key]
            elif noticed_by is None:
                unnoticed += 1
                noticed_by = "NOT NOTICED"
            print(f"{key[0]}, {key[1]}: {noticed_by}", flush=True)
    stale = [] if given.only else sorted(reasons.keys() - used)
    for kernel, place in stale:
        print(f"{LIST.name}: {kernel}, {place} is noticed, or is no barrier")
    print(f"{len(places)} barriers left out in turn: {len(places) - unnoticed} noticed or explained, {unnoticed} not")
    return 1 if unnoticed or stale or not places else 0


if __name__ == "__main__":
    sys.exit(main())
