#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""kill -9 of the replay client and of the daemon in mid-spill: a sender that starts again leaves every event stored once, and
over TCP not even the daemon's death loses one."""
import signal

import harness
import l2raw
import level2
import store_reader

EVENTS = 300
SPILLS = (510, 511, 0, 1)


class KillSender(harness.SystemTest):
    def setUp(self):
        super().setUp()
        maker = level2.EventMaker(self.crates, 51)
        self.sent = {(s, n): maker.fragments(s, n) for s in SPILLS for n in range(1, EVENTS + 1)}
        self.file = self.folder / "sent.l2raw"
        l2raw.write(self.file, self.crates, {s: [self.sent[s, n] for n in range(1, EVENTS + 1)] for s in SPILLS})

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
        for at in (150, 700, 950):
            self.kill_when_admitted(daemon, self.replay(self.udp(), "500ev/s", "--chunk", self.chunk_bytes), at)
        last = self.replay(self.udp(), "1000ev/s", "--chunk", self.chunk_bytes)
        self.assertEqual(last.wait(), 0, last.said())
        status = daemon.wait_for(lambda s: s["events"]["forwarded"] >= len(self.sent) and not s["fragments"]["in_flight"] and
                                 not s["events"]["in_flight"], "all stored")
        self.assertEqual(status["events"]["admitted"], len(self.sent))
        ledger = self.stop_daemon(daemon)
        receiver.stop()
        self.assert_stored(self.sent)
        self.assertGreater(ledger["datagrams"]["duplicate"] + ledger["datagrams"]["late"], 0)

    def test_replay_over_tcp_is_killed(self):
        receiver, daemon = self.start_receiver(), self.start_daemon()
        for at in (150, 700, 950):
            self.kill_when_admitted(daemon, self.replay(self.tcp(), "500ev/s"), at)
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
        replay = self.replay(self.tcp(), "400ev/s", "--ledger", self.folder / "replay-ledger.json")
        daemon.wait_for(lambda s: s["events"]["forwarded"] >= 150, "events stored")
        daemon.kill()
        daemon = self.start_daemon()
        daemon.wait_for(lambda s: s["events"]["forwarded"] >= 100, "events stored")
        # The next one dies while blocks are under way to a receiver that does not look at them yet.
        receiver.signal(signal.SIGSTOP)
        daemon.wait_for(lambda s: s["events"]["in_flight"] >= 50, "events under way")
        daemon.kill()
        receiver.signal(signal.SIGCONT)
        daemon = self.start_daemon()
        self.assertEqual(replay.wait(), 0, replay.said())
        self.stop_daemon(daemon)
        receiver.stop()
        # What the killed daemon had forwarded without being told that it was stored came once more in the next session.
        events = store_reader.events_of(self.store)
        found = {(e.spill, e.number): e for e in events}
        self.assertEqual(found.keys(), self.sent.keys())
        for e in events:
            self.assertEqual(list(e.fragments.values()), self.sent[e.spill, e.number])
        self.assertGreater(len(events), len(found), "no event came twice: this test proves less than it says")
        code, said = self.run_tool("verify", self.file, self.store)
        self.assertEqual(code, 0, said)
        self.assert_extracted(self.sent)


if __name__ == "__main__":
    harness.main()
