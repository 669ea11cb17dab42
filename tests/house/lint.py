#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""clang-tidy over the sources that differ from a commit, or over all. Of a header that differs it looks at one source that
includes it: that of its name, if there is one. Tests are left out."""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor


def git(root: pathlib.Path, *words: str) -> list[str]:
    done = subprocess.run(["git", "-C", root, *words], capture_output=True, text=True, check=False)
    return done.stdout.split("\n")[:-1] if done.returncode == 0 else []


def base_of(root: pathlib.Path) -> str | None:
    """Where the branch left origin/main; on main itself, and where there is no origin, the commit before."""
    head = git(root, "rev-parse", "HEAD")
    for base in git(root, "merge-base", "HEAD", "origin/main") + git(root, "rev-parse", "HEAD~1"):
        if base not in head:
            return base
    return None


def sources_of(root: pathlib.Path, changed: list[str], compiled: list[str]) -> list[str]:
    """The compiled sources that show what `changed` holds."""
    found = {name for name in changed if name in compiled}
    for header in (name for name in changed if name.endswith(".hpp")):
        twin = header.removesuffix(".hpp") + ".cpp"
        line = re.compile(rf'^#include "{re.escape(header)}"', re.MULTILINE)
        users = (c for c in compiled if line.search((root / c).read_text()))
        user = twin if twin in compiled else next(users, None)
        if user:
            found.add(user)
    return sorted(found)


def lint(root: pathlib.Path, build: pathlib.Path, base: str, seconds: float) -> int:
    commands = json.loads((build / "compile_commands.json").read_text())
    for c in commands:  # clang cannot read the headers that g++ has compiled
        c["command"] = re.sub(r" -Winvalid-pch -include \S+", "", c["command"])
    compiled = sorted({os.path.relpath(c["file"], root) for c in commands})
    compiled = [c for c in compiled if c.endswith(".cpp") and not c.startswith(("tests/", "build/", "build-", ".."))]
    chosen = compiled
    if base != "all":
        changed = git(root, "diff", "--name-only", "--diff-filter=d", base) + git(root, "ls-files", "-o", "--exclude-standard")
        chosen = sources_of(root, changed, compiled)
    readable = tempfile.TemporaryDirectory()
    pathlib.Path(readable.name, "compile_commands.json").write_text(json.dumps(commands))
    end = time.monotonic() + seconds
    bad, late = [], []

    def look_at(source: str) -> None:
        try:
            words = ["clang-tidy", "--quiet", "-p", readable.name, root / source]
            done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=max(0.0, end - time.monotonic()))
            if done.returncode != 0:
                bad.append(source)
                print(done.stdout or done.stderr, end="", flush=True)
        except subprocess.TimeoutExpired:
            late.append(source)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(look_at, chosen))
    readable.cleanup()
    print(f"lint: {len(chosen) - len(late)} of {len(chosen)} sources looked at, {len(bad)} with findings")
    if late:
        print(f"lint: no time was left for {' '.join(sorted(late)[:8])}{' and others' if len(late) > 8 else ''}")
    return 1 if bad else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("base", nargs="?", help="a commit, or `all` (where the branch left origin/main, else the commit before)")
    parser.add_argument("--seconds", type=float, default=1e6, help="end after this time, and name the sources that were not checked")
    parser.add_argument("--build", type=pathlib.Path, help="a build folder with compile_commands.json")
    arguments = parser.parse_args()
    root = pathlib.Path(__file__).resolve().parents[2]
    base = arguments.base or base_of(root)
    if base is None:
        print("lint: no commit to compare with, nothing is looked at")
        return 0
    if base != "all" and not git(root, "rev-parse", "--verify", "--quiet", base + "^{commit}"):
        print(f"lint: no commit {base}", file=sys.stderr)
        return 2
    return lint(root, arguments.build.resolve(), base, arguments.seconds)


if __name__ == "__main__":
    sys.exit(main())
