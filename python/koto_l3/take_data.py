# SPDX-License-Identifier: Apache-2.0
"""Sends level-2 data through a daemon into a store, on this machine, as fast as it goes.

    take(["mix.l2raw"], "store", mode="record")

The programs are those of KOTO_L3_BIN, or else of PATH."""
import contextlib
import os
import pathlib
import shutil
import socket
import subprocess
import time
from collections.abc import Iterable, Iterator


def program(name: str) -> str:
    """Returns the path of `koto-l3` or `koto-l3d`."""
    found = shutil.which(name, path=os.environ.get("KOTO_L3_BIN")) or shutil.which(name)
    if not found:
        raise FileNotFoundError(f"{name} is not in PATH: install the Debian packages, or name the folder in KOTO_L3_BIN")
    return found


def run(*arguments: object) -> str:
    """Runs `koto-l3 ARGUMENTS`, and returns its output."""
    done = subprocess.run([program("koto-l3"), *map(str, arguments)], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"koto-l3 {arguments[0]}: {done.stderr or done.stdout}")
    return done.stdout


def free_ports(count: int) -> list[int]:
    """Free ports on loopback."""
    with contextlib.ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for s in sockets:
            s.bind(("127.0.0.1", 0))
        return [s.getsockname()[1] for s in sockets]


@contextlib.contextmanager
def started(log: pathlib.Path, says: str, *command: object) -> Iterator[None]:
    """A program that is ready when it says so, and is ended in order."""
    with open(log, "w") as output, \
         subprocess.Popen([*map(str, command)], stdout=output, stderr=output, cwd=log.parent) as process:
        try:
            while says not in log.read_text():
                if process.poll() is not None:
                    raise RuntimeError(f"{command[0]} ended: {log.read_text()}")
                time.sleep(0.05)
            yield
        finally:
            process.terminate()


def take(files: Iterable[os.PathLike[str] | str], store: os.PathLike[str] | str, *, mode: str = "select", lines: str = "built-in",
         codec: str = "koto", run_number: int = 1, receive: Iterable[str] = ()) -> pathlib.Path:
    """Stores one run. The ledgers of the daemon go into the folder STORE.ledgers, which is returned. `mode`: "select", or "record",
    which stores rejected events, too. `receive`: further options of `koto-l3 receive`."""
    store = pathlib.Path(store).resolve()
    ledgers = store.with_name(store.name + ".ledgers")
    work = store.with_name(store.name + ".logs")
    work.mkdir(parents=True, exist_ok=True)
    to, udp, tcp, monitor = free_ports(4)
    config = work / "l3.toml"
    config.write_text(f"""
[run]
number = {run_number}
ledger = "{ledgers}/"
[udp]
bind = "127.0.0.1:{udp}"
ports = 1
[tcp]
bind = "127.0.0.1:{tcp}"
[monitor]
bind = "127.0.0.1:{monitor}"
[forward]
to = "tcp://127.0.0.1:{to}"
[frames]
count = 8
[compute]
backend = "pool"
[outbox]
memory = "64 MiB"
[output]
codec = "{codec}"
[spool]
folder = ""
[selection]
lines = "{lines}"
mode = "{mode}"
""")
    with started(work / "receiver.log", "listening on", program("koto-l3"), "receive", "--bind", f"tcp://127.0.0.1:{to}", "--out", store, *receive), \
         started(work / "daemon.log", " ready:", program("koto-l3d"), "--config", config):
        for file in files:
            run("replay", file, "--to", f"tcp://127.0.0.1:{tcp}", "--rate", "unlimited")
    return ledgers
