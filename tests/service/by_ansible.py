# SPDX-License-Identifier: Apache-2.0
"""deploy/ansible on three machines in one network: it installs a receiver and two nodes, leaves alone what does not differ,
upgrades one node after the other while data flow, and ends at the first that fails. Ansible's way to a machine is a small
program in the place of ssh."""
import contextlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

from machine import network, wait_until
from service import Flow, LEDGERS, STORE, small

PLAYBOOK = pathlib.Path(__file__).resolve().parents[2] / "deploy/ansible/site.yml"
ADDRESSES = {"store": "127.0.0.1", "node1": "127.0.0.2", "node2": "127.0.0.3"}
SSH = """#!/bin/sh
while :; do
  case $1 in -o) shift 2 ;; -*) shift ;; *) break ;; esac
done
leader=$(cat "{folder}/$1.leader")
shift
exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 nsenter "--target=$leader" --all --wd=/root -- sh -c "$*"
"""


class Playbook:
    def __init__(self, folder, machines, packages):
        self.folder = folder
        for name, machine in machines.items():
            (folder / f"{name}.leader").write_text(str(machine.leader))
        (folder / "ssh").write_text(SSH.format(folder=folder))
        (folder / "ssh").chmod(0o755)
        hosts = {name: {"koto_l3_configuration": str(folder / f"{name}.toml"), "koto_l3_monitor": f"{address}:{9421 if name == 'store' else 9420}"}
                 for name, address in ADDRESSES.items()}
        (folder / "hosts.json").write_text(json.dumps({
            "koto_l3_receivers": {"hosts": {"store": hosts.pop("store")}}, "koto_l3_nodes": {"hosts": hosts},
            "all": {"vars": {"ansible_python_interpreter": "/usr/bin/python3", "koto_l3_ready_within": 15}}}))
        self.packages = packages
        (folder / "store.toml").write_text(f'out = "{STORE}"\nmonitor = "127.0.0.1:9421"\n')
        for node in (1, 2):
            self.configure(node)

    def configure(self, node, **more):
        address = ADDRESSES[f"node{node}"]
        (self.folder / f"node{node}.toml").write_text(small(
            **{"run": {"node": node}, "udp": {"bind": f"{address}:42000"}, "tcp": {"bind": f"{address}:42100"}, "monitor": {"bind": f"{address}:9420"}, **more}))

    def run(self, fails=False):
        """What changed, by machine."""
        done = subprocess.run(["ansible-playbook", "-i", self.folder / "hosts.json", PLAYBOOK, "-e", f"koto_l3_packages={self.packages}"],
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=600,
                              env={**os.environ, "ANSIBLE_SSH_EXECUTABLE": str(self.folder / "ssh"), "ANSIBLE_SSH_TRANSFER_METHOD": "piped", "ANSIBLE_PIPELINING": "1",
                                   "ANSIBLE_LOCAL_TEMP": str(self.folder / "tmp"), "ANSIBLE_NOCOLOR": "1"})
        assert (done.returncode != 0) == fails, f"ansible-playbook ends with {done.returncode}:\n{done.stdout[-6000:]}"
        self.said = done.stdout
        return {name: int(changed) for name, changed in re.findall(r"^(\w+) +: ok=\d+ +changed=(\d+)", done.stdout, re.MULTILINE)}


def next_version(packages, out):
    """The same packages under a higher version."""
    out.mkdir()
    for deb in packages.glob("*.deb"):
        with tempfile.TemporaryDirectory() as stage:
            subprocess.run(["dpkg-deb", "-R", deb, stage], check=True)
            control = pathlib.Path(stage) / "DEBIAN/control"
            control.write_text(re.sub(r"^(Version: |Depends:.*\bkoto-l3 \(= )([\w.~+]+)", r"\1\2+next", control.read_text(), flags=re.MULTILINE))
            subprocess.run(["dpkg-deb", "--root-owner-group", "-Zgzip", "-z1", "-b", stage, out], check=True, stdout=subprocess.DEVNULL)


def moment(s, what):
    return int(s.machine.ask("systemctl", "show", "--value", "-p", f"{what}TimestampMonotonic", "koto-l3d"))


def check_by_ansible(boot, packages):
    with contextlib.ExitStack() as stack:
        name = stack.enter_context(network(f"koto-l3-service-{os.getpid()}"))
        store, *nodes = [stack.enter_context(boot(machine, address, name)) for machine, address in ADDRESSES.items()]
        folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="koto-l3-ansible-")))
        playbook = Playbook(folder, {name: s.machine for name, s in zip(ADDRESSES, (store, *nodes))}, packages)
        playbook.run()
        assert store.active("koto-l3-receive") and all(s.active("koto-l3d") for s in nodes)
        changed = playbook.run()
        assert changed == dict.fromkeys(ADDRESSES, 0), f"a second run changed {changed}:\n{playbook.said}"
        print("  installed, and left alone by a second run")

        for n, s in enumerate(nodes):
            s.machine.run("cp", "/usr/bin/koto-l3", "/srv/sender")
            s.tool, s.next_spill = "/srv/sender", 1 + 250 * n
        flows = [Flow(s) for s in nodes]
        pids = [s.pid() for s in nodes]
        next_version(packages, folder / "next")
        playbook.packages = folder / "next"
        playbook.run()
        for s, pid in zip(nodes, pids):
            assert s.active("koto-l3d") and s.pid() != pid and "+next" in s.machine.run("dpkg-query", "-W", "koto-l3d")
        assert moment(nodes[0], "ActiveEnter") < moment(nodes[1], "InactiveEnter"), "the second node was stopped before the first one was back"
        print("  upgraded, one node after the other")

        pids = [s.pid() for s in nodes]
        playbook.configure(1, forward={"rat": "1 Gb/s"})
        playbook.run(fails=True)
        assert "did you mean forward.rate" in playbook.said, playbook.said
        assert [s.pid() for s in nodes] == pids, "a configuration that is refused touched a node"
        for node in (1, 2):
            playbook.configure(node, spool={"folder": "/srv/spool"})  # the check runs as root, who may make it
        playbook.run(fails=True)
        assert "The configuration of before is in its place" in playbook.said, playbook.said
        assert nodes[1].pid() == pids[1], "the play went on after a node that failed"
        wait_until(lambda: nodes[0].active("koto-l3d"), "the node that failed to go on as it was", 20)
        (playbook.folder / "store.toml").write_text(f'out = "{STORE}"\nmonitr = "127.0.0.1:9421"\n')
        pid = store.pid("koto-l3-receive")
        playbook.run(fails=True)
        assert "did you mean monitor" in playbook.said and store.pid("koto-l3-receive") == pid, playbook.said
        (playbook.folder / "store.toml").write_text(f'out = "{STORE}"\nmonitor = "127.0.0.1:9421"\n')
        for node in (1, 2):
            playbook.configure(node)
        playbook.run()
        print("  ended at a configuration that is refused, of a node and of the receiver, and at a node that does not start with it: that one went on as it was")

        for flow in flows:
            flow.end()
        sent = sum(s.sent for s in nodes)
        wait_until(lambda: store.stored() >= sent, lambda: f"{sent} events in the store, which has {store.stored()}", 60)
        for s in nodes:
            s.machine.run("systemctl", "stop", "koto-l3d")
        store.machine.run("systemctl", "stop", "koto-l3-receive")
        store.sent, ledgers = sent, []
        for s in nodes:
            store.spills |= s.spills
            for ledger in s.machine.path(LEDGERS).glob("*.json"):
                shutil.copy(ledger, store.machine.sent)
                ledgers.append(f"/sent/{ledger.name}")
        store.check_added_up(ledgers)
        print(f"  {sent} events were sent meanwhile; each is stored, and the ledgers of both nodes add up")
