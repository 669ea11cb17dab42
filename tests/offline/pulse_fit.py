# SPDX-License-Identifier: Apache-2.0
"""Fits pulses by least squares: a template of the pulse's form over a straight baseline, at places between the samples."""
import math
from operator import mul

PHASES = 4


def form(t, width, skew):
    s = width + skew * t
    return math.exp(-t * t / (2 * s * s)) if s > 0 else 0.0


class Template:
    """Of a pulse form, for waveforms of one sampling. All places are tried in one window: others would hold more or less of the pulse."""

    def __init__(self, width, skew, step, before, after):
        self.before, self.after = before, after
        self.places = [j / PHASES for j in range(-PHASES, PHASES + 1)]  # samples since the highest one
        self.weights = []  # by place: (what a waveform is multiplied with for the height, what a height² is worth)
        n = before + after
        middle = (n - 1) / 2
        straight = sum((k - middle)**2 for k in range(n))
        for place in self.places:
            s = [form((k - before - place) * step, width, skew) for k in range(n)]
            mean = sum(s) / n
            slope = sum((k - middle) * v for k, v in enumerate(s)) / straight
            free = [v - mean - slope * (k - middle) for k, v in enumerate(s)]  # nothing of a constant nor of a slope
            norm = sum(map(mul, free, s))
            self.weights.append(([v / norm for v in free], norm))

    def fit(self, samples, peak):
        """(gain in χ², height, place of the peak in samples) of the best pulse near sample `peak`, or None."""
        if peak < self.before or peak + self.after > len(samples):
            return None
        window = samples[peak - self.before:peak + self.after]
        heights = [sum(map(mul, weights, window)) for weights, _ in self.weights]
        gains = [h * abs(h) * norm for h, (_, norm) in zip(heights, self.weights)]
        best = max(range(len(gains)), key=gains.__getitem__)
        shift = 0.0
        if 0 < best < len(gains) - 1:
            curve = gains[best - 1] - 2 * gains[best] + gains[best + 1]
            shift = 0.5 * (gains[best - 1] - gains[best + 1]) / curve if curve < 0 else 0.0
        return gains[best], heights[best], peak + self.places[best] + shift / PHASES


SLOW = Template(27.8, 0.072, 8, 10, 15)
FAST = [Template(width, 0.0, 2, 18, 18) for width in (4.2, 8.5, 12.7)]
