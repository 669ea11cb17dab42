# SPDX-License-Identifier: Apache-2.0
"""What people see is true: what is done to a running system, and what it must then say: the headline (the first trouble) with its
severity, a part of its sentence, the alert that reaches the shift through Prometheus and Alertmanager, and the exit code of `koto-l3
status`. A row fails if the headline ever names another cause, or if another critical alert reaches the shift."""
import contextlib
import itertools
import os
import random
import signal
import struct
import subprocess
import sys
import threading
import time

import beam as level_2
import harness
import level2
import level2_sender
import namespaces
import own_etcd
import selection_stage
from beam import whole
from chain import Node, Skipped
from harness import failing
from managing import RunControl
from preload import CLOCK_SHIFT
from rows.daemon_rows import OneThread, shifted_clocks, threads
from rows.full_rows import fill, small_disk
from scenario import Scenario
from shift import headlines
from stream_sender import StreamSender
from table import Row

# The inputs of crate 0 are a calorimeter. Of two lines the one with the lower priority fires.
SELECTION = {
    "detector.toml": 'cables = "cables.csv"\n' + selection_stage.DETECTOR.split("[[veto]]")[0].replace("[calorimeter]", "[calorimeter]\ncrystals = 16").replace("14/15", "6/3"),
    "cables.csv": "input,detector,module,end,x,y,size\n" + "".join(f"0/3/{n},CSI,{n},,{25 * n + 112.5},12.5,25\n" for n in range(16)),
    "lines.toml": 'sequence = ["measure_pulses", "find_clusters", "compute_quantities", "ignore_vetoes", "decide"]\nclusters = {crystal_threshold = 3.0}\n'
                  'line = [{name = "low", priority = 10}, {name = "high", priority = 200, trigger = ["two_clusters"]}]\n'}
SECTIONS = {"udp": {"ports": 2}, "frames": {"count": 4, "events": 16}, "outbox": {"memory": "16 MiB", "block": "64 KiB"},
            "compute": {"threads": 1}, "run": {"drain_time_limit": "1 s"}}
LATER = level2.fragment(2, [level2.header(1, 2, 3, 2000) + level_2.SAMPLES + level2.FOOTER])  # other bytes than those of the beam


def waveforms(height, pedestal):
    """A quiet board, with a pulse in channel 5."""
    words = [0x8000 | pedestal + number % 5 % 3 for number in range(level2.SAMPLE_WORDS)]
    words[5 + 16 * 25::16] = [0x8000 | pedestal + height * (40 - n) // 40 for n in range(39)]
    return level2.fragment(2, [level2.header(1, 2, 3, 1000) + level2.big_endian(words) + level2.FOOTER])


def watch(run):
    """Seven crates, and a receiver whose page is watched, too."""
    run.crate_lines, run.crates = level_2.CRATES, level2.readout(level_2.CRATES)
    run.input_host = run.receiver_host = harness.HOST
    run.options = "--monitor", f"{harness.HOST}:{run.ports.receiver + 1}"
    run.control, run.other, run.others_ports = RunControl(run.folder / "control.sock"), None, run.plan.shift.others[run.scenario.watched]


def both(*acts):
    return lambda run: [act(run) for act in acts]


def beam(**changed):
    return lambda run: run.beam.set(**changed)


def crates(*bad, does):
    """These crates send what `does` makes of (beam, spill, number, place); the others are good."""
    return beam(of_crate=lambda b, s, n, p: does(b, s, n, p) if p in bad else whole(b, s, n, p))


def restart(**how):
    return lambda run: run.restart_daemon(**how)


def spills(height=0, pedestal=500):
    return beam(fragment=waveforms(height, pedestal), events=120, rate=200)


NO_FLOOR = {"floor": "0 B", "segment": "1 MiB"}

# What is done, in a line each
repaired, back, pause = beam(), restart(), lambda run: time.sleep(1)
events_wait = lambda run: run.daemon.wait_for(lambda s: s["events"]["in_flight"] > 0, "events that wait for a receiver")
goes_on = lambda run: setattr(run.beam, "spill", run.latest)
kill_daemon, begin_daemon = lambda run: run.kill_daemon(), lambda run: run.begin_daemon()
reload_with = lambda text: lambda run: (run.daemon.config.write_text(run.daemon.config.read_text().split("[no]")[0] + text), run.daemon.signal(signal.SIGHUP))
file_limit = lambda value: lambda run: run.daemon.limit("fsize", value)
kill_receiver, begin_receiver = lambda run: run.kill_receiver(), lambda run: run.begin_receiver()
freeze_receiver, thaw_receiver = lambda run: run.receiver.signal(signal.SIGSTOP), lambda run: run.receiver.signal(signal.SIGCONT)
ledger_is_a_folder = lambda run: ((run.store / "ledger.json").unlink(missing_ok=True), (run.store / "ledger.json").mkdir())
ledger_is_no_folder = lambda run: (run.store / "ledger.json").rmdir()
make_room = lambda run: (run.disk / "other").unlink()
larger_disk = lambda run, **how: spool_on_small_disk(run, 32, **how)  # a frame of events is a small part of it
# What a crate sends in place of the datagrams of whole()
silent = lambda *_: []
twice = lambda *x: 2 * whole(*x)
loses = lambda b, s, n, p: [] if n and n % 5 == 0 else whole(b, s, n, p)
malformed = lambda b, s, n, p: [d[:12] + b"\0\0" + d[14:] if n and d[4:8] == bytes(4) else d for d in whole(b, s, n, p)]
# In every other event the damaged one goes first: a port may be read before another one
damaged_copies = lambda b, s, n, p: [copy for d in whole(b, s, n, p) for copy in ((d, d[:-4] + b"\xff\xfe\xfd\xfc")[::1 - 2 * (n % 2)] if len(d) > 12 else (d,))]
numbered_otherwise = lambda *x: [d[:11] + bytes([d[11] + 20]) if len(d) == 12 else d for d in whole(*x)]
late = lambda b, s, n, p: b.later.append((time.monotonic() + 2, whole(b, s, n, p))) or [] if n else whole(b, s, n, p)
thinned = lambda b, s, n, p: [d for d in whole(b, s, n, p) if n is None or random.random() >= 0.04]
longer = lambda b, s, n, p: [] if n is None else level2_sender.datagrams(b.crates, s, n, p, level2.renamed(b.fragment, 1, s, n), 2080)
no_ends = lambda b, s, n, p: [] if n is None else whole(b, s, n, p)
stalls = lambda b, s, n, p: (time.sleep(0.8) if n == 20 and p == 3 else None, whole(b, s, n, p))[1]
one_in_100 = lambda b, s, n, p: [] if n == s % 100 and p == s % 7 else whole(b, s, n, p)
garbage = lambda: [random.randbytes(random.randrange(12)) if i % 2 else struct.pack(">III", 0xF0000000 | i, 0, 0) + bytes(100) for i in range(40)]


def drifts(b, s, n, p):
    b.fragment, good = LATER, b.fragment
    try:
        return whole(b, s, n, p)
    finally:
        b.fragment = good


def begins_again(run):
    """With its first spill, after some that are short."""
    run.beam.set(rate=400, pause=0.1)
    harness.wait_until(lambda: run.beam.spill > 20, "twenty spills")
    run.beam.set()
    run.latest, run.beam.spill = run.beam.spill, 0


def meanwhile(act):
    threading.Thread(target=act, daemon=True).start()


def over_tcp(number, **changed):
    """A sender of this run over TCP, whose event has a number of this spill and other bytes than over UDP. It tries again and again."""
    def act(run):
        run.beam.set(tcp=number, **changed)

        def tries():
            while run.beam.tcp:
                spill = run.beam.spill
                with contextlib.suppress(Exception), StreamSender(run.crates, harness.HOST, run.ports.tcp, run=number).connect() as sender:
                    sender.begin(spill)
                    sender.event(spill, 1, [level2.renamed(LATER, 1, spill, 1) for _ in run.crates])
                    sender.listen(0.2)
                time.sleep(0.02)
        meanwhile(tries)
    return act


def stop_and_go(run, program, stopped, goes):
    """Again and again, until `halts`."""
    run.halting, run.halted = False, threading.Event()

    def stutters():
        while not run.halting:
            for number, seconds in ((signal.SIGSTOP, stopped), (signal.SIGCONT, goes)):
                program.signal(number)
                time.sleep(seconds)
        run.halted.set()
    meanwhile(stutters)


def halts(run):
    run.halting = True
    run.halted.wait()


def stutter(run):
    """A daemon that gets no processor for 0.7 s, again and again, while no sender waits."""
    run.restart_daemon(udp={"socket_buffer": "64 KiB"})
    run.beam.set(holds=False)
    stop_and_go(run, run.daemon, 0.7, 0.3)


def slow_disk(run):
    """A receiver that answers only now and then, as one that waits for its disk."""
    stop_and_go(run, run.receiver, 4, 0.3)


def stop_for_3_s(run):
    told = run.receiver.said().count("node_missing")
    run.daemon.signal(signal.SIGSTOP)
    time.sleep(3)
    run.daemon.signal(signal.SIGCONT)
    assert run.receiver.said().count("node_missing") == told, run.receiver.said()


def stays_absent(run):
    until = time.monotonic() + 9
    while time.monotonic() < until:
        assert run.watch.headline()[0] == "receiver_absent", run.watch.last
        time.sleep(0.1)


def a_thread_stands(run):
    run.thread = OneThread(threads(run.daemon.pid)["drain"])
    run.thread.__enter__()


def it_goes_on(run):
    run.thread.__exit__()


def selecting(restarts=lambda run, **how: run.restart_daemon(**how)):
    def act(run):
        for name, text in SELECTION.items():
            (run.folder / name).write_text(text)
        restarts(run, selection={key: str(run.folder / f"{key}.toml") for key in ("lines", "detector")},
                 histograms={"one_in": 1, "reference": str(run.folder / "good.json")})
    return act


def save_histograms(run):
    run.wait_for(lambda status: len(status["latest_spills"]) > 2, "histograms of three spills")
    run.run_tool("histograms", run.watch.urls[0], "--save", run.folder / "good.json")


def controlled(**how):
    return lambda run: run.restart_daemon(ready="ready for runs", **harness.merged(controls(run.folder), how))


def controls(folder):
    return {"run": {"control": str(folder / "control.sock"), "ledger": f"{folder}/ledgers/"}}


def begin_run(run):
    run.beam.pause = 1
    begin(run.control)


def begin(control, **order):
    harness.wait_until(lambda: control.order("start", **order)[0] == 202, "a run to be accepted")
    control.wait_for_run("running")


def end_run(run):
    end(run.control)


def end(control, **order):
    control.order("stop", **order)
    control.wait_for_run("configured")


def other_of(run, number, ready=None, /, **sections):
    """Another daemon, which sends to the same receiver."""
    run.other = Node(run, number, run.others_ports).begin(**sections)
    run.other.daemon.ready(ready)
    return run.other


def begin_other(run):
    other_of(run, 4, "ready for runs", **controls(run.folder / "node-4"), farm={"etcd": [run.etcd.urls[0]]})


def in_a_farm(run):
    if not own_etcd.there():
        raise Skipped("etcd is missing")
    run.beam.on = False
    run.etcd = own_etcd.Etcd(run, run.others_ports.receiver).start()
    run.restart_daemon(ready="ready for runs", **controls(run.folder), farm={"etcd": [run.etcd.urls[0]]})
    run.wait_for(lambda status: status["farm"] and status["farm"]["state"] == "joined", "the farm")


def with_another(run):
    in_a_farm(run)
    begin_other(run)
    run.wait_for(lambda status: status["farm"]["in_order"] == 2, "the other node")


def run_of_its_own(run):
    """The other node leaves the run of the farm and begins one of its own."""
    with_another(run)
    begin_run(run)
    run.other.wait_for_run("running")
    end(run.other, here=True)
    begin(run.other, here=True)


def with_keys(run):
    """The daemon has a key that the receiver does not know."""
    for name in ("receiver", "daemon", "other"):
        run.run_tool("keys", run.folder / name)
    run.kill_receiver()
    run.receiver = run.start_receiver(*run.options, "--secret-key", run.folder / "receiver.secret", "--allow", run.folder / "other.public")
    run.restart_daemon(forward={"insecure": "off", "secret_key": str(run.folder / "daemon.secret"), "receiver_key": str(run.folder / "receiver.public")})


def other_daemon(number, ends):
    """Another daemon stores an event, and ends so."""
    def act(run):
        daemon = other_of(run, number).daemon
        with harness.UdpSender(run.crates, harness.HOST, daemon.ports.udp, 8, run.chunk_bytes) as sender:
            sender.event(1, 1, [level2.renamed(run.beam.fragment, 1, 1, 1) for _ in run.crates])
        daemon.wait_for_stored(1)
        ends(daemon)
    return act


def on_small_disk(run, **how):
    """The daemon again, with its spool there."""
    run.restart_daemon(outbox={"memory": "1 MiB"}, spool={"folder": str(run.disk / "spool"), **NO_FLOOR}, **how)


def spool_on_small_disk(run, mebibytes=8, **sections):
    small_disk(mebibytes, **NO_FLOOR)(run)
    run.beam.rate, run.beam.events = 12 * mebibytes, 80
    on_small_disk(run, **sections)


def store_on_full_disk(run):
    run.receiver.stop()
    small_disk(64)(run)
    run.begin_receiver()
    fill(run.disk / "other")


def another_store(run):
    run.receiver.stop()
    run.store = run.folder / "store"
    run.begin_receiver()


def busy(run):
    programs = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2 * os.cpu_count())]
    threading.Timer(run.plan.pick(6, 30), lambda: [p.kill() for p in programs]).start()


def jumping_clock(run):
    shifted_clocks(run)
    run.kill_receiver()
    run.begin_receiver()
    run.restart_daemon(environment=run.machine.environment)

    def jump():
        for hours in itertools.islice(itertools.cycle((1, -1, 0)), run.plan.pick(6, 30)):
            run.machine.set(CLOCK_SHIFT, 3600 * hours)
            time.sleep(1)
    meanwhile(jump)


# The table

CRATE, NOTHING, ABSENT = "crate_fault critical", "nothing_admitted critical", "receiver_absent warning"
MILDER = ("datagrams_refused", "duplicates", "events_incomplete", "events_missing")  # what half a second has shown of it
SLOW, SLOW_LINK = "backlog_on_disk warning", {"forward": {"rate": "1 Mb/s"}, "outbox": {"memory": "1 MiB"}}
FULL = ("backlog_on_disk", "spool_fills_up", "spool_full", "outbox_full", "no_frame")  # on the way to shedding


def row(what, *steps, may=()):
    return what, steps, may


def of_crates(*rows):
    """Until it is clear which crate it is, what comes is the headline."""
    return [row(what, (act, headline, says), (repaired, None), may=("events_incomplete", "duplicates")) for what, act, headline, says in rows]


SYSTEMS = {
    "crates": ({}, of_crates(
        ("a crate is silent", crates(3, does=silent), CRATE, "lost.*crate 3 .*silent"),
        ("two crates are silent", crates(1, 4, does=silent), CRATE, "crate [14] "),
        ("a crate is 500 events ahead", crates(2, does=lambda b, s, n, p: whole(b, s, n and n + 500, p)), CRATE, "crate 2 .*jumped"),
        ("a crate is two spills behind", crates(5, does=lambda b, s, n, p: whole(b, (s - 2) % 512, n, p)), CRATE, "crate 5 .*spill"),
        ("a crate loses one fragment in 5", crates(0, does=loses), CRATE, "lost.*crate 0 "))),
    "fragments": ({}, of_crates(
        ("the fragments of a crate are malformed", crates(1, does=malformed), CRATE, "crate 1 "),
        ("the fragments of a crate are 2 s late", crates(6, does=late), CRATE, "crate 6 "),
        ("a crate repeats its fragments", crates(4, does=twice), "crate_fault warning", "crate 4 .*repeat"),
        ("the clock of a crate drifts", crates(3, does=drifts), "crate_fault warning", "crate 3 "),
        ("4 % of datagrams are lost, of all crates alike", beam(of_crate=thinned), "events_incomplete critical", r"\d\d of \d+ events"))),
    "numbers": ({"building": {"max_events_per_spill": 1000}}, [
        row("datagrams are longer than chunk_bytes", (beam(chunk=2080), NOTHING, "chunks of 2080 bytes"), (repaired, None), may=MILDER),
        row("datagrams are shorter than chunk_bytes", (both(beam(chunk=1600), back), NOTHING, "chunks of 1600 bytes"), (repaired, None), may=MILDER),
        row("event numbers are beyond max_events_per_spill", (beam(first=2000), NOTHING, "max_events_per_spill"), (repaired, None), may=MILDER),
        row("level 2 numbers its crates otherwise, and events need trailers", (both(restart(building={"chunk_bytes": 2080}), beam(chunk=2080, of_crate=numbered_otherwise)),
                                                                               NOTHING, "numbers its crates"), (both(back, repaired), None), may=MILDER),
        row("the same, and no event needs them: each is late, and none lost", (both(beam(of_crate=numbered_otherwise), lambda run: time.sleep(4)),
                                                                               "datagrams_refused warning", "numbers its crates"), (repaired, None), may=("nothing_admitted",))]),
    "senders": ({}, [
        row("the network of the crates is not allowed", (restart(udp={"allow": ["10.1.2.0/24"]}), NOTHING, "udp.allow"), (back, None), may=MILDER),
        row("a sender over TCP is in another run", (over_tcp(8, on=False), NOTHING, "run"), (repaired, None), may=MILDER),
        row("a sender over TCP has other events of the same numbers", (over_tcp(7), "conflicting_events critical"), (repaired, None), may=MILDER),
        row("two senders over UDP use the same numbers", (beam(of_crate=damaged_copies), NOTHING), (repaired, None), may=("events_incomplete", "conflicting_events")),
        row("every datagram comes twice", (beam(of_crate=twice), "duplicates warning"), (repaired, None)),
        row("garbage comes beside good data", (beam(beside=garbage), "datagrams_refused warning"), (repaired, None))]),
    "machine": ({}, [
        row("whole events do not come", (beam(sent=lambda n: n % 3), "events_missing critical", r"\d+ of \d+ events"), (repaired, None)),
        row("no crate sends an end of spill", (crates(*range(7), does=no_ends), "no_ends_of_spill warning"), (repaired, None)),
        row("the kernel drops datagrams", (stutter, "kernel_drops critical"), (both(halts, repaired, back), None), may=("events_incomplete", "events_missing")),
        row("a thread stands still", (a_thread_stands, "stuck critical", "drain"), (it_goes_on, None), may=("no_frame", "events_incomplete")),
        row("a bad configuration is reloaded", (reload_with("[no]\nsuch = 1\n"), "reload_refused warning"), (reload_with(""), None)),
        row("the daemon is killed with events in memory, and starts again", (both(restart(spool={"folder": ""}), kill_receiver, pause, kill_daemon), "down critical"),
            (both(begin_receiver, begin_daemon), "crashed_before warning", r"[1-9]\d* events were in memory"), (back, None),
            may=("receiver_absent", "outbox_full")),
        row("a node of the farm is killed", (both(with_another, lambda run: run.other.daemon.kill()), "farm_node_missing warning", "node 4 "), (begin_other, None), (both(back, repaired), None)),
        row("a node of the farm has a run of its own", (run_of_its_own, "farm_not_one_run warning", "run: 4"), (end_run, None), (both(back, repaired), None)),
        row("etcd is away", (both(in_a_farm, lambda run: run.etcd.program.kill()), "farm_cut_off warning"), (both(lambda run: run.etcd.start(), back, repaired), None))]),
    "link": ({}, [
        row("the receiver is killed", (kill_receiver, ABSENT), (pause, "receiver:receiver_down critical"), (begin_receiver, None)),
        row("the receiver stands still", (freeze_receiver, ABSENT), (thaw_receiver, None)),
        row("the disk of the receiver is slow", (slow_disk, ABSENT, "disk is slow"), (stays_absent, ABSENT), (halts, None)),
        row("the receiver does not know the daemon's key", (with_keys, ABSENT), (both(kill_receiver, begin_receiver, back), None)),
        row("the receiver's name has no address", (restart(forward={"to": "tcp://no.such.invalid:1"}), ABSENT, "no.such.invalid"), (back, None)),
        row("a crate is silent and the receiver is away, then only that", (both(crates(3, does=silent), kill_receiver), CRATE, "crate 3 "),
            (repaired, ABSENT), (begin_receiver, None), may=("events_incomplete",)),
        row("a crate has another chunk size and the disk is slow, then only that", (both(crates(2, does=longer), slow_disk), CRATE, "crate 2 "),
            (repaired, ABSENT, "disk is slow"), (halts, None), may=("events_incomplete", *MILDER)),
        row("nothing is admitted and the receiver is away, then only that", (both(kill_receiver, beam(chunk=2080)), NOTHING, "chunk_bytes"), (repaired, ABSENT),
            (begin_receiver, None), may=MILDER)]),
    "disks": ({}, [
        row("the receiver is away until the disk is full", (both(spool_on_small_disk, kill_receiver), "receiver_absent critical", "lost in"),
            (pause, "shedding critical", r"\d+ .*events"), (begin_receiver, None), (both(back, repaired), None), may=FULL),
        row("a crate is silent while the disk fills, and is repaired", (both(crates(6, does=silent), spool_on_small_disk, kill_receiver), CRATE, "crate 6 "),
            (repaired, "receiver_absent critical", "lost in"), (begin_receiver, None), (back, None), may=("events_incomplete", *FULL)),
        row("a crate loses fragments while events are shed, then only that", (both(crates(5, does=loses), spool_on_small_disk, kill_receiver), "shedding critical"),
            (begin_receiver, CRATE, "crate 5 "), (both(back, repaired), None), may=("receiver_absent", "events_incomplete", *FULL)),
        row("the daemon is killed while its spool is full", (both(spool_on_small_disk, kill_receiver), "shedding critical"),
            (lambda run: on_small_disk(run, kill=True), "shedding critical"), (both(begin_receiver, back, repaired), None),
            may=("receiver_absent", "crashed_before", *FULL)),  # few events or none were in memory
        row("only events of low priority are shed", (both(selecting(larger_disk), kill_receiver), "shedding warning", "no event of the highest"),
            (begin_receiver, None), (both(back, repaired), None), may=("receiver_absent", *FULL)),
        row("events are shed while garbage comes", (both(beam(beside=garbage), spool_on_small_disk, kill_receiver), "shedding critical"),
            (begin_receiver, "datagrams_refused warning"), (both(back, repaired), None), may=("receiver_absent", *FULL))]),
    "stores": ({}, [
        row("the receiver's disk is full, then soon full", (store_on_full_disk, "receiver_refuses warning"), (pause, "receiver:store_fails critical"),
            (make_room, "receiver:disk_low critical"), (another_store, None), may=("receiver_absent",)),
        row("the receiver's disk is full and a crate is silent, then only that", (both(crates(3, does=silent), store_on_full_disk), CRATE, "crate 3 "),
            (repaired, "receiver_refuses warning"), (both(make_room, another_store), None),
            may=("receiver_absent", "store_fails", "disk_low", "events_incomplete")),
        row("the receiver cannot write its ledger", (both(ledger_is_a_folder, back), "receiver:ledger_fails warning"), (ledger_is_no_folder, None)),
        row("the disk of the spool fails", (both(kill_receiver, restart(outbox={"memory": "1 MiB"}), file_limit(200_000)), "spool_fails critical"),
            (both(file_limit("unlimited"), begin_receiver, back), None), may=("receiver_absent", "backlog_on_disk")),
        row("the output link is slow", (restart(**SLOW_LINK), SLOW, "forward.rate"), (back, None), may=("spool_fills_up",))]),
    "device": ({"compute": {"verify_one_in": 1, "time_limit": "200 ms"}}, [
        row("the device fails", (restart(environment=failing("error:every=1")), "engine_bypassed warning"), (back, None), may=("engine_fails",)),
        row("the device hangs", (restart(environment=failing("hang:from=20")), "engine_bypassed warning"), (back, None), may=("engine_fails",)),
        row("the device is lost", (restart(environment=failing("lost:from=20")), "device_lost warning"), (back, None), may=("engine_bypassed", "engine_fails")),
        row("the device computes wrong bits", (restart(environment=failing("wrong_bit:from=1")), "wrong_results critical"), (back, None),
            may=("engine_bypassed", "engine_fails")),
        row("the device fails and the link is slow, then only that", (both(restart(environment=failing("error:every=1"), **SLOW_LINK)), "engine_bypassed warning"),
            (restart(**SLOW_LINK), SLOW), (back, None), may=("engine_fails", "spool_fills_up")),
        row("the device hangs and a crate is silent, then only that", (both(restart(environment=failing("hang:from=20")), crates(3, does=silent)), CRATE, "crate 3 "),
            (repaired, "engine_bypassed warning"), (back, None), may=("events_incomplete", "engine_fails"))]),
    "runs": ({}, [
        row("the beam comes without a run", (controlled(), "data_without_run critical", "run"), (begin_run, None)),
        row("the daemon is killed inside a run and waits for one", (controlled(kill=True), "data_without_run critical"), (both(begin_run, controlled(), begin_run), None),
            may=("crashed_before",)),
        row("a run begins under beam", (both(controlled(), begin_run), None)),
        row("events are shed at the end of a run", (both(controlled(spool={"folder": ""}), begin_run, pause, kill_receiver, events_wait, beam(on=False), end_run),
                                                     "lost_at_run_end warning", r"\d+ events"), (both(begin_receiver, back, repaired), None), may=("receiver_absent",)),
        row("events wait on disk for a run", (both(kill_receiver, pause, beam(on=False), controlled()), "spool_waits warning"),
            (both(begin_receiver, begin_run, back, repaired), None), may=("lost_at_run_end",)),  # which the row before has left
        row("crates never pause, and no run can begin", (both(controlled(), beam(pause=0, rate=20, events=20), lambda run: time.sleep(10), lambda run: run.control.order("start")),
                                                         "no_pause critical"), (repaired, None), may=("data_without_run",))]),
    "nodes": ({}, [
        row("a node falls silent", (other_daemon(4, harness.Daemon.kill), "receiver:node_missing critical", "node 4"), (other_daemon(4, harness.Daemon.stop), None)),
        row("two daemons have one number", (other_daemon(3, lambda daemon: None), "receiver:same_node warning"), (lambda run: run.other.daemon.stop(), None))]),
    "inputs": ({}, [
        row("an input is hot", (both(spills(400), selecting()), "hot_inputs warning", "0/3/5,,,,1 in selection.calibration"), (spills(), None), (both(back, repaired), None)),
        row("the pedestals of a crate change", (both(spills(), selecting(), save_histograms, spills(pedestal=600), selecting()), "inputs_changed warning", "16 of crate 0.*pedestal"),
            (both(spills(), selecting()), None), (both(back, repaired), None))]),
    "healthy": ({}, [
        row("the sender stalls", (beam(of_crate=stalls), None)),
        row("the beam pauses", (beam(on=False), None)),
        row("the daemon is stopped for 3 s", (stop_for_3_s, None)),
        row("1 % of events are incomplete, of all crates alike", (beam(of_crate=one_in_100), None), may=("events_incomplete",)),
        row("the processors are busy", (both(repaired, busy), None)),
        row("the sender starts again inside a run", (begins_again, NOTHING, "restarted"), (goes_on, None), may=MILDER),
        row("the clock of the day jumps", (jumping_clock, None))]),
}

SHORT = ("crates: a crate is silent", "link: the receiver is killed", "senders: the network of the crates is not allowed", "runs: the beam comes without a run")


def rows_of(system, sections, rows):
    for what, steps, may in rows:
        seen = ", then ".join(expected for _, expected, *_ in steps if expected) or "nothing critical"
        scenario = Scenario(watched=system, machines=namespaces.OneMachine, over="beam", prepare=watch, fault=headlines(*steps, may=may), daemon=harness.merged(SECTIONS, sections))
        name = f"{system}: {what}"
        yield Row(name, seen, "named, told, over", lambda plan, of_row=scenario: [of_row], name not in SHORT, system)


ROWS = [row for system, (sections, rows) in SYSTEMS.items() for row in rows_of(system, sections, rows)]
