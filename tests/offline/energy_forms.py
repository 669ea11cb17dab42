#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What different sums over a waveform at 125 MHz make of a pulse, of noise, of slow baselines and of other pulses: the table of
docs/decisions/0028-energy-without-area.md. `--check` compares it with the page, `--update` writes it there."""
import math
import pathlib
import re
import sys

import pulse_fit

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "decisions" / "0028-energy-without-area.md"
TABLE = re.compile(r"(<!-- energy forms -->\n).*?(<!-- end of energy forms -->)", re.DOTALL)
SAMPLES, PEAK, STEP = 64, 26, 8  # of a waveform; where the pulse is; ns
NOISE = [1, 2 / 3, 1 / 6]  # its correlation with neighbours in time


def pulse(at, width=1.0):
    return [pulse_fit.form((k - at) * STEP, 27.8 * width, 0.072) for k in range(SAMPLES)]


def boxes(*parts):
    """Weights of the samples: each part is (first, end, weight), since the peak."""
    weights = [0.0] * SAMPLES
    for first, end, weight in parts:
        for k in range(PEAK + first, PEAK + end):
            weights[k] += weight
    return weights


def matched():
    form = pulse(PEAK)[PEAK - 10:PEAK + 15]
    mean = sum(form) / len(form)
    return [0.0] * (PEAK - 10) + [v - mean for v in form] + [0.0] * (SAMPLES - PEAK - 15)


def first_eight():
    weights = boxes((-6, 10, 1))
    return [w - 2 if k < 8 else w for k, w in enumerate(weights)]


FORMS = [("16 samples over the first 8 (before)", first_eight()), ("16 over 4 just before", boxes((-6, 10, 1), (-12, -8, -4))),
         ("16 over 4 before and 4 behind", boxes((-6, 10, 1), (-12, -8, -2), (12, 16, -2))), ("matched, 25 weights", matched()),
         ("boxes of 8: −1 2 −1 (decided)", boxes((-11, -3, -1), (-3, 5, 2), (5, 13, -1)))]


def dot(a, b):
    return sum(x * y for x, y in zip(a, b))


def rms(values):
    return math.sqrt(sum(v * v for v in values) / len(values))


def figures(weights):
    response = sum(dot(weights, pulse(PEAK + p / 16 - 0.5)) for p in range(17)) / 17
    w = [v / response for v in weights]
    noise = math.sqrt(sum(w[i] * w[j] * NOISE[abs(i - j)] for i in range(SAMPLES) for j in range(SAMPLES) if abs(i - j) < len(NOISE)))
    slope = dot(w, [k / (SAMPLES - 1) - 0.5 for k in range(SAMPLES)])
    recovery = dot(w, [-50 * math.exp(-STEP * k / 1000) for k in range(SAMPLES)])
    swings = []
    for period in range(300, 3001, 25):
        turns = [2 * math.pi * STEP * k / period for k in range(SAMPLES)]
        swings += [dot(w, [math.sin(t) for t in turns]), dot(w, [math.cos(t) for t in turns])]
    others = [dot(w, pulse(at / 2)) for at in range(-30, 2 * SAMPLES) if abs(at / 2 - PEAK) * STEP > 70]
    unit = dot(w, pulse(PEAK))
    wide = [100 * (dot(w, pulse(PEAK, width)) / unit - 1) for width in (0.9, 1.1)]
    return noise, slope, recovery, rms(swings), rms(others), wide


def signed(value, digits):
    text = f"{abs(value):.{digits}f}"
    return text if float(text) == 0 else ("−" if value < 0 else "+") + text


def table():
    lines = ["| form | noise 1 | slope 1 | recovery | swings 1 | pulse elsewhere | width ∓10 % |", "| --- | --- | --- | --- | --- | --- | --- |"]
    for name, weights in FORMS:
        noise, slope, recovery, swings, others, (narrow, wide) = figures(weights)
        lines.append(f"| {name} | {noise:.2f} | {signed(slope, 2)} | {signed(recovery, 1)} | {swings:.2f} | {others:.2f} | "
                     f"{signed(narrow, 0)}, {signed(wide, 0)} % |")
    return "\n".join(lines) + "\n"


def main():
    if "--update" in sys.argv:
        PAGE.write_text(TABLE.sub(lambda m: m[1] + table() + m[2], PAGE.read_text()))
        return 0
    print(table(), end="")
    return 0 if "--check" not in sys.argv or table() in PAGE.read_text() else 1


if __name__ == "__main__":
    sys.exit(main())
