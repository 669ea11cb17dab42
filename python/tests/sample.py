# SPDX-License-Identifier: Apache-2.0
"""The data of all tests here: 300 events of every kind as run 101 with the built-in selection, and 500 decays into four photons
as run 102, of which everything is recorded. Made once in the folder KOTO_L3_SAMPLE."""
import fcntl
import os
import pathlib
import shutil
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))  # unless a wheel is installed

from koto_l3 import take_data  # noqa: E402

FOLDER = pathlib.Path(os.environ.get("KOTO_L3_SAMPLE", "koto-l3-sample")).resolve()
MIX, FOUR, STORE, LEDGERS = FOLDER / "mix.l2raw", FOLDER / "four.l2raw", FOLDER / "store", FOLDER / "store.ledgers"


def make():
    FOLDER.mkdir(parents=True, exist_ok=True)
    with open(FOLDER / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        made = FOLDER / "made"
        newest = max(os.stat(take_data.program(name)).st_mtime for name in ("koto-l3", "koto-l3d"))
        if made.exists() and made.stat().st_mtime > newest:
            return
        made.unlink(missing_ok=True)
        for old in (STORE, LEDGERS, FOLDER / "store.logs"):
            shutil.rmtree(old, ignore_errors=True)
        take_data.run("simulate", MIX, "--events", 300, "--spills", 3, "--seed", 7, "--run", 101, "--threads", 2)
        take_data.run("simulate", FOUR, "--events", 500, "--spills", 2, "--seed", 8, "--run", 102, "--type", "four_cluster", "--threads", 2)
        take_data.take([MIX], STORE, run_number=101)
        take_data.take([FOUR], STORE, run_number=102, mode="record")
        made.touch()


if __name__ == "__main__":
    make()
