# SPDX-License-Identifier: Apache-2.0
"""The packages installed, and the services run under load, reloaded, killed, hung, stopped, and with keys; the same packages
installed again, also on a full disk, and removed."""
import json
import pathlib
import time

from machine import wait_until
from service import EVENTS, LEDGERS, STORE, UNITS


def may_raise_limits():
    text = pathlib.Path("/proc/self/status").read_text()
    return int(text.partition("CapBnd:")[2].split()[0], 16) >> 24 & 1 == 1


def check_installed(s):
    begun = time.monotonic()
    said = s.machine.run("sh", "-c", "dpkg --install /shared/*.deb")
    s.small()
    for unit in UNITS:
        assert not s.active(unit), f"{unit} was started by the installation"
        s.machine.run("systemctl", "start", unit)
    print(f"  from dpkg to both services running: {time.monotonic() - begun:.1f} s")
    assert "warning" not in said.lower(), said
    for unit in UNITS:
        assert s.machine.ask("systemctl", "show", "--value", "-p", "User", unit) == "koto-l3"
        assert "commit" in s.machine.run("koto-l3d" if unit == "koto-l3d" else "koto-l3", "--version")
    for path in ("/var/lib/koto-l3", STORE):
        assert s.machine.run("stat", "-c", "%U", path).strip() == "koto-l3"
    assert s.machine.run("koto-l3", "status", "http://127.0.0.1:9421")
    assert "net.core.rmem_max = 16777216" in s.machine.run("cat", "/usr/lib/sysctl.d/60-koto-l3d.conf")
    if may_raise_limits():
        assert "memory is not locked" not in s.said(), "the service may not lock its memory"
    else:
        print("  not done: this machine lets no container raise LimitMEMLOCK (CAP_SYS_RESOURCE is missing)")


def check_loaded(s):
    s.replay(s.make_file())
    s.check_stored()


def check_reloaded(s):
    """A good and a bad configuration while events flow."""
    pid, replay = s.pid(), s.begin_replay(s.make_file(), rate="400ev/s")
    assert "forward.rate" not in s.said()
    s.small(forward={"rate": "1 Gb/s"})
    s.machine.run("systemctl", "reload", "koto-l3d")
    wait_until(lambda: "forward.rate" in s.said(), "the reload in the log", 10)
    s.small(forward={"rat": "2 Gb/s"})
    s.machine.ask("systemctl", "reload", "koto-l3d")
    wait_until(lambda: "did you mean forward.rate" in s.said(), "the refused reload in the log", 10)
    s.small()
    s.end_replay(replay, EVENTS)
    assert s.pid() == pid, "a reload started the daemon anew"
    s.check_stored()


def restarted(s, unit, signal, seconds):
    before, name = s.restarts(unit), s.make_file()
    replay = s.begin_replay(name, rate="200ev/s")
    time.sleep(0.5)
    s.machine.run("kill", f"-{signal}", s.pid(unit))
    wait_until(lambda: s.restarts(unit) > before and s.active(unit), f"a restart of {unit} after {signal}", seconds)
    return replay, name


def check_restarted(s):
    """A crash and a hang of either part. Replay sends again what was not acknowledged; what comes twice is stored once."""
    for unit, signal, seconds in (("koto-l3-receive", "KILL", 20), ("koto-l3d", "KILL", 20), ("koto-l3d", "STOP", 60), ("koto-l3-receive", "STOP", 60)):
        replay, name = restarted(s, unit, signal, seconds)
        said, _ = replay.communicate(timeout=180)
        if replay.returncode != 0:
            assert "acknowledged" in said or "connection" in said, said
            s.end_replay(s.begin_replay(name), EVENTS)
        else:
            s.sent += EVENTS
        s.check_stored()
        print(f"  {unit}, {signal}: every event is stored")


def check_given_up_after_crashes(s):
    """A daemon that crashes again and again stays down, says so, and is started by hand."""
    killed = set()  # the manager may name a process for a moment after its death

    def down():
        state = s.machine.ask("systemctl", "is-active", "koto-l3d")  # asked once: it may be up a moment later
        pid = state == "active" and s.pid()
        if pid:
            killed.add(pid)
            assert len(killed) <= 6, "it is started more than five times in a minute"  # the first kill is of one that ran before
            s.machine.ask("kill", "-KILL", pid)
        time.sleep(0.3)
        return state == "failed"

    wait_until(down, "a service that the manager starts no more", 120)
    assert s.machine.ask("systemctl", "show", "--value", "-p", "Result", "koto-l3d") == "signal"
    assert s.machine.ask("systemctl", "is-failed", "koto-l3d") == "failed"
    assert "Start request repeated too quickly" in s.machine.console(), "the service manager does not say why the service stays down"
    print(f"  down after {len(killed)} more crashes")
    s.machine.run("systemctl", "reset-failed", "koto-l3d")
    s.machine.run("systemctl", "start", "koto-l3d")
    s.replay(s.make_file())
    s.check_stored()


def check_stopped_at_full_load(s):
    """What a stop could not forward is on disk, and the next start sends it."""
    name = s.make_file(loop=200)
    replay = s.begin_replay(name, loop=200)  # seconds, of which the stop cuts off most
    wait_until(lambda: s.stored() > s.sent, "events in the store", 30)
    begun = time.monotonic()
    s.machine.run("systemctl", "stop", "koto-l3d")
    took, limit = time.monotonic() - begun, 30  # TimeoutStopSec=, behind which it would be killed
    assert took < limit and s.machine.ask("systemctl", "show", "--value", "-p", "Result", "koto-l3d") == "success", f"the daemon did not stop by itself: {took:.1f} s"
    print(f"  stopped in {took:.1f} s")
    said, _ = replay.communicate(timeout=60)
    assert replay.returncode == 1, f"replay did not notice the end of the daemon: {said}"
    acknowledged = json.loads(said[said.index("{"):said.rindex("}") + 1])["acknowledged"]
    s.machine.run("systemctl", "start", "koto-l3d")
    wait_until(lambda: s.stored() >= s.sent + acknowledged, lambda: f"{acknowledged} acknowledged events; {s.stored() - s.sent} are stored", 60)
    s.sent = s.stored()  # also what was admitted and not yet acknowledged


def check_keyed(s):
    """As docs/installing.md has it: each secret is root's alone, and a credential of its service."""
    receive = s.machine.path("/etc/koto-l3/receive.toml")
    before = receive.read_text()
    s.machine.run("sh", "-c", "cd /etc/koto-l3 && koto-l3 keys receiver && koto-l3 keys node1 && cp node1.public allowed.keys")
    for unit, name in (("koto-l3-receive", "receiver"), ("koto-l3d", "node1")):
        assert s.machine.run("stat", "-c", "%U %a", f"/etc/koto-l3/{name}.secret").split() == ["root", "600"]
        folder = s.machine.path(f"/etc/systemd/system/{unit}.service.d")
        folder.mkdir(parents=True)
        (folder / "key.conf").write_text(f"[Service]\nLoadCredential={name}.secret:/etc/koto-l3/{name}.secret\n")
    receive.write_text(before + 'secret_key = "credential:receiver.secret"\nallow = "/etc/koto-l3/allowed.keys"\n')
    s.small(forward={"secret_key": "credential:node1.secret", "receiver_key": "/etc/koto-l3/receiver.public"})
    s.machine.run("systemctl", "daemon-reload")
    s.machine.run("systemctl", "restart", *UNITS)
    s.replay(s.make_file())
    s.check_stored()
    s.machine.run("koto-l3", "keys", "/etc/koto-l3/stranger")
    s.machine.run("cp", "/etc/koto-l3/stranger.public", "/etc/koto-l3/allowed.keys")
    s.machine.run("systemctl", "restart", "koto-l3-receive")
    s.replay(s.make_file())  # safe in the daemon, and not stored
    wait_until(lambda: "does not know this daemon's key" in s.said(), "the refusal in the daemon's log", 20)
    assert s.stored() == s.sent - EVENTS, "a daemon whose key is not listed could send"
    receive.write_text(before)
    s.small()
    s.machine.run("systemctl", "restart", *UNITS)
    s.check_stored()


def check_without_gpu(s):
    """The tighter sandbox of docs/installing.md."""
    s.machine.run("install", "-D", "/usr/share/koto-l3/koto-l3d-without-gpu.conf", "-t", "/etc/systemd/system/koto-l3d.service.d")
    s.machine.run("systemctl", "daemon-reload")
    s.machine.run("systemctl", "restart", "koto-l3d")
    assert s.machine.ask("systemctl", "show", "--value", "-p", "PrivateDevices", "koto-l3d") == "yes"
    s.replay(s.make_file())
    s.check_stored()


def check_upgraded(s):
    """The same packages once more, while events flow: the services start anew, and nothing is lost."""
    install_on_a_full_disk(s)
    pids = {unit: s.pid(unit) for unit in UNITS}
    name = s.make_file()
    replay = s.begin_replay(name, rate="100ev/s")
    time.sleep(0.5)
    s.machine.run("sh", "-c", "dpkg --install --force-confold /shared/*.deb")
    for unit in UNITS:
        assert s.active(unit) and s.pid(unit) != pids[unit], f"{unit} is not started anew"
    replay.communicate(timeout=180)
    if replay.returncode == 0:
        s.sent += EVENTS
    else:
        s.end_replay(s.begin_replay(name), EVENTS)
    s.check_stored()


def check_a_changed_configuration(s):
    text = s.machine.path("/etc/koto-l3/l3.toml").read_text()
    s.machine.run("sh", "-c", "dpkg --install --force-confold /shared/koto-l3d_*.deb")
    assert s.machine.path("/etc/koto-l3/l3.toml").read_text() == text, "an upgrade changed the operator's configuration"


def check_removed(s):
    s.machine.run("dpkg", "--remove", "koto-l3d", "koto-l3-receive")
    for unit in UNITS:
        assert not s.active(unit), f"{unit} goes on without its package"
    assert s.machine.path("/etc/koto-l3/l3.toml").exists()
    s.machine.run("dpkg", "--purge", "koto-l3d", "koto-l3-receive")
    assert not s.machine.path("/etc/koto-l3/l3.toml").exists()
    ledgers = [json.loads(p.read_text()) for p in s.machine.path(LEDGERS).glob("*.json")]
    assert ledgers, "purging removed the ledgers"
    stored = int(json.loads(s.machine.ask("koto-l3", "info", STORE, "--json"))["events"])
    assert stored == s.sent, f"{stored} of {s.sent} events are left in the store"
    for l in ledgers:
        assert l["balanced"], f"{l['session']} does not balance"


def install_on_a_full_disk(s):
    """An upgrade without room changes no running service."""
    pid = s.pid()
    s.machine.run("sh", "-c", "fallocate -l $(($(df --output=avail -B1 /srv | tail -1) - 2097152)) /srv/fill")
    said = s.machine.run("sh", "-c", "dpkg --install --force-confold /shared/*.deb", fails=True)
    assert "No space left on device" in said and "error processing archive /shared/koto-l3d_" in said, said
    assert s.active("koto-l3d") and s.pid() == pid, "an upgrade that failed changed the running daemon"
    s.machine.run("rm", "/srv/fill")
    return said
