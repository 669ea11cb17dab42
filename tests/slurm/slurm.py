# SPDX-License-Identifier: Apache-2.0
"""A Slurm of its own on this machine: munged, slurmctld and a slurmd for each of a few nodes, with keys, ports, state and logs in
one folder. All of it is gone when the test ends."""
import os
import pathlib
import shutil
import signal
import socket
import subprocess

import harness

NEEDED = ("munged", "slurmctld", "slurmd", "sbatch", "scontrol", "squeue", "sacct")


def what_is_missing():
    """Why it cannot run here; empty: it can."""
    if os.geteuid() != 0:
        return "it needs root: slurmd starts jobs"
    gone = [tool for tool in NEEDED if shutil.which(tool, path=os.environ["PATH"] + ":/usr/sbin") is None]
    return f"{', '.join(gone)} not there (deploy/packages.txt)" if gone else ""


def free_port():
    with socket.socket() as s:
        s.bind((harness.HOST, 0))
        return s.getsockname()[1]


class Slurm:
    """`nodes`: their names. Each has one processor."""

    def __init__(self, folder, nodes):
        self.folder, self.nodes = folder, nodes
        folder.parent.chmod(0o755)  # munged demands it
        folder.mkdir(mode=0o755)
        self.munge = folder / "munge"
        self.munge.mkdir(mode=0o755)
        self.configuration = folder / "slurm.conf"
        (self.munge / "key").write_bytes(os.urandom(128))
        (self.munge / "key").chmod(0o400)
        ports = {node: free_port() for node in nodes}
        host = socket.gethostname().split(".")[0]
        self.configuration.write_text(f"""
ClusterName=l3
SlurmctldHost={host}({harness.HOST})
SlurmctldPort={free_port()}
AuthType=auth/munge
AuthInfo=socket={self.munge}/socket
SlurmUser=root
SlurmdUser=root
StateSaveLocation={folder}/state
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmdSpoolDir={folder}/spool-%n
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
MpiDefault=none
SlurmdTimeout=5
SlurmdParameters=config_overrides
ReturnToService=2
SchedulerParameters=sched_interval=1,batch_sched_delay=0
KillWait=2
MinJobAge=3600
""" + "".join(f"NodeName={n} NodeHostname={host} NodeAddr={harness.HOST} Port={p} CPUs=1\n" for n, p in ports.items()) +
            f"PartitionName=all Nodes={','.join(nodes)} Default=YES State=UP\n")
        (folder / "state").mkdir()
        self.environment = {"SLURM_CONF": str(self.configuration), "PATH": os.environ["PATH"] + ":/usr/sbin"}
        self.programs = {}

    def start(self):
        try:
            self._start("munged", "-F", "--key-file", self.munge / "key", "--socket", self.munge / "socket", "--pid-file",
                        self.munge / "pid", "--log-file", self.munge / "log", "--seed-file", self.munge / "seed")
            harness.wait_until((self.munge / "socket").exists, "munged")
            self._start("slurmctld", "-D", "-c")
            for node in self.nodes:
                self.start_node(node)
            harness.wait_until(lambda: all(self.state(n).startswith("idle") for n in self.nodes), lambda: f"idle nodes: {self.say('sinfo')}")
        except BaseException:
            for log in sorted(self.folder.glob("*.log")):
                print(f"--- {log.name}\n{log.read_text(errors='replace')[-2000:]}")
            self.stop()
            raise
        return self

    def start_node(self, node):
        (self.folder / f"spool-{node}").mkdir(exist_ok=True)
        self._start(f"slurmd-{node}", "-D", "-N", node)

    def _start(self, name, *arguments):
        log = (self.folder / f"{name}.out.log").open("ab")
        program = shutil.which(name.split("-")[0], path=self.environment["PATH"])
        self.programs[name] = subprocess.Popen([program, *map(str, arguments)], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                               env={**os.environ, **self.environment}, preexec_fn=lambda: harness._begin(None))
        log.close()

    def say(self, *command):
        p = subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=harness.PATIENCE,
                           env={**os.environ, **self.environment})
        return (p.stdout + p.stderr).strip()

    def state(self, node):
        return self.say("sinfo", "-h", "-n", node, "-o", "%t")

    def jobs(self):
        """{job or job_task: its state}, of all that it remembers."""
        return dict(line.split() for line in self.say("squeue", "-h", "-r", "-t", "all", "-o", "%i %T").splitlines())

    def lose(self, node, job):
        """The node is gone without a word: its slurmd, what watches over the job there, and the job."""
        slurmd = self.programs[f"slurmd-{node}"]
        for pid in (slurmd.pid, parent_of(job), job):
            kill(pid, signal.SIGKILL)
        slurmd.wait()

    def node_of(self, pid):
        """On which node a job of this Slurm runs; None: it is none."""
        try:
            words = pathlib.Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
        except OSError:
            return None
        if f"SLURM_CONF={self.configuration}".encode() not in words:
            return None
        return next((w.split(b"=", 1)[1].decode() for w in words if w.startswith(b"SLURMD_NODENAME=")), None)

    def stop(self):
        for name in reversed(self.programs):
            p = self.programs[name]
            if p.poll() is None:
                p.kill()
                p.wait()
        for pid in processes():
            if str(self.folder) in command_of(pid) or self.node_of(pid) in self.nodes:
                kill(pid, signal.SIGKILL)


def processes():
    return [int(p.name) for p in pathlib.Path("/proc").iterdir() if p.name.isdigit() and int(p.name) != os.getpid()]


def parent_of(pid):
    return int(pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])


def command_of(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""


def kill(pid, number):
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass
