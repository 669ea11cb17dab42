# SPDX-License-Identifier: Apache-2.0
"""What is installed is replaced and removed: the same packages again, also on a full disk, then none."""
import json
import time

from service import EVENTS, LEDGERS, STORE, UNITS


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
