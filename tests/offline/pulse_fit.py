# SPDX-License-Identifier: Apache-2.0
"""Fits pulses by least squares: a template of the pulse's form over a straight baseline, at places between the samples. Waveforms are the columns
of an array, so that all pulses of an event are fitted at once."""
import math

import numpy as np

PHASES = 4


def form(t, width, skew):
    s = width + skew * t
    return math.exp(-t * t / (2 * s * s)) if s > 0 else 0.0


class Template:
    """Of a pulse form, for waveforms of one sampling. All places are tried in one window: others would hold more or less of the pulse."""

    def __init__(self, width, skew, step, before, after):
        self.places = np.arange(-PHASES, PHASES + 1) / PHASES  # samples since the highest one
        self.window = np.arange(-before, after)
        n = before + after
        lever = np.arange(n) - (n - 1) / 2
        weights, norms = [], []  # by place: what a waveform is multiplied with for the height, what a height² is worth
        for place in self.places:
            s = np.array([form((k - before - place) * step, width, skew) for k in range(n)])
            free = s - s.mean() - (lever @ s) / (lever @ lever) * lever  # nothing of a constant nor of a slope
            norm = free @ s
            weights.append(free / norm)
            norms.append(norm)
        self.weights, self.norms = np.array(weights).T, np.array(norms)

    def fit(self, waveforms, columns, peaks):
        """(gain in χ², height, place of the peak in samples) of the best pulse near sample `peaks[i]` of column `columns[i]`, for each i. The
        window around the sample must lie in the waveform."""
        heights = waveforms[peaks[:, None] + self.window, columns[:, None]] @ self.weights
        gains = heights * abs(heights) * self.norms
        best, each = gains.argmax(axis=1), np.arange(len(peaks))
        inner = np.clip(best, 1, len(self.places) - 2)
        before, here, after = (gains[each, inner + k] for k in (-1, 0, 1))
        curve = before - 2 * here + after
        bent = (inner == best) & (curve < 0)
        shift = np.where(bent, 0.5 * (before - after) / np.where(bent, curve, 1.0), 0.0)
        return gains[each, best], heights[each, best], peaks + self.places[best] + shift / PHASES


SLOW = Template(27.8, 0.072, 8, 10, 15)
FAST = [Template(width, 0.0, 2, 18, 18) for width in (4.2, 8.5, 12.7)]
