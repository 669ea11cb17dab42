# SPDX-License-Identifier: Apache-2.0
"""A scenario is a fault, a load, and the expected account. `play` starts receiver and daemon, sends events through them, commits the
fault meanwhile, ends everything, and compares the events that were sent with what the store, the ledgers and the receiver say. Or a shift
watches it (shift.py), and its fault says what people must see.

In every scenario without a shift each sum must balance, no event may be stored twice, with wrong bytes or without having been sent, and every program must
end with its exit code. Which events may be missing is `lost`; the scenario's `judge` looks at the rest."""
import dataclasses
import random
import signal
from typing import Callable

import harness
import ledgers
import namespaces
from beam import Beam
from chain import Chain
from harness import unbalanced


def nothing(run):
    """No fault, or no event that may be missing."""
    return set()


def counted(run):
    """As many events are missing as the daemon says."""
    run.findings.equal("events not stored − shed − incomplete", len(run.found.missing) - run.shed - run.incomplete, 0)
    return run.found.missing


def judged(run):
    """The scenario's `judge` says which events may be missing."""
    return run.found.missing


def hit(run):
    """The events that the relay's faults have hit, and no other."""
    run.hits = ledgers.Hits(run.journal, run.datagrams)
    run.findings.none(run.hits.faults(run.sent, run.found, run.store))
    return run.hits.may_miss


@dataclasses.dataclass
class Scenario:
    name: str = ""
    # The fault
    prepare: Callable = nothing  # (run), before any program starts
    fault: Callable = nothing    # (run), while the load goes on; it may put other programs in the place of the first ones
    relay: dict = dataclasses.field(default_factory=dict)  # what happens to datagrams on their way
    # The load
    over: str = "relay"  # relay (UDP), udp (without the relay), tcp, or beam: UDP from a level 2 that may misbehave, without an end
    machines: Callable = namespaces.Network  # sender, daemon and receiver on one each
    stage: Callable | None = None  # None: a Run
    watched: str = ""    # the name by which a shift knows it
    rate: int = 2000     # events a second
    spills: int = 400
    events: int = 2500   # in each
    first: int = 1       # spill
    to_the_end: bool = False  # all of it is sent; else the sender is interrupted when the fault is over
    replay: tuple = ()   # options
    daemon: dict = dataclasses.field(default_factory=dict)  # sections of its configuration, and "environment"
    receiver: tuple | None = ()  # options; None: there is none at first
    receiver_through: tuple = ()  # a program that starts it
    # The account
    lost: Callable = nothing  # (run): the events that may be missing
    judge: Callable = nothing  # (run)
    exit_code: int = 0   # of the daemon


class Run(Chain):
    """A scenario that is played: its programs as they are now, and what the ones that are gone have counted."""

    def __init__(self, scenario, findings, plan):
        super().__init__(scenario.machines(), plan.shift.ports[scenario.watched] if scenario.watched else None)
        self.receiver_space = self.network.receiver
        self.scenario, self.findings, self.plan = scenario, findings, plan
        self.random = random.Random(f"{plan.seed} {scenario.name}")
        self.sections, self.options = dict(scenario.daemon), scenario.receiver or ()
        self.beam = self.sent = self.daemon = self.receiver = self.relay = self.journal = self.replay_ledger = self.ledger = None
        self.receiver_environment = None
        self.garbage = self.device_faults = self.spilled = 0
        self.ledgers = []  # of the daemons that were stopped

    def begin(self):
        s = self.scenario
        s.prepare(self)
        if not self.sent and s.over != "beam":
            self.write_events(s.spills, s.events, self.plan.seed, s.first)
        if s.receiver is not None:
            self.begin_receiver()
        self.begin_daemon()
        if s.over == "relay":
            self.relay = self.start_relay(self.plan.seed, **s.relay)
        if s.over == "beam":
            self.beam = Beam(self.crates, [self.ports.udp], lambda: self.daemon.waiting())
            self.ending.callback(self.beam.end)
        else:
            self.begin_replay()

    def begin_receiver(self):
        self.receiver = self.start_receiver(*self.options, environment=self.receiver_environment, through=self.scenario.receiver_through)

    def begin_daemon(self):
        self.daemon = self.start_daemon(**self.sections)

    def begin_replay(self):
        self.replay = self.start_replay(self.scenario.over, self.scenario.rate, *self.scenario.replay, space=self.network.sender)

    def look(self):
        """Before a daemon goes: what it has counted goes with it."""
        status = self.daemon.status()
        self.device_faults += status["engine_failures"]
        self.spilled += status["spool"]["spilled"] if status["spool"] else 0

    def kill_daemon(self):
        self.look()
        self.daemon.kill()
        self.findings.inject("kills −9 of the daemon", 1)

    def restart_daemon(self, kill=False, **changed):
        """With these settings beside those of the scenario; the beam pauses meanwhile: half a spill would be a loss."""
        before, self.beam.on = self.beam.on, False
        self.kill_daemon() if kill else self.daemon.stop()
        self.sections = harness.merged(self.scenario.daemon, changed)
        self.begin_daemon()
        self.beam.on = before

    def stop_daemon(self, exit_code=0):
        """By SIGTERM; its ledger."""
        self.look()
        self.findings.equal(f"exit code of the daemon, which said {self.daemon.said()[-1000:]}", self.daemon.stop(), exit_code)
        self.ledgers.append(self.daemon.ledger())
        self.findings.none(unbalanced(self.ledgers[-1]))
        return self.ledgers[-1]

    def kill_receiver(self):
        self.receiver.kill()
        self.findings.inject("kills −9 of the receiver", 1)

    def interrupt_replay(self):
        """It must not have been at its end."""
        if not self.replay.running():
            raise AssertionError(f"replay had ended before the last fault: this would prove less than it says: {self.replay.said()[-2000:]}")
        self.replay.signal(signal.SIGINT)
        self.replay.wait()

    def finish_replay(self, seconds=600):
        self.findings.equal("exit code of replay", self.replay.wait(seconds), 0)

    def wait_for(self, condition, what, seconds=harness.PATIENCE):
        return self.daemon.wait_for(condition, what, seconds)

    def status(self):
        """A /status that was made after this call."""
        before = self.daemon.status()["uptime"]
        return self.wait_for(lambda s: s["uptime"] > before, "the next /status")

    def wait_for_empty_spool(self):
        harness.wait_until(lambda: self.daemon.status()["spool"]["events"] == 0, "an empty spool", 600)

    def end(self):
        if self.replay.running() and not self.scenario.to_the_end:
            self.interrupt_replay()
        else:
            self.finish_replay() if self.scenario.to_the_end else self.replay.wait()
        self.replay_ledger = self.replay.ledger()
        if self.relay and self.relay.running():
            self.journal = self.finish_relay(self.relay, self.replay_ledger)
        self.end_programs()

    def end_programs(self):
        if self.daemon.running():
            if self.receiver:
                self.drain(self.daemon)
            self.ledger = self.stop_daemon(self.scenario.exit_code)
        if self.receiver:
            self.findings.equal("exit code of the receiver", self.receiver.stop(), 0)

    @property
    def stores(self):
        return [self.store]

    may_repeat = 0  # events that are in more than one store

    @property
    def shed(self):
        return sum(self.ledger["events"]["shed"].values())

    @property
    def incomplete(self):
        return sum(spill["incomplete"] for spill in self.ledger["spills"])

    def compare(self):
        s, findings = self.scenario, self.findings
        self.keys = self.sent.keys() if s.to_the_end else self.sent.keys_of(self.replay_ledger)
        self.acknowledged = self.keys if s.to_the_end else self.keys[:self.replay_ledger["events"]["forwarded"]]
        self.found = ledgers.compare(self.sent, *self.stores, keys=self.keys)
        may_miss = s.lost(self)
        if s.over == "tcp":  # of the others an interrupted sender does not know whether they came
            may_miss = may_miss | set(self.keys) - set(self.acknowledged)
        if s.lost is not hit:
            findings.none(self.found.faults(may_miss))
        found = self.found
        findings.check(len(found.repeated) <= self.may_repeat, f"{len(found.repeated)} events are stored once more by another session")
        findings.see("events stored once, bit for bit", len(found.stored - found.wrong))
        findings.see("lost", len(found.missing - may_miss))
        s.judge(self)
        if s.spills == 1 and s.to_the_end and s.lost is nothing:
            code, said = self.run_tool("verify", self.sent_file, self.store)
            findings.check(code == 0, f"verify ends with {code}: {said[-500:]}")


def play(scenario, findings, plan):
    with (scenario.stage or Run)(scenario, findings, plan) as run, findings.named(scenario.name):
        run.begin()
        scenario.fault(run)
        if scenario.over != "beam":
            run.end()
            run.compare()
