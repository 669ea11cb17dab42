#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a glance costs, and how soon it tells: the daemon's time for its page and metrics while data flows and many look, and the
time from a crate's first missing fragment until /status, and with it the page, names the crate. By hand, the figures:
  KOTO_L3_BIN=build/bin python3 -B tests/system/glance.py"""
import http.client
import json
import pathlib
import threading
import time

import harness
import l2raw
import level2

BAD = 1  # place and number of a crate
SECONDS = 5
MOST_SHARE = 0.05 if harness.SANITIZED else 0.01  # of the daemon's processor time under load
SOON = 2.0


class Glance(harness.SystemTest):
    def times(self, daemon):
        """{thread: seconds of processor}"""
        found = {}
        for task in pathlib.Path(f"/proc/{daemon.pid}/task").iterdir():
            nanoseconds = int((task / "schedstat").read_text().split()[0])
            found[task.name] = ((task / "comm").read_text().strip(), nanoseconds / 1e9)
        return found

    def test_the_monitoring_threads_take_little(self):
        self.start_receiver()
        daemon = self.start_daemon()
        maker = level2.EventMaker(self.crates, 5)
        file = self.folder / "load.l2raw"
        l2raw.write(file, self.crates, {s: [maker.fragments(s, n) for n in range(1, 101)] for s in range(1, 11)})
        load = self.start_tool("replay", file, "--to", f"tcp://{harness.HOST}:{self.ports.tcp}", "--rate", "unlimited", "--loop", 100_000)
        daemon.wait_for(lambda s: s["events"]["admitted"] > 1000, "load")
        done, looks = threading.Event(), [0]

        def look(path, pause):
            while not done.wait(pause):
                daemon.get(path)
                looks[0] += 1
        viewers = [threading.Thread(target=look, args=("/status", 0.5)) for _ in range(4)] + [threading.Thread(target=look, args=("/metrics", 1))]
        before, events = self.times(daemon), daemon.status()["events"]["admitted"]
        for v in viewers:
            v.start()
        time.sleep(SECONDS)
        done.set()
        for v in viewers:
            v.join()
        after, events = self.times(daemon), daemon.status()["events"]["admitted"] - events
        load.kill()
        spent = {t: (name, seconds - before.get(t, (name, 0))[1]) for t, (name, seconds) in after.items()}
        total = sum(seconds for _, seconds in spent.values())
        main = str(daemon.pid)
        monitoring = sum(s for t, (name, s) in spent.items() if t == main or name == "http")
        # Monitoring goes by the clock. Where other programs leave a loaded daemon less than one core, that is no cost of monitoring.
        of = max(total, SECONDS)
        print(f"monitoring: {100 * monitoring / of:.2f} %, {1000 * monitoring:.0f} ms and {total:.1f} s of processor in {SECONDS} s, {events / SECONDS:.0f} events/s, {looks[0]} looks;"
              f" {sorted(((n, round(s, 2)) for n, s in spent.values()), key=lambda x: -x[1])[:8]}", flush=True)
        self.assertLess(monitoring / of, MOST_SHARE)

    def test_a_hundred_viewers_share_each_snapshot(self):
        daemon = self.start_daemon()
        viewers = [http.client.HTTPConnection(harness.HOST, self.ports.monitor, timeout=harness.PATIENCE) for _ in range(100)]
        before, longest, seen = self.times(daemon), 0, []
        for _ in range(10):
            begun = time.monotonic()
            for v in viewers:
                v.request("GET", "/status")
            said = [json.loads(v.getresponse().read())["uptime"] for v in viewers]
            took = time.monotonic() - begun
            longest = max(longest, took)
            seen += said
            self.assertLessEqual(len(set(said)), 2 + 2 * took, "a snapshot is made twice a second, not for each viewer")
            time.sleep(max(0, begun + 0.5 - time.monotonic()))
        for v in viewers:
            v.close()
        spent = sum(s - before.get(t, (name, 0))[1] for t, (name, s) in self.times(daemon).items() if name == "http")
        print(f"100 viewers: {len(seen)} answers of {len(set(seen))} snapshots, {spent:.2f} s of the http thread; all within {1000 * longest:.0f} ms",
              flush=True)

    def test_a_bad_crate_is_named_soon(self):
        self.start_receiver()
        daemon, maker = self.start_daemon(), level2.EventMaker(self.crates, 1)
        sender = self.udp_sender(daemon)
        for number in range(1, 101):
            sender.event(1, number, maker.fragments(1, number))
        daemon.wait_for_stored(100)
        begun = time.monotonic()
        named = None
        for number in range(101, 1001):
            sender.event(1, number, maker.fragments(1, number), without=(BAD,))
            time.sleep(0.01)
            if number % 5 == 0 and daemon.status()["crates"][BAD]["fault"]:
                named = time.monotonic() - begun
                break
        self.assertIsNotNone(named, "it is not named")
        print(f"a bad crate is named {named:.2f} s after its first missing fragment, at 100 events/s", flush=True)
        self.assertLess(named, SOON)


if __name__ == "__main__":
    harness.main()
