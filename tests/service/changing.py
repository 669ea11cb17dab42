# SPDX-License-Identifier: Apache-2.0
"""What is installed is replaced and removed: the same packages again, those of an earlier version, programs copied by hand."""
import json
import time

from machine import wait_until
from service import EVENTS, Flow, LEDGERS, STORE, UNITS


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


# From programs that no package of today brought. Their receiver was no service: its unit was made by hand.

RECEIVER_BY_HAND = """[Service]
ExecStart={folder}/koto-l3 receive --bind tcp://127.0.0.1:42200 --out /srv/store
Restart=on-failure
"""
OLD_LEDGER = "/var/lib/koto-l3/koto-l3d-ledger.json"


def begin_old(s, receiver, folder):
    """The services of 0.1.0 with programs in `folder`, and events that come until the end. Senders stay as they are."""
    s.small()
    s.machine.run("cp", f"{folder}/koto-l3", "/srv/sender")
    s.tool = "/srv/sender"
    s.machine.path(f"/etc/systemd/system/{receiver}.service").write_text(RECEIVER_BY_HAND.format(folder=folder))
    s.machine.run("systemctl", "daemon-reload")
    s.machine.run("systemctl", "start", receiver, "koto-l3d")
    return Flow(s)


def take_over_store(s, receiver):
    """docs/installing.md: a receiver that was started by hand becomes the service, with its store."""
    s.machine.run("systemctl", "stop", receiver)
    s.machine.path(f"/etc/systemd/system/{receiver}.service").unlink()
    s.machine.run("systemctl", "daemon-reload")
    s.machine.run("mv", "/srv/store", STORE)
    s.machine.run("chown", "-R", "koto-l3:koto-l3", STORE)
    s.machine.run("systemctl", "start", "koto-l3-receive")


def end_and_add_up(s, flow):
    assert s.machine.ask("systemctl", "show", "--value", "-p", "User", "koto-l3d") == "koto-l3"
    assert s.machine.run("readlink", f"/proc/{s.pid()}/exe").strip() == "/usr/bin/koto-l3d"
    sent = s.sent
    wait_until(lambda: s.sent > sent + Flow.EVENTS, "events that pass the new programs", 60)
    flow.end()
    s.check_stored()
    s.machine.run("systemctl", "stop", *UNITS)
    admitted = s.check_added_up([OLD_LEDGER, *s.ledgers()])
    print(f"  {s.sent} events, taken by the daemons one after the other: {' + '.join(map(str, admitted))}; each is stored, the ledgers add up")


def install_on_a_full_disk(s):
    """An upgrade without room changes no running service."""
    pid = s.pid()
    s.machine.run("sh", "-c", "fallocate -l $(($(df --output=avail -B1 /srv | tail -1) - 2097152)) /srv/fill")
    said = s.machine.run("sh", "-c", "dpkg --install --force-confold /shared/*.deb", fails=True)
    assert "No space left on device" in said and "error processing archive /shared/koto-l3d_" in said, said
    assert s.active("koto-l3d") and s.pid() == pid, "an upgrade that failed changed the running daemon"
    s.machine.run("rm", "/srv/fill")
    return said


def check_upgraded_from_0_1_0(s):
    """The disk is full at first; then the receiver is upgraded, then the daemon, while events come all the time."""
    s.machine.run("sh", "-c", "dpkg --install /old/*.deb")
    flow = begin_old(s, "receiver", "/usr/bin")
    wait_until(lambda: s.sent, "events that 0.1.0 took", 60)
    install_on_a_full_disk(s)
    pid = s.pid()
    s.machine.run("sh", "-c", "dpkg --install /shared/koto-l3_*.deb /shared/koto-l3-receive_*.deb")
    take_over_store(s, "receiver")
    assert s.active("koto-l3d") and s.pid() == pid
    mine = s.machine.path("/etc/koto-l3/l3.toml").read_text()
    said = s.machine.run("sh", "-c", "dpkg --install /shared/koto-l3d_*.deb", fails=True)
    assert "l3.toml" in said and "end of file on stdin at conffile prompt" in said, said
    assert s.active("koto-l3d") and s.pid() == pid, "the daemon was started anew before its configuration was decided on"
    s.machine.run("dpkg", "--configure", "--force-confold", "koto-l3d")
    assert s.active("koto-l3d") and s.pid() != pid, "the daemon is not started anew"
    assert s.machine.path("/etc/koto-l3/l3.toml").read_text() == mine, "an upgrade changed the operator's configuration"
    assert s.machine.path("/etc/koto-l3/l3.toml.dpkg-dist").exists()
    assert not s.machine.path("/var/lib/koto-l3").is_symlink(), "the folder of the user that existed while 0.1.0 ran"
    end_and_add_up(s, flow)


def check_installed_over_hand_copies(s):
    """Programs in /usr/local and units in /etc stay in force until the operator removes them, and the packages say so."""
    s.machine.run("sh", "-c", "for f in /old/*.deb; do dpkg-deb -x $f /srv/old; done; mv /srv/old/usr/bin/* /usr/local/bin/; mkdir /etc/koto-l3;"
                  "sed s,/usr/bin,/usr/local/bin, /srv/old/lib/systemd/system/koto-l3d.service >/etc/systemd/system/koto-l3d.service")
    flow = begin_old(s, "koto-l3-receive", "/usr/local/bin")
    wait_until(lambda: s.sent, "events that the copies took", 60)
    pids = {unit: s.pid(unit) for unit in UNITS}
    said = s.machine.run("sh", "-c", "dpkg --install /shared/*.deb", fails=True)  # l3.toml is no package's: dpkg asks
    said += s.machine.run("dpkg", "--configure", "--force-confold", "-a")
    for name in ("/etc/systemd/system/koto-l3d.service", "/etc/systemd/system/koto-l3-receive.service", "/usr/local/bin/koto-l3d", "/usr/local/bin/koto-l3 "):
        assert name in said, f"nothing is said of {name}:\n{said}"
    assert {unit: s.pid(unit) for unit in UNITS} == pids, "the installation touched a service that is not its own"
    take_over_store(s, "koto-l3-receive")
    s.machine.run("rm", "/usr/local/bin/koto-l3d", "/usr/local/bin/koto-l3", "/etc/systemd/system/koto-l3d.service")
    s.machine.run("systemctl", "daemon-reload")
    s.machine.run("systemctl", "restart", "koto-l3d")
    end_and_add_up(s, flow)
