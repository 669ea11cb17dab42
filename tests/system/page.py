#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The pages of daemon and receiver in a browser: what they say in each state, that they can be read, and that they ask nobody else."""
import json
import re

import harness
import level2
import selection_stage
from browser import DESKTOP, PHONE, InABrowser

MOST_BYTES = 400_000


class Page(InABrowser):
    number = 0  # of the last event of spill 1

    # The page asks the daemon twice a second. What a test shows instead is read in the same script: `show`.

    def way(self, show=""):
        """{station: its state}"""
        return dict(self.browser.run(show + "return [...document.querySelectorAll('#way li')].map(e => [e.querySelector('h3').innerText, e.className])"))

    def bars(self, show=""):
        """The kinds of events of each spill."""
        return self.browser.run(show + "return [...document.querySelectorAll('#spills g')].map(g => [...g.querySelectorAll('rect')].map(r => r.getAttribute('class')))")

    def start_controlled(self):
        self.control = self.folder / "control.sock"
        return self.start_daemon(ready="ready for runs", run={"control": str(self.control), "ledger": f"{self.folder}/ledgers/"})

    def test_a_run_is_green_counts_and_lives_on_over_the_daemons_restart(self):
        self.start_receiver()
        daemon = self.start_daemon()
        daemon.wait_for(lambda s: s["receiver"]["connected"] and not s["state"]["degraded"], "a receiver")
        self.open()
        self.wait_for_text("mode", "node 3 · receiving · run 7")
        self.assertIn("no event yet", self.text("when"))
        sender = self.udp_sender(daemon)
        for spill, events in ((1, 30), (2, 4)):
            self.send_events(sender, self.make_events(events, spill))
            self.wait_for_text("numbers", f"\n{events} in this spill\n")
            sender.end(spill, events)
            daemon.wait_for(lambda s, n=spill: len(s["latest_spills"]) == n and s["this_spill"]["ended"], f"the end of spill {spill}")
        self.wait_for_text("when", "ago")
        self.wait_for_text("numbers", "\n4 in the last spill\n34 in the run\nstored\n")
        self.assertIn("lost\n0\nin the last spill\nnone in the run", self.text("numbers"))
        self.wait_for_text("spills-text", "2 spills, none of them with events that are incomplete or missing")
        self.assertEqual(self.bars(), [["stored"], ["stored"]])
        self.assertEqual(self.way(), {name: "good" for name in ("input", "building", "selection", "output", "receiver", "disk")})
        self.assertTrue(self.browser.run("return document.getElementById('problem').hidden"))
        self.assert_readable("quiet")
        asked = self.browser.run("return performance.getEntries().filter(e => e.name.startsWith('http')).map(e => e.name)")
        self.assertTrue(asked and all(name.startswith(self.here) for name in asked), asked)
        self.assertLess(len(daemon.get("/")[1]), MOST_BYTES)
        paint = self.browser.run("return performance.getEntriesByName('first-contentful-paint')[0].startTime")
        print(f"first paint after {paint:.0f} ms", flush=True)  # docs/performance.md has the figures of a quiet machine
        status = daemon.status()
        status["latest_spills"] = [{"spill": 1, "admitted": 90, "incomplete": 10, "expected": 100, "stored": 20, "rejected": 60, "shed": 10}]
        show = f"showSpills({json.dumps(status)});"
        self.assertEqual(self.bars(show), [["stored", "rejected", "shed", "lost"]])
        self.assertIn("1 of them with events that are incomplete or missing, 1 with events that were shed",
                      self.browser.run(show + "return document.getElementById('spills-text').textContent"))
        self.the_first_trouble_is_the_headline(status)
        self.assert_quiet()

        daemon.kill()
        self.wait_for_text("mode", "no answer from the daemon of node 3")
        self.assertEqual(self.browser.run("return [document.body.className, document.title]"), ["old", "node 3: no answer – koto-l3d"])
        daemon = self.start_daemon()
        self.wait_for_text("mode", "node 3 · receiving")
        self.wait_for_text("when", "no event yet")
        self.assertEqual(self.browser.run("return document.body.className"), "")
        self.send_events(self.udp_sender(daemon), self.make_events(20))
        self.wait_for_text("numbers", "\n20 in this spill\n")

    def the_first_trouble_is_the_headline(self, status):
        told = [{"name": "no_frame", "severity": "critical", "since": 1.7e9, "who": "the shift", "text": "577 of 1000 events of this spill are lost", "action": "look at `top`"},
                {"name": "spool_fills_up", "severity": "warning", "since": 1.7e9, "who": "the shift", "text": "the disk is full in 3 min", "action": ""},
                {"name": "hot_inputs", "severity": "note", "since": 1.7e9, "who": "the detector's expert", "text": "one input is hot", "action": ""}]
        status = {**status, "troubles": told, "problem": {"name": "no_frame", "text": "…"}, "state": {**status["state"], "level": "critical", "degraded": ["no_frame", "spool_fills_up"]}}
        show = f"const s = {json.dumps(status)}; showState(s); showWay(s);"
        seen = self.browser.run(show + "return [document.getElementById('problem').innerText, document.getElementById('state').className,"
                                " [...document.querySelectorAll('#others li')].map(e => e.className + ': ' + e.innerText), document.title]")
        self.assertRegex(seen[0], r"(?i)^no frame\n577 of 1000 events of this spill are lost\.\nLook at top\.\nsince \d{4}-.* · the shift acts · More in the runbook$")
        self.assertEqual(seen[1], "off")
        self.assertRegex("\n".join(seen[2]), r"^warning: spool fills up The disk is full in 3 min\. since .* · the shift acts · runbook\nnote: hot inputs One input is hot\. ")
        self.assertEqual(seen[3], "node 3: receiving, no frame – koto-l3d")
        self.assertEqual([self.way(show)[station] for station in ("input", "selection", "disk")], ["good", "critical", "warning"])

    def test_without_a_run_it_says_so_also_in_a_small_window_with_long_words(self):
        """320 px is a page of 1280 px at a zoom of 400 %, which WCAG 2.1 asks for."""
        self.start_receiver()
        daemon, comment = self.start_controlled(), "W" * 1000
        self.open(size=(320, 640))
        self.wait_for_text("mode", "no run")
        self.assertEqual(self.state(), "idle")
        self.wait_for_text("problem", "Begin a run with koto-l3 run start")
        self.assert_readable("idle")
        self.tool("run", "start", "--socket", self.control, "--number", "4294967294", "--comment", comment, "--wait")
        self.wait_for_text("mode", "run 4294967294")
        self.wait_for_text("comment", comment)
        sender = self.udp_sender(daemon)
        self.send_events(sender, self.make_events(30))
        daemon.wait_for_stored(30)
        self.assert_readable("320")
        self.tool("run", "stop", "--socket", self.control)
        self.wait_for_text("mode", "no run")
        self.send_events(sender, self.make_events(1, spill=2))  # without a run it is lost
        self.wait_for_text("numbers", "dropped: no run is active")
        self.assert_readable("no-run")
        self.assert_quiet()

    def test_troubles_are_said_with_what_to_do(self):
        daemon, maker = self.start_daemon(), level2.EventMaker(self.crates, 5)  # no receiver
        self.open(size=PHONE, dark=True)
        self.wait_for_text("mode", "receiving, degraded")
        self.wait_for_text("problem", "Start koto-l3 receive there")
        self.assertIn("receiver absent", self.text("problem"))
        self.assertIn("receiver absent", self.text("changes"))
        self.assert_readable("absent-dark-phone")
        sender = self.udp_sender(daemon)

        def named():
            for _ in range(10):
                self.number += 1
                sender.event(1, self.number, maker.fragments(1, self.number), without=(1,) if self.number > 40 else ())
            return "crate 1 is silent" in self.text("problem") and "silent" in self.text("crates")
        harness.wait_until(named, lambda: f"a silent crate in {self.text('problem')}, {self.text('others')}, {self.text('crates')}")
        cells = self.browser.run("return [...document.querySelectorAll('#crates li')].map(e => [e.innerText.split('\\n')[0], e.className])")
        self.assertEqual(cells, [["0", ""], ["1", "bad"], ["2", ""]])
        self.assertEqual(self.state(), "off")
        self.assertIn("receiving, losing events", self.text("mode"))
        self.assertIn("receiver absent", self.text("others"))
        self.assertEqual(self.way()["receiver"], "warning")
        self.assertEqual(self.way()["building"], "critical")
        self.assert_readable("bad-crate")
        self.assert_quiet()
        daemon.kill()
        self.wait_for_text("mode", "no answer from the daemon")
        self.assertEqual(self.state(), "lost")
        self.assertIn("systemctl status koto-l3d", self.text("problem"))
        self.assert_readable("lost-dark-phone")

    def test_without_javascript_it_says_so(self):
        self.start_daemon()
        self.open()
        self.browser.devtools("Emulation.setScriptExecutionDisabled", value=True)
        self.browser.open(self.here)
        self.assertEqual(self.browser.in_session("GET", f"/element/{self.browser.find('#state')}/attribute/class"), "idle", "green would be a lie")
        self.assertIn("This page needs JavaScript", self.browser.in_session("GET", f"/element/{self.browser.find('body')}/text"))
        self.keep_screenshot("without-javascript")


class Receiver(InABrowser):
    def wait_to_see(self, part):
        def seen():
            return self.browser.run("return document.querySelector('main').innerText")
        harness.wait_until(lambda: part in seen(), lambda: f"'{part}' on the page, which says: {seen()}")

    def test_it_lives_on_over_deaths_of_daemon_and_receiver(self):
        """In light, and in the dark on a phone."""
        self.monitor = harness.Ports().monitor

        def watched():
            return self.start_receiver("--monitor", f"{harness.HOST}:{self.monitor}")
        receiver, daemon = watched(), self.start_daemon()

        def assert_readable(name):
            for size, dark in ((DESKTOP, False), (PHONE, True)):
                self.browser.look(size, dark)
                self.assert_readable(f"receiver{name}{'-dark-phone' if dark else ''}")
        self.send_events(self.udp_sender(daemon), self.make_events(40))
        self.open(port=self.monitor)
        self.wait_to_see("event 40 of spill 1")  # sending, or idle on a busy machine
        assert_readable("")
        daemon.kill()
        self.wait_to_see("missing: node 3 of run 7 after event 40 of spill 1")
        assert_readable("-missing")
        self.assert_quiet()
        receiver.kill()
        self.wait_to_see("no answer from the receiver, last answer")
        assert_readable("-lost")
        watched()
        self.wait_to_see("not heard yet")
        self.assertEqual(self.browser.run("return document.querySelector('main').className"), "")


def samples_of(text):
    """Of a packed text, as selection/display/event.js describes it; written from that description."""
    digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    bits = "".join(f"{digits.index(c):06b}" for c in text)
    samples, at, lately = [int(bits[:14], 2)], 14, 32
    while "0" in bits[at:] or len(bits) - at > 24:
        k = next(k for k in range(20) if 20 << k >= 3 * lately)
        ones = min(24, bits.index("0", at) - at) if "0" in bits[at:] else 24
        rest, at = (15, at + 24) if ones == 24 else (k, at + ones + 1)
        u = int(bits[at:at + rest] or "0", 2) + (ones << k if ones < 24 else 0)
        at += rest
        lately += u - lately // 4
        samples.append(samples[-1] + (-(u + 1) // 2 if u % 2 else u // 2))
    return samples


class Event(InABrowser, selection_stage.Selecting):
    """The drawing of a kept event, on the page and in a file, and a waveform on click."""
    INSIDE = "const root = [...document.querySelectorAll('*')].find(e => e.shadowRoot).shadowRoot, all = s => [...root.querySelectorAll(s)];"

    def inside(self, script):
        return self.browser.run(self.INSIDE + "return " + script)

    def wait_inside(self, script, part):
        return harness.wait_until(lambda: part in self.inside(script), lambda: f"'{part}' in {self.inside(script)}")

    def start_receiver(self):
        return super().start_receiver("--monitor", f"{harness.HOST}:0")

    def test_the_pages_have_what_was_sent_and_a_click_shows_a_waveform(self):
        file = self.simulate(40, spills=1)
        self.daemon = self.run_daemon(40, file=file)
        self.detector = json.loads(self.daemon.get("/detector")[1])
        self.assertEqual(sum(n for *_, n in self.detector["crystals"]), 2716)
        listed, kept = json.loads(self.daemon.get("/events")[1]), {(e["spill"], e["event"]): e for e in self.select(file)["events"] if e["kept"]}
        self.assertTrue(1 < len(listed) <= 16, listed)
        for one in listed:
            self.assertEqual(one["lines"], kept[one["spill"], one["event"]]["kept_by"])
            event = json.loads(self.daemon.get(one["page"])[1])
            in_time, values = [energy for *_, energy, _, counts in event["pulses"] if counts], event["summary"]["quantities"]  # these are the trigger's
            self.assertEqual((len(in_time), sum(in_time)), (values["crystals"], values["calorimeter_energy"]))
        self.shown = json.loads(self.daemon.get(listed[0]["page"])[1])
        self.assertEqual((self.shown["spill"], self.shown["event"]), (listed[0]["spill"], listed[0]["event"]))
        self.key = f"{self.shown['spill']}/{self.shown['event']}"
        self.samples = dict(level2.waveforms(self.crates, self.events_in(file)[self.shown["spill"]][self.shown["event"] - 1]))
        self.it_has_what_was_sent()
        self.page_shows_it(listed)
        self.page_of_the_receiver_shows_one()
        self.browser.open("about:blank")
        self.finish(self.daemon)
        self.file_shows_it(file)

    def it_has_what_was_sent(self):
        addresses = [f"{board}/{c}" for board in self.detector["boards"] for c in range(16)]
        self.assertEqual({a: samples_of(w) for a, w in zip(addresses, self.shown["waveforms"]) if w}, self.samples)
        for input, pedestal, peak, edge, energy, time, counts in self.shown["pulses"]:
            samples = self.samples[addresses[input]]
            self.assertIn(peak, samples)
            self.assertLessEqual(min(samples) - 1, pedestal / 4)
            if edge is not None:
                before, after = samples[edge // 256:][:2]
                self.assertTrue(before <= pedestal / 4 + (peak - pedestal / 4) * .75 and before < after, (input, edge))

    def page_shows_it(self, listed):
        self.open(size=(1600, 1000))
        self.wait_for_text("event-text", "of")
        self.wait_inside("all('.title')[0].innerText", f"spill {self.shown['spill']}, event {self.shown['event']} kept by {listed[0]['lines'][0]}".replace("_", " "))
        self.assertIn("≥ 1000 MeV", self.inside("all('.face .ticks')[0].innerText"))
        self.assertEqual(self.inside("all('.lines tbody tr').length"), len(self.shown["summary"]["lines"]))
        refused = next(line for line in self.shown["summary"]["lines"] if line["why"])
        self.assertIn(refused["why"].replace("_", " "), self.inside("all('.lines')[0].innerText"))
        self.assert_readable("event")
        self.browser.run("document.getElementById('event-before').click()")
        self.wait_for_text("event-text", "1 event before the latest")
        self.wait_inside("all('.title')[0].innerText", f"event {listed[1]['event']} ")
        self.assertIn("frozen", self.text("event-text"))
        self.browser.run("document.getElementById('event-after').click()")
        self.wait_inside("all('.title')[0].innerText", f"event {self.shown['event']} ")
        self.a_choice_draws_a_waveform()
        self.assertIn("frozen", self.text("event-text"))
        self.assert_quiet()

    def page_of_the_receiver_shows_one(self):
        receiver = next(p for p in self.programs if "monitoring on" in p.said() and "storing in" in p.said())
        here = re.search(r"monitoring on (http://\S+)", receiver.said())[1]
        get = lambda path: json.loads(harness.http_get(harness.HOST, int(here.split(":")[-1].strip("/")), path)[1])
        listed = get("/events")
        one, node = get(listed[0]["page"]), listed[0]["node"]
        drawn = self.folder / "stored.html"
        self.tool("inspect", self.store, "--event", f"{one['spill']}/{one['event']}", "--html", drawn)
        self.assertEqual(json.loads(re.search(r'id="data">(.*?)</script>', drawn.read_text(), re.S)[1]), one)
        self.browser.open(here)
        harness.wait_until(lambda: self.browser.run("return !document.getElementById('event').hidden"), "an event on the receiver's page")
        self.wait_inside("all('.title')[0].innerText", f"spill {one['spill']}, event {one['event']} ")
        self.assert_readable("receiver-event")
        chosen = next(name for e in listed for name in e["lines"] if name not in listed[0]["lines"])
        other = next(e for e in listed if chosen in e["lines"])
        choose = "{ const s = document.querySelector('#event [name=%s]'); s.value = '%s'; s.dispatchEvent(new Event('change')); }"
        self.browser.run(choose % ("line", chosen) + choose % ("node", node))
        self.wait_inside("all('.title')[0].innerText", f"spill {other['spill']}, event {other['event']} ")
        self.browser.run(self.INSIDE + "all('.pulses button')[1].click()")
        self.assertEqual(self.browser.run("return document.querySelector('#event button').ariaPressed"), "true")
        self.assert_quiet()

    def a_choice_draws_a_waveform(self):
        self.browser.run(self.INSIDE + "all('.pulses button')[1].click()")
        samples = self.samples[self.inside("all('.wave h3')[0].innerText").split(", ")[-1]]
        self.assertIn(f"{len(samples)} samples of 8 ns, {min(samples)} to {max(samples)} counts", self.inside("all('.told')[0].innerText"))
        self.assertRegex(self.inside("all('.told')[0].innerText"), r"Pulse of [\d.]+ MeV( \(in the beam: photoelectrons\))?: pedestal \d+\.\d, \d+ counts high, half height at [\d.]+ ns, [+−][\d.]+ ns from the trigger")
        self.assertEqual(self.inside("all('.wave polyline')[0].points.length"), len(samples))

    def file_shows_it(self, sent):
        """One file without a network; also of level-2 data, which nobody has judged."""
        drawn = self.folder / "event.html"
        self.tool("inspect", self.store, "--event", self.key, "--html", drawn)
        self.assertLess(drawn.stat().st_size, MOST_BYTES)
        self.browser.open(f"file://{drawn}")
        self.assertIn(f"Run {selection_stage.RUN}, spill {self.shown['spill']}, event {self.shown['event']} ", self.inside("all('.title')[0].innerText"))
        self.assertEqual(self.browser.run("return performance.getEntriesByType('resource').length"), 0)
        self.assertEqual(self.browser.run("return JSON.parse(document.getElementById('data').textContent)"), {**self.shown, "detector": self.detector})
        self.a_choice_draws_a_waveform()
        self.browser.look(PHONE, dark=True)
        self.assert_readable("event-file-dark-phone")
        self.tool("inspect", sent, "--event", self.key, "--html", drawn)
        self.browser.open(f"file://{drawn}")
        self.assertIn("selection: none in level-2 data", self.inside("all('.title')[0].innerText"))
        self.assertIn("No line judged this event", self.inside("all('.lines')[0].innerText"))
        self.assert_quiet()


if __name__ == "__main__":
    harness.main()
