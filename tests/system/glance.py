#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a glance costs: the daemon's time for its page and metrics while data flow and many look. By hand, the figures:
  KOTO_L3_BIN=build/bin python3 -B tests/system/glance.py"""
import pathlib
import threading
import time

import harness

SECONDS = 5
MOST_SHARE = 0.05 if harness.SANITIZED else 0.01  # of the daemon's processor time under load


class Glance(harness.SystemTest):
    def times(self, daemon):
        """{thread: (its name, seconds of processor)}"""
        found = {}
        for task in pathlib.Path(f"/proc/{daemon.pid}/task").iterdir():
            nanoseconds = int((task / "schedstat").read_text().split()[0])
            found[task.name] = ((task / "comm").read_text().strip(), nanoseconds / 1e9)
        return found

    def test_looks_cost_little(self):
        self.start_receiver()
        daemon = self.start_daemon()
        file = self.write_events({key: f for spill in range(2, 12) for key, f in self.make_events(100, spill).items()})
        load = self.start_replay(file, "--loop", 100_000, rate="unlimited")
        daemon.wait_for(lambda s: s["events"]["admitted"] > 1000, "load")
        done, looks = threading.Event(), [0]

        def look(path, pause):
            while not done.is_set():
                daemon.get(path, raw=True)
                looks[0] += 1
                done.wait(pause)
        page = (("/status", 0.5), ("/history", 5), ("/histograms/short", 5), ("/events", 2), ("/event/0", 6))  # what it asks for, and how often
        viewers = [threading.Thread(target=look, args=asked) for asked in page * 4 + (("/metrics", 1),)]
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
        monitoring = sum(s for t, (name, s) in spent.items() if t == str(daemon.pid) or name == "http")
        # Monitoring goes by the clock. Where other programs leave a loaded daemon less than one core, that is no cost of monitoring.
        of = max(total, SECONDS)
        print(f"monitoring: {100 * monitoring / of:.2f} %, {1000 * monitoring:.0f} ms and {total:.1f} s of processor in {SECONDS} s,"
              f" {events / SECONDS:.0f} events/s, {looks[0]} looks", flush=True)
        self.assertLess(monitoring / of, MOST_SHARE)


if __name__ == "__main__":
    harness.main()
