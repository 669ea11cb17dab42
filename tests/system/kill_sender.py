#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""kill -9 of the replay client and of the daemon in mid-spill: a sender that starts again leaves every event stored once, and
over TCP not even the daemon's death loses one."""
import re
import signal

import harness
import l2raw
import level2

# Few in the first spills and many behind, at a rate that leaves seconds of them when a replay is killed.
SPILLS = {510: 20, 511: 40, 0: 300, 1: 300}
KILLED_AT = (10, 40, 90)  # events admitted: within each of the first three spills
SLOWLY = "50ev/s"


class KillSender(harness.SystemTest):
    def setUp(self):
        super().setUp()
        maker = level2.EventMaker(self.crates, 51)
        self.sent = {(s, n): maker.fragments(s, n) for s, events in SPILLS.items() for n in range(1, events + 1)}
        self.file = self.folder / "sent.l2raw"
        l2raw.write(self.file, self.crates, {s: [self.sent[s, n] for n in range(1, events + 1)] for s, events in SPILLS.items()})

    def replay(self, to, rate, *more):
        return self.start_tool("replay", self.file, "--to", to, "--rate", rate, *more)

    def udp(self):
        return f"udp://{harness.HOST}:{self.ports.udp}+{harness.UDP_PORTS}"

    def tcp(self):
        return f"tcp://{harness.HOST}:{self.ports.tcp}"

    def kill_when_admitted(self, daemon, replay, events):
        daemon.wait_for(lambda s: s["events"]["admitted"] >= events, f"{events} events")
        self.assertTrue(replay.running(), "it ended before it was killed: this test proves nothing")
        replay.kill()

    def test_replay_over_udp_is_killed(self):
        receiver, daemon = self.start_receiver(), self.start_daemon()
        for at in KILLED_AT:
            self.kill_when_admitted(daemon, self.replay(self.udp(), SLOWLY, "--chunk", self.chunk_bytes), at)
        last = self.replay(self.udp(), "150ev/s", "--chunk", self.chunk_bytes)
        self.assertEqual(last.wait(), 0, last.said())
        status = daemon.wait_for_stored(len(self.sent))
        self.assertEqual(status["events"]["admitted"], len(self.sent))
        ledger = self.stop_daemon(daemon)
        receiver.stop()
        self.assert_stored(self.sent)
        self.assertGreater(ledger["datagrams"]["duplicate"] + ledger["datagrams"]["late"], 0)

    def test_replay_over_tcp_is_killed(self):
        receiver, daemon = self.start_receiver(), self.start_daemon()
        for at in KILLED_AT:
            self.kill_when_admitted(daemon, self.replay(self.tcp(), SLOWLY), at)
        ledger_file = self.folder / "replay-ledger.json"
        last = self.replay(self.tcp(), "max", "--ledger", ledger_file)
        self.assertEqual(last.wait(), 0, last.said())
        daemon.wait_for_stored(len(self.sent))
        ledger = self.stop_daemon(daemon)
        receiver.stop()
        self.assert_stored(self.sent)
        self.assertEqual(ledger["events"]["admitted"], len(self.sent))
        self.assertGreater(ledger["fragments"]["duplicate"] + ledger["fragments"]["late"], 0)
        code, said = self.run_tool("verify", self.file, self.store, "--ledger", daemon.ledger_file)
        self.assertEqual(code, 0, said)

    def test_the_daemon_is_killed_while_replay_sends_over_tcp(self):
        receiver, daemon = self.start_receiver(), self.start_daemon()
        # The first one dies while blocks are under way to a receiver that does not look at them yet. With its smallest window
        # replay waits there: 56 events are a MiB.
        daemon.wait_for(lambda s: s["receiver"]["connected"], "the receiver's welcome")
        receiver.signal(signal.SIGSTOP)
        replay = self.replay(self.tcp(), "300ev/s", "--window", "1")
        daemon.wait_for(lambda s: s["events"]["in_flight"] >= 50 and s["receiver"]["blocks_sent"] > 0, "events under way")
        daemon.kill()
        receiver.signal(signal.SIGCONT)
        # The next one dies while all goes its way. A replay that had ended by then has been told that all is stored.
        daemon = self.start_daemon()
        daemon.wait_for(lambda s: s["events"]["forwarded"] >= 150, "events stored")
        daemon.kill()
        daemon = self.start_daemon()
        self.assertEqual(replay.wait(), 0, replay.said())
        self.stop_daemon(daemon)
        self.assertEqual(receiver.stop(), 0)
        # What a killed daemon had forwarded without being told that it was stored came once more in the next session: the
        # receiver left it out.
        self.assert_stored(self.sent)
        left_out = int(re.search(r"(\d+) events left out as repeats", receiver.said())[1])
        self.assertGreater(left_out, 0, "no event came twice: this test proves less than it says")
        code, said = self.run_tool("verify", self.file, self.store)
        self.assertEqual(code, 0, said)
        self.assert_extracted(self.sent)


if __name__ == "__main__":
    harness.main()
