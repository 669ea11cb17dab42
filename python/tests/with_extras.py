#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""with_extras.py FOLDER [FILE…]: the tests that need more than numpy, the tutorial, and mypy, in a virtual environment in FOLDER with the
packages from PyPI; or only these files. Exit code 77 if PyPI cannot be reached."""
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
NEEDS = ["awkward", "h5py", "legend-lh5io", "matplotlib", "mypy", "numpy", "pyarrow", "pyzmq", "uproot"]


def environment(place, needs):
    """The Python of a virtual environment with these packages from PyPI, or None if it cannot be reached."""
    complete = place / "complete"
    wanted = " ".join([sys.version, *needs])
    if not complete.exists() or complete.read_text() != wanted:
        subprocess.run([sys.executable, "-m", "venv", "--clear", place], check=True)
        pip = subprocess.run([place / "bin" / "pip", "install", "--quiet", "--disable-pip-version-check", "--retries", "1", "--timeout", "15",
                              "--only-binary", ":all:", *needs], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if pip.returncode:
            print(pip.stdout[-1000:])
            return None
        complete.write_text(wanted)
    return place / "bin" / "python"


def main(folder, *files):
    folder = pathlib.Path(folder)
    python = environment(folder / "environment", NEEDS)
    if python is None:
        print("python_extras: Skipped: PyPI cannot be reached, and Arrow, awkward, export and the tutorial need packages from it")
        return 77
    # A wheel is tested, not the sources beside the tests: -P leaves the folder of a script out.
    made = subprocess.run([sys.executable, "-B", HERE.parent / "make_wheel.py", os.environ["KOTO_L3_READ_LIBRARY"], folder / "wheel"], check=True,
                          stdout=subprocess.PIPE, text=True).stdout.strip()
    subprocess.run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--no-index", "--force-reinstall", made], check=True)
    known = {name: value for name, value in os.environ.items() if name != "KOTO_L3_READ_LIBRARY"}
    known |= {"MPLBACKEND": "agg", "PYTHONPATH": str(HERE)}
    everything = ["tests/test_extras.py"], ["tests/test_live.py"], ["tutorial.py"], ["-m", "mypy", "--cache-dir", folder / "mypy"]
    result = 0
    for command in [[file] for file in files] or everything:
        print("---", *command, flush=True)
        result |= subprocess.run([python, "-B", "-P", *command], cwd=HERE.parent, env=known).returncode
    return result and 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
