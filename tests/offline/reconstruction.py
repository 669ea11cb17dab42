# SPDX-License-Identifier: Apache-2.0
"""An offline analysis of one event of level-2 data, in floating point and on its own: waveforms, pulses, clusters, the neutral pion, vetoes with the
offline thresholds and windows, and whether it is K_L → π⁰νν̄. It shares no code with the selection that it judges."""
import math

import numpy as np

import pulse_fit

BOARD_WORDS = 6 + 1024 + 6
SAMPLE = 0x3fff  # the bits of a word that are the sample
PION = 134.9768
CRYSTAL_THRESHOLD = 3.0  # MeV
CRYSTAL_WINDOW = 25.0  # ns around the event's time
PHOTON_WINDOW = 15.0
EXTRA_PHOTON = 20.0  # MeV: a third cluster from here on is a photon too many
SEEN_LATE = 50.0  # ns around the trigger's time within which the event may be


def waveforms(fragments, first_board, slow):
    """(numbers of the inputs, their samples, a column for each) of the event's crates at 125 MHz, or at 500 MHz."""
    channels = 16 if slow else 4
    numbers, samples = [np.empty(0, int)], [np.empty((0, 1024 // channels, channels), ">u2")]
    for crate, fragment in fragments.items():
        if (crate < 15) != slow:
            continue
        boards = (len(fragment) - 8) // (2 * BOARD_WORDS)
        words = np.frombuffer(fragment, ">u2", boards * BOARD_WORDS, 4).reshape(boards, BOARD_WORDS)
        samples.append(words[:, 6:6 + 1024].reshape(boards, -1, channels))
        numbers.append((16 * (first_board[crate] + np.arange(boards))[:, None] + np.arange(channels)).ravel())
    columns = np.concatenate(samples).transpose(1, 0, 2)
    return np.concatenate(numbers), (columns.reshape(columns.shape[0], -1) & SAMPLE).astype(np.int16)


class Reconstruction:
    def __init__(self, geometry):
        self.geometry = geometry
        # By number of the input: the least height of a pulse; none where nothing hangs on it.
        self.cuts = np.full(16 * geometry.boards, np.inf)
        for number, what in geometry.inputs.items():
            threshold = CRYSTAL_THRESHOLD if what.crystal else what.veto.threshold / what.veto.ends
            self.cuts[number] = max(0.75 * threshold * what.counts, 4.0)

    def pulses(self, fragments):
        """Of crystals: (input, energy, time); of vetoes the same, all pulses at 500 MHz."""
        crystals, others = [], []
        for slow, pulses_in in ((True, self.slow_pulses), (False, self.fast_pulses)):
            numbers, samples = waveforms(fragments, self.geometry.first_board, slow)
            columns, heights, places = pulses_in(samples, self.cuts[numbers])
            for number, height, place in zip(numbers[columns].tolist(), heights.tolist(), places.tolist()):
                what = self.geometry.inputs[number]
                time = place * (8 if slow else 2) - self.geometry.signals["pulse_time"] - what.offset
                (crystals if what.crystal else others).append((what, height / what.counts, time))
        return crystals, others

    @staticmethod
    def slow_pulses(samples, cuts):
        """(column, height, place) of the highest pulse of each waveform that has one."""
        middle = samples[11:47]
        top = middle.max(axis=0)
        mean = samples.sum(axis=0, dtype=np.int32) / 64
        columns = np.flatnonzero((top - mean >= 0.5 * cuts) & (top - samples.min(axis=0) >= cuts))
        _, heights, places = pulse_fit.SLOW.fit(samples, columns, 11 + middle[:, columns].argmax(axis=0))
        good = heights >= cuts[columns]
        return columns[good], heights[good], places[good]

    @staticmethod
    def fast_pulses(samples, cuts):
        """The same of all pulses, four samples from each other or more; each has the length that fits best."""
        middle = len(samples) // 2
        level = np.partition(samples, middle, axis=0)[middle]
        highest = np.lib.stride_tricks.sliding_window_view(samples[17:239], 7, axis=0).max(axis=-1)
        columns, peaks, last = [], [], (-1, 0)
        for column, k in np.argwhere(((samples[20:236] - level >= cuts) & (samples[20:236] == highest)).T).tolist():
            if column == last[0] and k - last[1] < 4:
                continue
            last = column, k
            columns.append(column)
            peaks.append(20 + k)
        columns, peaks = np.array(columns, int), np.array(peaks, int)
        fits = np.array([template.fit(samples, columns, peaks) for template in pulse_fit.FAST])
        _, heights, places = fits[fits[:, 0].argmax(axis=0), :, np.arange(len(columns))].T
        good = heights >= cuts[columns]
        return columns[good], heights[good], places[good]

    @staticmethod
    def clusters(crystals):
        """(energy, time, x, y) of crystals that touch, singles left out."""
        x, y = (np.array([c[0].crystal[i] for c in crystals]) for i in (0, 1))
        touch = (abs(x[:, None] - x) <= 70.5) & (abs(y[:, None] - y) <= 70.5)
        left, found = np.ones(len(crystals), bool), []
        for first in range(len(crystals)):
            if not left[first]:
                continue
            inside = touch[first]
            while (grown := touch[inside].any(axis=0)).sum() > inside.sum():
                inside = grown
            left &= ~inside
            members = [crystals[i] for i in np.flatnonzero(inside)]
            if len(members) < 2:
                continue
            energy = sum(c[1] for c in members)
            weights = [max(0.0, 4.0 + math.log(c[1] / energy)) for c in members]  # the wide tail must not pull
            total = sum(weights)
            at_x, at_y = (sum(w * c[0].crystal[i] for w, c in zip(weights, members)) / total for i in (0, 1))
            time = sum(c[1] * c[2] for c in members) / energy
            found.append((energy + 6.0 + 0.01 * energy if energy > 20 else energy, time, at_x, at_y))
        return sorted(found, reverse=True)

    @staticmethod
    def event_time(crystals):
        """The energy-weighted median of the crystals' times."""
        near = sorted((time, energy) for _, energy, time in crystals if abs(time) < SEEN_LATE and energy > 10)
        half, total = sum(e for _, e in near) / 2, 0.0
        for time, energy in near:
            total += energy
            if total >= half:
                return time
        return None

    def vetoed(self, others, start):
        """The name of a counter that fired, or None."""
        ends = {}
        for what, energy, time in others:
            ends.setdefault((id(what.veto), what.module), []).append((what, energy, time))
        by_counter = {}
        for pulses in ends.values():
            veto, module = pulses[0][0].veto, pulses[0][0].module
            for energy, time in self.hits(veto, pulses):
                if energy >= veto.threshold and veto.window[0] <= time - start <= veto.window[1]:
                    by_counter.setdefault(veto.name, (veto, []))[1].append((module, time))
        for name, (veto, hits) in by_counter.items():
            if veto.neighbours == 1:
                return name
            for module, time in hits:
                beside = lambda m: any(h[0] == m and 0 <= h[1] - time <= veto.within for h in hits)
                if any(all(beside(m) or m == module for m in range(first, first + veto.neighbours))
                       for first in range(module - veto.neighbours + 1, module + 1)):
                    return name
        return None

    def hits(self, veto, pulses):
        if veto.ends == 1:
            return [(energy, time) for _, energy, time in pulses]
        ups = [p for p in pulses if p[0].end == 0]
        downs = [p for p in pulses if p[0].end == 1]
        speed, reach = self.geometry.signals["light_speed"], self.geometry.signals["attenuation_length"]
        pairs = []
        for _, up, up_time in ups:
            for _, down, down_time in downs:
                z = speed * (up_time - down_time) / 2
                if abs(z) > veto.length / 2 + 300 if veto.length else abs(up_time - down_time) > 15:
                    continue
                z = z if veto.length else 0.0
                pairs.append((up * math.exp(z / reach) + down * math.exp(-z / reach), (up_time + down_time) / 2))
        return pairs + [(energy, time) for _, energy, time in pulses]

    def judge(self, fragments):
        """Why the event is no signal; None if it is."""
        crystals, others = self.pulses(fragments)
        start = self.event_time([c for c in crystals if c[1] >= CRYSTAL_THRESHOLD])
        if start is None:
            return "no energy"
        seen = [c for c in crystals if c[1] >= CRYSTAL_THRESHOLD and abs(c[2] - start) <= CRYSTAL_WINDOW]
        photons = [c for c in self.clusters(seen) if c[0] >= EXTRA_PHOTON and abs(c[1] - start) <= PHOTON_WINDOW]
        if len(photons) != 2:
            return f"{len(photons)} photons"
        (e1, t1, x1, y1), (e2, t2, x2, y2) = photons
        if not (100 <= min(e1, e2) and max(e1, e2) <= 2000 and e1 + e2 > 650):
            return "energies"
        if min(max(abs(x1), abs(y1)), max(abs(x2), abs(y2))) <= 150 or max(math.hypot(x1, y1), math.hypot(x2, y2)) >= 850:
            return "place"
        if math.hypot(x1 - x2, y1 - y2) <= 300:
            return "distance"
        vertex = self.vertex(e1, e2, x1, y1, x2, y2)
        if vertex is None or not 3200 <= vertex[0] <= 5000:
            return "vertex"
        if not 130 <= vertex[1] <= 250:
            return "momentum"
        veto = self.vetoed(others, start)
        return f"veto {veto}" if veto else None

    def vertex(self, e1, e2, x1, y1, x2, y2):
        """(z, transverse momentum): the distance at which the two photons open the pion's angle, by bisection from far away."""
        cosine = 1 - PION**2 / (2 * e1 * e2)

        def angle_at(d):
            return (x1 * x2 + y1 * y2 + d * d) / math.sqrt((x1 * x1 + y1 * y1 + d * d) * (x2 * x2 + y2 * y2 + d * d))

        far, near = 20000.0, 200.0
        if not angle_at(near) < cosine < angle_at(far):
            return None
        for _ in range(50):
            middle = (far + near) / 2
            if angle_at(middle) > cosine:
                far = middle
            else:
                near = middle
        d = (far + near) / 2
        r1, r2 = math.sqrt(x1 * x1 + y1 * y1 + d * d), math.sqrt(x2 * x2 + y2 * y2 + d * d)
        return self.geometry.front - d, math.hypot(e1 * x1 / r1 + e2 * x2 / r2, e1 * y1 / r1 + e2 * y2 / r2)
