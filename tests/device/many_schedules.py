#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs every program of interpreted cases at random by several seeds, with 1 to 64 blocks resident. Takes minutes: part of
`./run test --long`."""
import argparse
import os
import pathlib
import subprocess
import sys

RESIDENT = [1, 2, 16, 64]


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("tests", type=pathlib.Path, help="the folder with the *_interpreted programs")
    arguments.add_argument("--seeds", type=int, default=4, help="number of seeds, with a run for each; default %(default)s")
    arguments.add_argument("--first", type=int, default=100, help="the first seed; default %(default)s")
    given = arguments.parse_args()
    programs = sorted(given.tests.glob("*_interpreted"))
    failed = 0
    for n in range(given.seeds):
        schedule = f"random:{given.first + n}:{RESIDENT[n % len(RESIDENT)]}"
        for program in programs:
            environment = dict(os.environ, L3_REQUIRE_GPU="1", L3_DEVICE_SCHEDULE=schedule)
            done = subprocess.run([program], capture_output=True, text=True, env=environment, check=False)
            if done.returncode != 0:
                failed += 1
                print(f"{program.name}, L3_DEVICE_SCHEDULE={schedule}: failed\n{done.stderr[-2000:]}", flush=True)
        print(f"{schedule}: {len(programs)} programs", flush=True)
    return 1 if failed or not programs else 0


if __name__ == "__main__":
    sys.exit(main())
