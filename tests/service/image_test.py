#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""./run image-test: deploy/image makes an OCI image of the packages without a registry, and podman runs it, both as a user without
any right: receiver and daemon take events, each is stored, and the ledgers agree. The test itself runs as root: it makes that
user, removes it at the end, and makes the Debian root that the image begins with."""
import argparse
import pathlib
import pwd
import shutil
import subprocess
import sys
import tempfile
import time

import machine
from harness import wait_until

USER = "koto-l3-image"
MAKE = pathlib.Path(__file__).resolve().parents[2] / "deploy/image"
EVENTS = 50


class Person:
    """A user with ranges of sub-users, as adduser gives each; what it has in its home goes with it."""

    def __enter__(self):
        for command in (["useradd", "--system", "--create-home", "--shell", "/bin/sh", USER],
                        ["usermod", "--add-subuids", "700000-765535", "--add-subgids", "700000-765535", USER]):
            subprocess.run(command, check=True)
        self.home = pathlib.Path(pwd.getpwnam(USER).pw_dir)
        self.run("mkdir", "-m", "700", f"{self.home}/runtime")
        return self

    def run(self, *command, timeout=300):
        done = subprocess.run(["runuser", "-u", USER, "--", "env", "-i", f"HOME={self.home}", f"XDG_RUNTIME_DIR={self.home}/runtime",
                               "PATH=/usr/sbin:/usr/bin:/sbin:/bin", *map(str, command)], cwd="/", stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=timeout)
        assert done.returncode == 0, f"{' '.join(map(str, command))} ends with {done.returncode}:\n{done.stdout[-3000:]}"
        return done.stdout

    def podman(self, *words, **more):
        """By runc: crun does not start where control groups of both versions are mounted."""
        return self.run("podman", "--runtime", "runc", "--cgroup-manager", "cgroupfs", "--log-level", "error", *words, **more)

    def __exit__(self, *_):
        subprocess.run(["runuser", "-u", USER, "--", "env", f"HOME={self.home}", f"XDG_RUNTIME_DIR={self.home}/runtime", "podman", "--runtime", "runc",
                        "--cgroup-manager", "cgroupfs", "system", "reset", "--force"], cwd="/", check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        subprocess.run(["userdel", "--remove", USER], check=False, stderr=subprocess.DEVNULL)


def check_runs(person):
    """Receiver and daemon share a network of their own and a volume."""
    shared = ["-v", "data:/var/lib/koto-l3"]
    begun = ["run", "--detach", *shared]
    assert "commit" in person.podman("run", "--rm", "--network", "none", "koto-l3", "koto-l3d", "--version")
    person.podman(*begun, "--network", "none", "--name", "receiver", "koto-l3", "koto-l3", "receive", "--out", "store", "--monitor", "127.0.0.1:9421")
    person.podman(*begun, "--network", "container:receiver", "--name", "daemon", "koto-l3")
    wait_until(lambda: " ready:" in person.podman("logs", "daemon"), "a daemon that is ready", 60)
    assert person.podman("exec", "daemon", "id", "-un").strip() == "koto-l3"
    person.podman("exec", "daemon", "koto-l3", "simulate", "sent.l2raw", "--events", EVENTS)
    person.podman("exec", "daemon", "koto-l3", "replay", "sent.l2raw", "--to", "tcp://127.0.0.1:42100", "--rate", "unlimited")
    person.podman("stop", "--time", 30, "daemon")
    person.podman("stop", "--time", 30, "receiver")
    said = person.podman("run", "--rm", *shared, "--network", "none", "koto-l3", "sh", "-c",
                         "koto-l3 verify sent.l2raw store --ledger koto-l3d-ledgers/*.json")
    assert "every event that was sent is stored" in said, said


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("packages", type=pathlib.Path, help="folder of the .deb files")
    options.add_argument("--cache", type=pathlib.Path, default=pathlib.Path.home() / ".cache/koto-l3")
    o = options.parse_args()
    debs = [deb for name in ("koto-l3d", "koto-l3") for deb in sorted(o.packages.glob(f"{name}_*.deb"))]
    if len(debs) != 2:
        sys.exit(f"{o.packages}: no packages: ./run package makes them")
    root = machine.base_root(o.cache / "roots", machine.depends(debs), "systemd-standalone-sysusers")
    with tempfile.TemporaryDirectory(prefix="koto-l3-image-") as name, Person() as person:
        folder = pathlib.Path(name)
        folder.chmod(0o755)
        subprocess.run(["tar", "-C", root, "--exclude=./var/cache/apt", "--exclude=./var/lib/apt/lists", "-cf", folder / "root.tar", "."], check=True)
        shutil.copytree(MAKE, folder / "image")
        (folder / "packages").mkdir()
        for deb in debs:
            shutil.copy(deb, folder / "packages")
        (folder / "out").mkdir()
        shutil.chown(folder / "out", USER)
        begun = time.monotonic()
        person.run(folder / "image/make", folder / "root.tar", folder / "packages", folder / "out/koto-l3.tar")
        print(f"made in {time.monotonic() - begun:.0f} s, {(folder / 'out/koto-l3.tar').stat().st_size / 1e6:.0f} MB", flush=True)
        begun = time.monotonic()
        person.podman("rmi", "--all", "--force")
        person.podman("load", "--quiet", "--input", folder / "out/koto-l3.tar")
        check_runs(person)
        print(f"run by podman: {EVENTS} events are stored, and the ledgers agree ({time.monotonic() - begun:.0f} s)")


main()
