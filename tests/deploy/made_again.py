#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""./run package --twice: made_again.py FOLDER. Makes the packages of FOLDER again: of a clone of the last commit, in a folder with
another, longer name, without the compiler cache, in another time zone and language and with another umask. They must have the
same bytes."""
import os
import pathlib
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parents[2]


def contents(deb: pathlib.Path) -> dict[str, str]:
    """Checksums of the files of a package, for the report of what differs."""
    with tempfile.TemporaryDirectory() as name:
        subprocess.run(["dpkg-deb", "-R", deb, name], check=True)
        said = subprocess.run("find . -type f -exec sha256sum {} +", shell=True, cwd=name, capture_output=True, text=True, check=True).stdout
        return {line.split(maxsplit=1)[1]: line.split()[0] for line in said.splitlines()}


def main() -> int:
    first = pathlib.Path(sys.argv[1])
    debs = {deb.name: deb for deb in first.glob("*.deb")}
    assert debs, f"{first} holds no packages"
    wrong = []
    with tempfile.TemporaryDirectory(prefix="koto-l3-made-again-") as name:
        source, out = pathlib.Path(name) / "a-folder-with-a-longer-name" / "source", pathlib.Path(name) / "packages"
        out.mkdir()
        subprocess.run(["git", "clone", "-q", SOURCE, source], check=True)
        again = subprocess.run(["debian/rules", "binary", f"destination={out}"], cwd=source, umask=0o077, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                               env={**os.environ, "CCACHE_DISABLE": "1", "TZ": "Pacific/Kiritimati", "LC_ALL": "C", "HOME": name})
        if again.returncode != 0:
            sys.exit(again.stdout[-3000:])
        for deb in sorted(debs.keys() | {p.name for p in out.glob("*.deb")}):
            if deb not in debs or not (out / deb).exists():
                wrong.append(f"{deb} was made once only")
            elif debs[deb].read_bytes() != (out / deb).read_bytes():
                one, two = contents(debs[deb]), contents(out / deb)
                differ = sorted(name for name in one.keys() | two.keys() if one.get(name) != two.get(name))
                wrong.append(f"{deb} has other bytes when it is made again: {', '.join(differ) or 'the archive itself'}")
    print("\n".join(wrong) or f"{len(debs)} packages were made twice, in two folders, with the same bytes")
    return 1 if wrong else 0


sys.exit(main())
