#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The Debian packages of this build: nothing that lintian calls an error, each file where it belongs, nothing started by the
installation. Arguments: the build folder, the source folder. `./run package --twice` makes them a second time, with the same bytes."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HAS = {  # a few files of each, and the files that belong to the operator
    "koto-l3d": (["./usr/bin/koto-l3d", "./lib/systemd/system/koto-l3d.service", "./usr/lib/sysusers.d/koto-l3d.conf",
                  "./usr/lib/tmpfiles.d/koto-l3d.conf", "./usr/lib/sysctl.d/60-koto-l3d.conf", "./usr/share/man/man8/koto-l3d.8.gz"],
                 ["/etc/koto-l3/l3.toml"]),
    "koto-l3": (["./usr/bin/koto-l3", "./usr/share/man/man1/koto-l3.1.gz", "./usr/share/bash-completion/completions/koto-l3",
                 "./usr/share/doc/koto-l3/docs/runbook.md"], []),
    "koto-l3-receive": (["./lib/systemd/system/koto-l3-receive.service", "./usr/lib/sysusers.d/koto-l3-receive.conf",
                         "./usr/lib/tmpfiles.d/koto-l3-receive.conf"], ["/etc/koto-l3/receive.toml"]),
    "koto-l3-monitoring": (["./usr/share/koto-l3/monitoring/alerts.yml", "./usr/share/koto-l3/monitoring/dashboard.json",
                            "./usr/share/koto-l3/monitoring/dashboard-farm.json"], []),
    "koto-l3-bench": (["./usr/bin/koto-l3-bench", "./usr/share/man/man1/koto-l3-bench.1.gz"], []),
    "libkoto-l3-read1": (["./usr/lib/x86_64-linux-gnu/libkoto-l3-read.so.1"], []), "libkoto-l3-read-dev": (["./usr/include/koto_l3/read.h"], []),
    "python3-koto-l3": (["./usr/lib/python3/dist-packages/koto_l3/__init__.py", "./usr/bin/koto-l3-export", "./usr/share/man/man1/koto-l3-export.1.gz"], []),
}


def said(*words, **more) -> str:
    done = subprocess.run([str(w) for w in words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, timeout=240, **more)
    assert done.returncode == 0, f"{' '.join(map(str, words))} ends with {done.returncode}:\n{done.stdout}"
    return done.stdout


def make(folder: pathlib.Path, build: str, source: pathlib.Path) -> dict[str, pathlib.Path]:
    folder.mkdir()
    shutil.copytree(source / "debian", folder / "debian")
    shutil.copy(source / "CHANGELOG.md", folder)
    when = {"GIT_COMMITTER_DATE": "2026-11-26T03:30:00+09:00", "GIT_AUTHOR_DATE": "2026-11-26T03:30:00+09:00"}
    for words in (["init", "-q"], ["add", "."], ["-c", "user.name=a", "-c", "user.email=a@localhost", "commit", "-q", "-m", "all"]):
        said("git", "-C", folder, *words, env={**os.environ, **when})
    quickly = {**os.environ, "DPKG_DEB_COMPRESSOR_TYPE": "gzip", "DPKG_DEB_COMPRESSOR_LEVEL": "1"}
    said("debian/rules", "binary", f"folder={build}", f"destination={folder}", cwd=folder, env=quickly)
    return {re.match(r"[a-z\d-]+", p.name)[0]: p for p in folder.glob("*.deb")}


def asked_of_services(script: pathlib.Path, *arguments: str, runs=True, refuses=False, starts=True) -> tuple[list[str], str | None]:
    """What a script of a package would have systemd do with services, and what it says if it fails. Nothing is done: each command is
    replaced by one that writes down how it was called. A service runs; the new program refuses its configuration; it does not start."""
    if not script.exists():
        return [], None
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "systemd").mkdir()
        ends = {"systemctl": f"*is-active*) exit {0 if runs else 3} ;;", "deb-systemd-invoke": f"*restart*) exit {0 if starts else 1} ;;",
                "deb-systemd-helper": "*was-enabled*) exit 1 ;;", "systemd-sysusers": "", "systemd-tmpfiles": "",  # none was enabled before
                "koto-l3d": "*) echo no key; exit 78 ;;" if refuses else "", "koto-l3": "*) echo no key; exit 78 ;;" if refuses else ""}
        for command, end in ends.items():
            (folder / command).write_text(f"#!/bin/sh\necho {command} \"$@\" >>{folder}/asked\ncase \"$*\" in {end} esac\n")
            (folder / command).chmod(0o755)
        text = script.read_text().replace("/run/systemd/system", f"{folder}/systemd").replace("/usr/bin/koto-l3", f"{folder}/koto-l3")
        (folder / "script").write_text(text)
        done = subprocess.run(["env", f"PATH={folder}:/usr/bin:/bin", "sh", folder / "script", *arguments], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False, timeout=240)
        asked = (folder / "asked").read_text().splitlines() if (folder / "asked").exists() else []
        return [" ".join(words) for words in map(str.split, asked)
                if words[0] == "deb-systemd-invoke" or (words[0] == "systemctl" and not {"daemon-reload", "is-active"} & set(words))
                or (words[0] == "deb-systemd-helper" and words[1] == "enable")], done.stdout if done.returncode else None


def check_scripts(control: pathlib.Path, unit: str | None) -> None:
    """A service is started by its operator alone. One that runs goes on while files are replaced, is started anew when all are
    there and not when they could not be, and ends when it is removed."""
    for script, arguments, wanted in (("preinst", ["install"], None), ("preinst", ["upgrade", "0.1.0"], None), ("postinst", ["configure", ""], None),
                                      ("postinst", ["configure", "0.1.0"], "try-restart"), ("postinst", ["abort-upgrade", "0.9.0"], None),
                                      ("prerm", ["upgrade", "0.9.0"], None), ("prerm", ["remove"], "stop")):
        asked, failed = asked_of_services(control / script, *arguments)
        assert failed is None, failed
        assert asked == ([f"deb-systemd-invoke {wanted} {unit}"] if unit and wanted else []), f"{control.name}: {script} {' '.join(arguments)} asks {asked or 'nothing'}"
    if unit is None:
        return
    upgrade, restart = (control / "postinst", "configure", "0.1.0"), f"deb-systemd-invoke try-restart {unit}"
    asked, said = asked_of_services(*upgrade, refuses=True)
    assert asked == [] and said and "no key" in said and f"dpkg --configure {control.name}" in said, f"{control.name}, of which the configuration is refused: {asked}, {said}"
    asked, said = asked_of_services(*upgrade, starts=False)
    assert asked == [restart] and said and f"journalctl -u {control.name}" in said, f"{control.name}, which does not start: {asked}, {said}"
    asked, said = asked_of_services(*upgrade, runs=False, refuses=True)
    assert (asked, said) == ([], None), f"{control.name}, which does not run: {asked}, {said}"


def main(build: str, source: pathlib.Path) -> int:
    for tool in ("dh", "lintian"):
        if shutil.which(tool) is None:
            print(f"skipped: {tool} is not there (deploy/packages.txt)")
            return 77
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        packages = make(folder / "one", build, source)
        assert packages.keys() == HAS.keys(), packages
        for package, deb in packages.items():
            there = {line.split()[5] for line in said("dpkg-deb", "-c", deb).splitlines()}
            (files, configurations), control = HAS[package], folder / package
            assert there >= set(files), f"{package} lacks {set(files) - there}"
            said("dpkg-deb", "-e", deb, control)
            conffiles = (control / "conffiles").read_text().split() if (control / "conffiles").exists() else []
            assert conffiles == configurations, f"{package}: {conffiles}"
            check_scripts(control, f"{package}.service" if configurations else None)
        spelled = said(f"{build}/bin/koto-l3", "--version").split()[1]
        version, name = spelled.replace("-", "~"), packages["koto-l3d"].name
        assert f"\n## {spelled} (" in (source / "CHANGELOG.md").read_text(), f"CHANGELOG.md has no version {spelled}"
        assert re.match(rf"koto-l3d_{version}~20261125183000\.[0-9a-f]{{12}}_", name), f"{name} is not of version {version} and the commit"
        said("git", "-C", folder / "one", "tag", f"v{spelled}")
        named = [line for line in said("make", "-pn", "-f", "debian/rules", cwd=folder / "one").splitlines() if re.match(r"(named|commit|changed) :=", line)]
        assert sorted(named) == ["changed := ", "commit := ", f"named := {version}"], f"the commit with the tag makes {named}"
        depends = said("dpkg-deb", "-f", packages["koto-l3d"], "Depends")
        assert "libzmq5" in depends and "nvidia" not in depends and "cuda" not in depends, depends
        said("lintian", "--fail-on", "error", "--suppress-tags", "malformed-contact,bogus-mail-host-in-debian-changelog", *packages.values())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], pathlib.Path(sys.argv[2])))
