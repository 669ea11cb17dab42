# SPDX-License-Identifier: Apache-2.0
"""An offline analysis of one event of level-2 data, in floating point and on its own: waveforms, pulses, clusters, the neutral pion, vetoes with the
offline thresholds and windows, and whether it is K_L → π⁰νν̄. It shares no code with the selection that it judges."""
import math
from array import array

import pulse_fit

BOARD_WORDS = 6 + 1024 + 6
PION = 134.9768
CRYSTAL_THRESHOLD = 3.0  # MeV
CRYSTAL_WINDOW = 25.0  # ns around the event's time
PHOTON_WINDOW = 15.0
EXTRA_PHOTON = 20.0  # MeV: a third cluster from here on is a photon too many
SEEN_LATE = 50.0  # ns around the trigger's time within which the event may be


def waveforms(fragment, first_board, slow):
    """(number of the input, its samples), for each channel of a crate."""
    channels = 16 if slow else 4
    boards = (len(fragment) - 8) // (2 * BOARD_WORDS)
    for b in range(boards):
        at = 4 + 2 * BOARD_WORDS * b + 12
        words = array("H")
        words.frombytes(fragment[at:at + 2048])
        words.byteswap()
        for c in range(channels):
            yield 16 * (first_board + b) + c, words[c::channels]


class Reconstruction:
    def __init__(self, geometry):
        self.geometry = geometry

    def pulses(self, fragments):
        """Of crystals: (input, energy, time); of vetoes the same, all pulses at 500 MHz."""
        crystals, others = [], []
        for crate, fragment in fragments.items():
            slow = crate < 15
            for number, samples in waveforms(fragment, self.geometry.first_board[crate], slow):
                what = self.geometry.inputs.get(number)
                if what is None:
                    continue
                threshold = CRYSTAL_THRESHOLD if what.crystal else what.veto.threshold / what.veto.ends
                cut = max(0.75 * threshold * what.counts, 4.0)
                found = self.slow_pulse(samples, cut) if slow else self.fast_pulses(samples, cut)
                for height, place in found:
                    step = 8 if slow else 2
                    time = place * step - self.geometry.signals["pulse_time"] - what.offset
                    (crystals if what.crystal else others).append((what, height / what.counts, time))
        return crystals, others

    @staticmethod
    def slow_pulse(samples, cut):
        middle = samples[11:47]
        top = max(middle)
        if top - sum(samples) / 64 < 0.5 * cut or top - min(samples) < cut:
            return []
        fitted = pulse_fit.SLOW.fit(samples, 11 + middle.index(top))
        return [fitted[1:]] if fitted and fitted[1] >= cut else []

    @staticmethod
    def fast_pulses(samples, cut):
        found, k = [], 20
        level = sorted(samples)[len(samples) // 2]
        while k < 236:
            here = samples[k]
            if here - level < cut or here < max(samples[k - 3:k + 4]):
                k += 1
                continue
            fits = [f for f in (t.fit(samples, k) for t in pulse_fit.FAST) if f]
            best = max(fits) if fits else None
            if best and best[1] >= cut:
                found.append(best[1:])
            k += 4
        return found

    @staticmethod
    def clusters(crystals):
        """(energy, time, x, y) of crystals that touch, singles left out."""
        left, found = list(crystals), []
        while left:
            members, grown = [left.pop()], 0
            while grown < len(members):
                x, y, _ = members[grown][0].crystal
                grown += 1
                near = [c for c in left if abs(c[0].crystal[0] - x) <= 70.5 and abs(c[0].crystal[1] - y) <= 70.5]
                left = [c for c in left if c not in near]
                members += near
            if len(members) < 2:
                continue
            energy = sum(c[1] for c in members)
            weights = [max(0.0, 4.0 + math.log(c[1] / energy)) for c in members]  # the wide tail must not pull
            total = sum(weights)
            x, y = (sum(w * c[0].crystal[i] for w, c in zip(weights, members)) / total for i in (0, 1))
            time = sum(c[1] * c[2] for c in members) / energy
            found.append((energy + 6.0 + 0.01 * energy if energy > 20 else energy, time, x, y))
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
