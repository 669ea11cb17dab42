# SPDX-License-Identifier: Apache-2.0
"""The part of R15–16 that needs a service manager: deploy/koto-l3d.service as it is, under a systemd that is booted in a container whose
root is a folder, with this machine's /usr."""
import os
import shutil
import subprocess

import harness
from chain import HERE, Skipped

PATIENCE = 180
DROP_IN = f"""[Service]
ExecStart=
ExecStart=/programs/koto-l3d --config /etc/koto-l3/l3.toml
ExecStartPre=+/bin/sh -c 'echo start >>/starts'
WatchdogSec=2
RestartSec=0.2
"""
SCRIPT = "[Unit]\nDefaultDependencies=no\nAfter=sysinit.target dbus.socket\n[Service]\nType=oneshot\nExecStart=/bin/sh /booted.sh\n"
TARGET = "[Unit]\nRequires=sysinit.target\nWants=booted.service\n"
MISSING_RESOURCE = {"monitor": {"bind": "192.0.2.1:9420"}}  # an address that nobody has: a start ends with 69, which may mend itself


def make_root(chain):
    root = chain.folder / "root"
    units = root / "etc/systemd/system"
    for folder in ("usr", "var", "tmp", "run", "programs", "config", "etc/koto-l3", "etc/systemd/system/koto-l3d.service.d"):
        (root / folder).mkdir(parents=True)
    for name in ("bin", "sbin", "lib", "lib64"):
        (root / name).symlink_to(f"usr/{name}")
    (root / "etc/os-release").write_text("ID=debian\n")
    (root / "etc/machine-id").write_text("")
    for name in ("passwd", "group", "nsswitch.conf"):
        shutil.copy(f"/etc/{name}", root / "etc")
    with open(root / "etc/passwd", "a") as users, open(root / "etc/group", "a") as groups:
        users.write("koto-l3:x:997:997::/var/lib/koto-l3:/usr/sbin/nologin\n")
        groups.write("koto-l3:x:997:\n")
    for name in ("starts", "results"):
        (root / name).write_text("")
    shutil.copy(HERE / "booted.sh", root)
    shutil.copy(harness.BIN / "koto-l3d", root / "programs")
    shutil.copy(HERE.parents[1] / "deploy/koto-l3d.service", units)
    (units / "koto-l3d.service.d/test.conf").write_text(DROP_IN)
    (units / "booted.service").write_text(SCRIPT)
    (units / "booted.target").write_text(TARGET)
    here = {"run": {"ledger": "ledger.json", "drain_time_limit": "1 s"}, "udp": {"bind": "127.0.0.1:42000"},
            "tcp": {"bind": "127.0.0.1:42100"}, "forward": {"to": "tcp://127.0.0.1:42200"}, "frames": {"count": 2}}
    for name, sections in (("good", here), ("missing", here | MISSING_RESOURCE)):
        shutil.copy(chain.write_config(f"{name}.toml", **sections), root / "config")
    return root


def boot(chain):
    """{name: value} of what booted.sh saw."""
    if not shutil.which("systemd-nspawn"):
        raise Skipped("systemd-nspawn (package systemd-container) is not there")
    if os.geteuid() != 0:
        raise Skipped("only root may boot a container")
    root = make_root(chain)
    command = ["systemd-nspawn", "--quiet", "-D", root, "--bind-ro=/usr", "--register=no", "--keep-unit", "--private-network", "--boot",
               "systemd.unit=booted.target", "systemd.log_target=console"]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE)
        said = done.stdout + done.stderr
    except subprocess.TimeoutExpired as e:
        said = (e.stdout or b"").decode(errors="replace")
    results = dict(line.split(maxsplit=1) for line in (root / "results").read_text().splitlines() if " " in line)
    if not results:
        raise Skipped(f"no systemd boots in a container here: {said[-200:].strip()}")
    return results


def restart_storm(findings, chain):
    seen = boot(chain)
    for what, expected in (("starts_in_the_storm", "5"), ("starts_after_it", "5"), ("storm_ended_as", "exit-code"),
                           ("restarted_by_watchdog", "1"), ("restarted_after_kill", "1"), ("stopped_as", "success")):
        findings.equal(f"under systemd: {what.replace('_', ' ')}", seen.get(what, "nothing"), expected)
    findings.time("ready under systemd", int(seen.get("ready_after", 10**6)) / 1000, 3)
    findings.inject("starts that fail, one after the other, under systemd", 1)
    findings.inject("daemons stopped and killed under systemd", 2)
    findings.see("starts before it gave up", int(seen.get("starts_after_it", 0)))
    findings.see("restarts by watchdog and after the kill", int(seen.get("restarted_by_watchdog", 0)) + int(seen.get("restarted_after_kill", 0)))
