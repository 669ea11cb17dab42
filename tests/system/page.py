#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The shifter's page in a browser: what it says in each state, that it can be read by eyes, keys and screen readers, and that it asks
nobody but its daemon."""
import json
import re

import harness
import level2
import selection_stage
from browser import PHONE, InABrowser

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
        config = self.write_config(run={"control": str(self.control), "ledger": f"{self.folder}/ledgers/"})
        daemon = self.keep(harness.Daemon(config, self.ports, self.folder))
        daemon.wait_to_say("ready for runs")
        return daemon

    def test_a_run_is_green_counts_and_lives_on_over_the_daemons_restart(self):
        self.start_receiver()
        daemon = self.start_daemon()
        daemon.wait_for(lambda s: s["receiver"]["connected"] and not s["state"]["degraded"], "a receiver")
        self.open()
        self.wait_for_text("mode", "node 3 · receiving · run 7")
        self.assertEqual(self.browser.run("return document.title"), "node 3: receiving – koto-l3d")
        self.assertIn("no event yet", self.text("when"))
        sender = self.udp_sender(daemon)
        for spill, events in ((1, 30), (2, 4)):
            self.send_events(sender, self.make_events(events, spill))
            self.wait_for_text("numbers", f"\n{events} in this spill\n")
            sender.end(spill, events)
            daemon.wait_for(lambda s, n=spill: len(s["latest_spills"]) == n and s["this_spill"]["ended"], f"the end of spill {spill}")
        self.wait_for_text("when", "ago")
        self.wait_for_text("numbers", "\n4 in the last spill\n34 in the run\nstored\n")
        self.wait_for_text("numbers", "\n4 in the last spill\n34 in the run\nrejected\n")
        self.assertIn("lost\n0\nin the last spill\nnone in the run", self.text("numbers"))
        self.assertIn("refused\n0\nof all datagrams", self.text("numbers"))
        self.wait_for_text("spills-text", "2 spills, none of them with events that are incomplete or missing")
        self.assertEqual(self.bars(), [["stored"], ["stored"]])
        self.assertEqual(self.way(), {name: "good" for name in ("input", "building", "selection", "output", "receiver", "disk")})
        self.wait_for_text("rates", "events kept and not shed")
        self.assertTrue(self.browser.run("return document.getElementById('problem').hidden"))
        self.assert_readable("quiet")
        asked = self.browser.run("return performance.getEntries().filter(e => e.name.startsWith('http')).map(e => e.name)")
        self.assertTrue(asked and all(name.startswith(self.here) for name in asked), asked)
        self.assertLess(len(daemon.get("/")[1]), MOST_BYTES)
        paint = self.browser.run("return performance.getEntriesByName('first-contentful-paint')[0].startTime")
        print(f"first paint after {paint:.0f} ms", flush=True)  # docs/performance.md has the figures of a quiet machine
        # A browser's clock may be wrong.
        self.browser.run("window.Real = Date; window.Date = class extends Real { constructor(...of) { if (of.length) super(...of); else super(0); } }")
        self.wait_for_text("changes", "-")  # no longer of today: with the date
        self.assertRegex(self.text("changes"), r"(?m)^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \S")
        self.assertRegex(self.text("when"), r"last event \d+ s ago")
        self.browser.run("window.Date = Real")
        status = daemon.status()
        status["latest_spills"] = [{"spill": 1, "admitted": 90, "incomplete": 10, "expected": 100, "stored": 20, "rejected": 60, "shed": 10}]
        show = f"showSpills({json.dumps(status)});"
        self.assertEqual(self.bars(show), [["stored", "rejected", "shed", "lost"]])
        self.assertIn("1 of them with events that are incomplete or missing, 1 with events that were shed",
                      self.browser.run(show + "return document.getElementById('spills-text').textContent"))
        self.the_first_trouble_is_the_headline(status)
        # A spill ended late: what was stored of the next one meanwhile was counted for it.
        status["latest_spills"] = [{"spill": n, "admitted": 40, "incomplete": 0, "expected": 40, "stored": stored, "rejected": 0, "shed": 0} for n, stored in ((1, 60), (2, 20))]
        self.assertEqual(self.bars(f"showSpills({json.dumps(status)});"), [["stored"], ["stored"]])
        # A run that ends is no fault.
        status = daemon.status()
        status["state"] |= {"now": "draining", "ready": False, "degraded": [], "level": "good"}
        status["run_state"] = "draining"
        seen = self.browser.run(f"showState({json.dumps(status)}); return [document.getElementById('state').className, document.getElementById('mode').innerText]")
        self.assertEqual(seen[0], "idle")
        self.assertIn("run 7 ends", seen[1])
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
        # A daemon of another build has another page: that is fetched.
        self.browser.run("first.commit = 'another'; window.old = true")
        harness.wait_until(lambda: not self.browser.run("return window.old ?? false"), "the page to be loaded again")
        self.wait_for_text("mode", "node 3 · receiving")

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
        # The next spill has begun, and has lost nothing yet.
        status |= {"troubles": [told[0] | {"losing": "now"}], "this_spill": {"ended": False, "admitted": 5, "incomplete": 0, "stored": 0, "rejected": 0, "shed": 0}}
        self.assertIn("lost\n20\n20 % of the last spill, 10 shed\n", self.browser.run(f"showNumbers({json.dumps(status)}); return document.getElementById('numbers').innerText"))

    def test_without_a_run_it_says_so_also_in_a_small_window_with_large_text_and_long_words(self):
        """320 px is a page of 1280 px at a zoom of 400 %, which WCAG 2.1 asks for; text alone may be twice as large."""
        self.start_receiver()
        daemon, comment = self.start_controlled(), "W" * 1000
        self.open(size=(320, 640))
        self.wait_for_text("mode", "no run")
        self.assertEqual(self.state(), "idle")
        self.wait_for_text("problem", "Begin a run with koto-l3 run start")
        self.assertIn("datagrams that arrive\n0 /s\nnothing comes", self.text("numbers"))
        self.assert_readable("idle")
        self.assertEqual([daemon.get(path)[:2] for path in ("/detector", "/events", "/event/0")], [(200, "null")] * 3)
        self.assertEqual(self.run_tool("run", "start", "--socket", self.control, "--number", "4294967294", "--comment", comment, "--wait")[0], 0)
        self.wait_for_text("mode", "run 4294967294")
        self.wait_for_text("comment", comment)
        sender = self.udp_sender(daemon)
        self.send_events(sender, self.make_events(30))
        daemon.wait_for_stored(30)
        self.assert_readable("320")
        self.browser.run("document.documentElement.style.fontSize = '200%'")
        self.assert_readable("320-large-text")
        self.assertEqual(self.run_tool("run", "stop", "--socket", self.control)[0], 0)
        self.wait_for_text("mode", "no run")
        self.browser.run("return pollEvents()")
        self.send_events(sender, self.make_events(1, spill=2))  # without a run it is lost
        self.wait_for_text("numbers", "crates that send\n3 of 3\n0, 1, 2\n")
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

    def test_keys_and_screen_readers_reach_everything_and_without_javascript_it_says_so(self):
        self.start_daemon()
        self.open()
        self.wait_for_text("mode", "receiving")
        self.assertEqual(self.browser.run("return [document.getElementById('mode').role, document.documentElement.lang]"), ["status", "en"])
        reached = set()
        for _ in range(60):
            self.browser.press("\ue004")  # tabulator
            reached.add(self.browser.run("const e = document.activeElement; return e.tagName === 'A' ? e.innerText : e.title"))
        self.assertLessEqual({"metrics", "status", "health", "readiness"}, reached)
        self.assertTrue(any(name and name.startswith("tcp: ") for name in reached), reached)
        unnamed = self.browser.run(
            "return [...document.querySelectorAll('svg[role=img], ul, table th')].filter(e => !e.getAttribute('aria-labelledby') && !e.getAttribute('aria-label') && !e.textContent.trim()).length")
        self.assertEqual(unnamed, 0)
        self.assert_quiet()
        self.browser.devtools("Emulation.setScriptExecutionDisabled", value=True)
        self.browser.open(self.here)
        self.assertEqual(self.browser.in_session("GET", f"/element/{self.browser.find('#state')}/attribute/class"), "idle", "green would be a lie")
        self.assertIn("This page needs JavaScript", self.browser.in_session("GET", f"/element/{self.browser.find('body')}/text"))
        self.keep_screenshot("without-javascript")

    def test_the_runbook_is_a_page_with_an_anchor_for_each_trouble(self):
        self.start_daemon()
        self.open()
        self.browser.open(self.here + "runbook#spool_full")
        self.assertEqual(self.browser.run("return document.querySelector(':target h3').innerText"), "spool_full")
        box = self.browser.run("const box = document.querySelector(':target').getBoundingClientRect(); return [box.top, innerHeight]")
        self.assertTrue(0 <= box[0] < box[1], box)
        source = (harness.HERE.parents[1] / "docs" / "runbook.md").read_text()
        self.assertEqual(self.browser.run("return [...document.querySelectorAll('h3')].map(e => e.innerText)"), re.findall(r"(?m)^### (.*)", source))
        left = self.browser.run("return document.querySelector('main').innerText")
        for mark in ("### ", "](", "| ---"):
            self.assertNotIn(mark, left)
        self.browser.look(PHONE, dark=True)
        self.assert_readable("runbook-dark-phone")
        self.assert_quiet()


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

    def test_the_pages_have_what_was_sent_and_a_click_shows_a_waveform(self):
        file = self.simulate(40, spills=1)
        self.daemon = self.run_daemon(40, file=file)
        self.detector = json.loads(self.daemon.get("/detector")[1])
        self.crystals = [(x + i * size, y, size, input + i) for x, y, size, input, n in self.detector["crystals"] for i in range(n)]
        self.assertEqual(len(self.crystals), 2716)
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
        self.browser.open("about:blank")
        self.finish(self.daemon)
        self.file_shows_it(file)

    def it_has_what_was_sent(self):
        addresses = [f"{board}/{c}" for board in self.detector["boards"] for c in range(16)]
        self.assertEqual({a: samples_of(w) for a, w in zip(addresses, self.shown["waveforms"]) if w}, self.samples)
        told = [len(self.daemon.get(page)[1]) for page in ("/", "/detector", "/event.js", "/event/0")]
        self.assertLess(sum(told), MOST_BYTES, told)
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
        rare = listed[-1]["lines"][0]
        self.browser.run(f"const line = document.getElementById('event-line'); line.value = '{rare}'; line.onchange()")
        self.wait_inside("all('.title')[0].innerText", rare.replace("_", " "))
        self.browser.run("const line = document.getElementById('event-line'); line.value = ''; line.onchange()")
        self.wait_inside("all('.title')[0].innerText", f"event {self.shown['event']} ")
        self.a_choice_draws_a_waveform()
        self.assertIn("frozen", self.text("event-text"))
        self.assert_quiet()

    def a_choice_draws_a_waveform(self):
        """By a button, by a click into the middle of a crystal, and by arrow keys."""
        self.browser.run(self.INSIDE + "all('.pulses button')[1].click()")
        samples = self.samples[self.inside("all('.wave h3')[0].innerText").split(", ")[-1]]
        self.assertIn(f"{len(samples)} samples of 8 ns, {min(samples)} to {max(samples)} counts", self.inside("all('.told')[0].innerText"))
        self.assertRegex(self.inside("all('.told')[0].innerText"), r"Pulse of [\d.]+ MeV( \(in the beam: photoelectrons\))?: pedestal \d+\.\d, \d+ counts high, half height at [\d.]+ ns, [+−][\d.]+ ns from the trigger")
        self.assertEqual(self.inside("all('.wave polyline')[0].points.length"), len(samples))
        x, y, size, _ = self.crystals[100]
        self.browser.run(self.INSIDE + f"""const svg = all('.face svg')[0], box = svg.getBoundingClientRect(), half = svg.viewBox.baseVal.width / 2;
            svg.dispatchEvent(new MouseEvent('click', {{bubbles: true, clientX: box.left + ({x} + half) / 2 / half * box.width, clientY: box.top + (half - {y}) / 2 / half * box.height}}))""")
        self.assertIn("crystal 100,", self.inside("all('.wave h3')[0].innerText"))
        self.browser.run(self.INSIDE + "all('.face svg')[0].focus()")
        for key, (right, up) in (("\ue014", (1, 0)), ("\ue013", (0, 1)), ("\ue012", (-1, 0)), ("\ue015", (0, -1))):
            was = self.inside("all('.wave h3')[0].innerText")
            self.browser.press(key)
            harness.wait_until(lambda: self.inside("all('.wave h3')[0].innerText") != was, "another waveform")
            there = self.crystals[int(self.inside("all('.wave h3')[0].innerText").split(",")[0].split()[1])]
            self.assertLess(abs((there[0] - x) * up + (there[1] - y) * right), size, "beside its row")
            self.assertGreater((there[0] - x) * right + (there[1] - y) * up, 0, "not ahead")
            x, y = there[:2]

    def file_shows_it(self, sent):
        """One file without a network; also of level-2 data, which nobody has judged, and of events that lack what others have."""
        drawn = self.folder / "event.html"
        self.assertEqual(self.run_tool("inspect", self.store, "--event", self.key, "--html", drawn)[0], 0)
        self.assertLess(drawn.stat().st_size, MOST_BYTES)
        self.browser.open(f"file://{drawn}")
        self.assertIn(f"Run {selection_stage.RUN}, spill {self.shown['spill']}, event {self.shown['event']} ", self.inside("all('.title')[0].innerText"))
        self.assertEqual(self.browser.run("return performance.getEntriesByType('resource').length"), 0)
        self.assertEqual(self.browser.run("return JSON.parse(document.getElementById('data').textContent)"), {**self.shown, "detector": self.detector})
        self.a_choice_draws_a_waveform()
        for size, dark in ((PHONE, False), ((1600, 1000), True), (PHONE, True)):
            self.browser.look(size, dark)
            self.assert_readable(f"event-file-{size[0]}{'-dark' if dark else ''}")
        self.assertEqual(self.run_tool("inspect", sent, "--event", self.key, "--html", drawn)[0], 0)
        self.browser.open(f"file://{drawn}")
        self.assertIn("selection: none in level-2 data", self.inside("all('.title')[0].innerText"))
        self.assertIn("No line judged this event", self.inside("all('.lines')[0].innerText"))
        lacks = """import("data:text/javascript," + encodeURIComponent([...document.scripts].at(-1).textContent.split("const data =")[0])).then(({showEvent}) => {
            const data = JSON.parse(document.getElementById("data").textContent); showEvent(document.getElementById("event"), {...data, %s}); return true; })"""
        for less, said in (("waveforms: [], pulses: [], time: null, payload: 'summary'", "payload: summary"), ("undecodable: true, waveforms: data.waveforms.map((w, i) => i < 16 ? null : w)", "could not be decoded"),
                           ("detector: {front: 0, crystals: [], boards: [], counters: []}, waveforms: [], pulses: []", "Run")):
            self.assertTrue(self.browser.run("return " + lacks % less))
            self.assertIn(said, self.inside("all('.title')[0].innerText"))
            self.assert_readable("event-lacks")
        self.assert_quiet()


if __name__ == "__main__":
    harness.main()
