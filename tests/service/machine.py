# SPDX-License-Identifier: Apache-2.0
"""A machine with a systemd of its own: a container with a disk of its own, without a network but its loopback."""
import contextlib
import hashlib
import os
import pathlib
import shutil
import signal
import subprocess
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "system"))

from harness import wait_until

ENVIRONMENT = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive", "TERM": "dumb"}
BOOT_TIME = 60
DISK = "6G"  # more than spool.floor; the file has holes
INCLUDED = "systemd,systemd-sysv,dbus,procps,curl,iproute2"


def depends(packages):
    """What these .deb files need of Debian; of a choice, both."""
    fields = [subprocess.run(["dpkg-deb", "-f", deb, "Depends"], capture_output=True, text=True, check=True).stdout for deb in packages]
    names = {name.split()[0] for name in ",".join(fields).replace("|", ",").split(",") if name.strip()}
    return sorted(name for name in names if not name.startswith(("koto-l3", "systemd")))


@contextlib.contextmanager
def network(name):
    """A network namespace of that name, with a loopback."""
    subprocess.run(["ip", "netns", "add", name], check=True)
    try:
        subprocess.run(["ip", "-n", name, "link", "set", "lo", "up"], check=True)
        yield name
    finally:
        subprocess.run(["ip", "netns", "delete", name], check=True)


def base_root(cache, wanted, included=INCLUDED):
    """The folder of a Debian that has the packages `wanted`, made once; the bare minimal system without any."""
    root = cache / hashlib.sha256(repr((included, wanted)).encode()).hexdigest()[:12]
    if not root.exists():
        fresh = root.with_suffix(".new")
        shutil.rmtree(fresh, ignore_errors=True)
        cache.mkdir(parents=True, exist_ok=True)
        print(f"making a Debian root in {root}", flush=True)
        install = ["chroot", fresh, "apt-get", "install", "-qq", "-y", "--no-install-recommends", *wanted]
        for command in (["debootstrap", "--variant=minbase", *([f"--include={included}"] if included else []), "bookworm", fresh],
                        *([install] if wanted else [])):
            done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            if done.returncode != 0:
                sys.exit(f"{' '.join(map(str, command))}:\n{done.stdout[-2000:]}")
        fresh.rename(root)
    return root


class Machine:
    def __init__(self, folder, base, shared, network=None):
        """Boots a copy of the root `base`; its disk is a file in `folder`. `shared`: folders of
        this machine by the names under which it reads them; it reads `sent` as /sent, too. `network`: that of
        others, by the name of its namespace."""
        self.root, self.sent = pathlib.Path(folder) / "root", pathlib.Path(folder) / "sent"
        self.root.mkdir(parents=True)
        self.sent.mkdir()
        disk = self.root.parent / "disk"
        for command in (["truncate", "--size", DISK, disk], ["mkfs.ext4", "-q", "-m", "0", "-d", base, disk], ["mount", "-o", "loop", disk, self.root]):
            subprocess.run(command, check=True)
        self.log = open(self.root.parent / "console.log", "wb")
        try:
            self._boot({**shared, "/sent": self.sent}, network)
        except BaseException:
            self.container.kill()
            subprocess.run(["umount", "--lazy", self.root], check=False)
            raise

    def _boot(self, shared, network):
        self.container = subprocess.Popen(
            ["systemd-nspawn", "--quiet", "-D", self.root, f"--machine={self.root.parent.name}", "--register=no", "--keep-unit",
             f"--network-namespace-path=/run/netns/{network}" if network else "--private-network",
             *(f"--bind-ro={folder}:{name}" for name, folder in shared.items()),
             "--system-call-filter=@memlock", "--capability=CAP_SYS_RESOURCE", "--boot", "systemd.log_target=console"],
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=subprocess.STDOUT)
        self.leader = wait_until(self._leader, "the container's first process", BOOT_TIME)
        wait_until(lambda: self.ask("systemctl", "is-system-running") in ("running", "degraded"), "systemd", BOOT_TIME)

    def _leader(self):
        if self.container.poll() is not None:
            raise AssertionError(f"no container boots here: {self.console()[-500:]}")
        for folder in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                status = dict(line.split(":\t", 1) for line in (folder / "status").read_text().splitlines() if ":\t" in line)
            except OSError:
                continue
            if status["PPid"] == str(self.container.pid) and status["NSpid"].split()[-1] == "1":
                return int(folder.name)
        return None

    def _inside(self, command):
        return ["nsenter", f"--target={self.leader}", "--all", "--wd=/", "--", *map(str, command)]

    def begin(self, *command, **more):
        """A command that goes on meanwhile."""
        return subprocess.Popen(self._inside(command), env=ENVIRONMENT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True, **more)

    def run(self, *command, fails=False, timeout=180):
        """What a command said. It must end with 0, or with `fails` with another code."""
        done = subprocess.run(self._inside(command), env=ENVIRONMENT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=timeout)
        assert (done.returncode != 0) == fails, f"{' '.join(map(str, command))} ends with {done.returncode}:\n{done.stdout}"
        return done.stdout

    def ask(self, *command):
        """The same, whatever its exit code."""
        return subprocess.run(self._inside(command), env=ENVIRONMENT, stdin=subprocess.DEVNULL, capture_output=True, text=True).stdout.strip()

    def path(self, name):
        """A file of the machine, as this one sees it."""
        return self.root / name.lstrip("/")

    def console(self):
        """What the service manager itself said."""
        return (self.root.parent / "console.log").read_text(errors="replace")

    def close(self):
        """As by the power switch: what runs in it ends with its first process."""
        os.kill(self.leader, signal.SIGKILL)
        self.container.wait(30)
        self.log.close()
        subprocess.run(["umount", "--lazy", self.root], check=True)
