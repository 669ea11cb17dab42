# SPDX-License-Identifier: Apache-2.0
"""Charts and diagrams as SVG that can be read on light and on dark pages, without a library: `Drawing` has texts and shapes, `Chart`
draws points, curves and axes into one."""
import math
from xml.sax.saxutils import escape

STYLE = """
svg { --paper: #fff; --ink: #14181c; --soft: #525d67; --line: #dbe1e6; --box: #eef3f8; --c0: #2563a8; --c1: #1f7a45; --c2: #a65f00; --c3: #c4122f; --c4: #6b4fa0;
  font: 14px system-ui, "DejaVu Sans", sans-serif; }
@media (prefers-color-scheme: dark) { svg { --paper: #12171c; --ink: #eceff2; --soft: #a9b4be; --line: #323b44; --box: #1d2630;
  --c0: #6fa8dc; --c1: #4fc27c; --c2: #e69a1f; --c3: #ff7284; --c4: #b39be0; } }
.paper { fill: var(--paper); } .box { fill: var(--box); stroke: var(--line); }
text { fill: var(--ink); } .soft { fill: var(--soft); } .small { font-size: 12px; } .title { font-size: 16px; font-weight: 600; } .strong { font-weight: 600; }
line, polyline, path { fill: none; stroke: var(--soft); } .grid { stroke: var(--line); }
.curve { stroke-width: 2; stroke-linejoin: round; } .dashed { stroke-dasharray: 5 4; }
""" + "".join(f".l{n} {{ stroke: var(--c{n}); }} .f{n} {{ fill: var(--c{n}); }} " for n in range(5))


def number(x):
    """"0.2", "50", "2 k", "100 M": for an axis."""
    for unit, size in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if x >= size * 0.9995:
            return f"{x / size:.3g} {unit}"
    return f"{x:.3g}"


class Drawing:
    def __init__(self, width, height, title, about=()):
        """`about`: lines at the foot, which say where the figures come from."""
        self.width, self.foot = width, height - 10 - 17 * len(about)
        self.parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img">'
                      f"<title>{escape(title)}</title><style>{STYLE}</style>"
                      f'<rect class="paper" width="{width}" height="{height}" rx="8"/>']
        self.text(20, 30, title, "title")
        for n, line in enumerate(about):
            self.text(20, self.foot + 14 + 17 * n, line, "soft small")

    def add(self, tag, css="", **attributes):
        values = "".join(f' {k.replace("_", "-")}="{v:.2f}"' if isinstance(v, float) else f' {k.replace("_", "-")}="{v}"' for k, v in attributes.items())
        self.parts.append(f'<{tag} class="{css}"{values}/>')

    def text(self, x, y, text, css="", anchor="start", turned=False):
        turn = f' transform="rotate(-90 {x:.1f} {y:.1f})"' if turned else ""
        self.parts.append(f'<text class="{css}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{turn}>{escape(text)}</text>')

    def line(self, points, css):
        self.add("polyline", css, points=" ".join(f"{x:.1f},{y:.1f}" for x, y in points))

    def arrow(self, points, css=""):
        """Along these points; the last two say where it looks."""
        (x0, y0), (x, y) = points[-2:]
        length = math.hypot(x - x0, y - y0)
        u, v = 8 * (x - x0) / length, 8 * (y - y0) / length
        self.line([*points[:-1], (x - u / 2, y - v / 2)], css)
        self.add("polygon", css.replace("l", "f", 1) if css[:1] == "l" else "soft",
                 points=f"{x:.1f},{y:.1f} {x - u - v / 2:.1f},{y - v + u / 2:.1f} {x - u + v / 2:.1f},{y - v - u / 2:.1f}")

    def mark(self, x, y, n):
        """The points of series n have its colour and its shape."""
        r = 4.0
        if n % 4 == 0:
            self.add("circle", f"f{n}", cx=x, cy=y, r=r)
        else:
            corners = {1: [(-r, -r), (r, -r), (r, r), (-r, r)], 2: [(0, -r - 1), (r + 1, r), (-r - 1, r)], 3: [(0, -r - 1), (r + 1, 0), (0, r + 1), (-r - 1, 0)]}[n % 4]
            self.add("polygon", f"f{n}", points=" ".join(f"{x + a:.1f},{y + b:.1f}" for a, b in corners))

    def svg(self):
        return "\n".join([*self.parts, "</svg>", ""])


class Axis:
    """From a value to a place. `marks`: where it has a number; by default the powers of ten, or 1, 2, 5 times them.
    `text`: makes a number's text."""

    def __init__(self, name, low, high, log=False, marks=None, text=number):
        self.text, self.name, self.low, self.high, self.log, self.marks = text, name, low, high, log, marks or self.usual_marks(low, high, log)

    @staticmethod
    def usual_marks(low, high, log):
        if log:
            decades = math.log10(high / low)
            factors = (1,) if decades > 3 else (1, 2, 5)
            all_of_them = [f * 10.0 ** e for e in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1) for f in factors]
        else:
            size = 10 ** math.floor(math.log10((high - low) / 4))
            step = next(f * size for f in (1, 2, 5, 10) if f * size >= (high - low) / 6)
            all_of_them = [n * step for n in range(math.ceil(low / step), math.floor(high / step + 1e-9) + 1)]
        return [v for v in all_of_them if low * (1 - 1e-9) <= v <= high * (1 + 1e-9)]

    def place(self, value):
        if self.log:
            return math.log(value / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)


class Chart:
    def __init__(self, drawing, x, y, key):
        """`key`: the width that names of series take at the right."""
        self.to, self.x, self.y, self.named = drawing, x, y, 0
        self.left, self.right, self.top, self.bottom = 84.0, float(drawing.width - key), 52.0, drawing.foot - 56.0
        for v in y.marks:
            drawing.line([self.at(x.low, v), self.at(x.high, v)], "grid")
            drawing.text(self.left - 8, self.at(x.low, v)[1] + 5, y.text(v), "soft", "end")
        for v in x.marks:
            drawing.line([self.at(v, y.low), self.at(v, y.high)], "grid")
            drawing.text(self.at(v, y.low)[0], self.bottom + 19, x.text(v), "soft", "middle")
        drawing.line([(self.left, self.top), (self.left, self.bottom), (self.right, self.bottom)], "")
        drawing.text((self.left + self.right) / 2, self.bottom + 42, x.name, "", "middle")
        drawing.text(20, (self.top + self.bottom) / 2, y.name, "", "middle", turned=True)

    def at(self, x, y):
        return (self.left + self.x.place(x) * (self.right - self.left), self.bottom - self.y.place(y) * (self.bottom - self.top))

    def curve(self, n, points, css=""):
        self.to.line([self.at(*p) for p in points], f"l{n} curve {css}")

    def points(self, n, points, errors=()):
        """`errors`: (lowest, highest) of each."""
        for (x, _), (low, high) in zip(points, errors):
            self.to.line([self.at(x, low), self.at(x, high)], f"l{n}")
        for p in points:
            self.to.mark(*self.at(*p), n)

    def name(self, n, *lines):
        """In the key: the first line is the name of series n, or of a dashed line; the others say more about it."""
        x, y = self.right + 24, self.top + 8 + self.named
        if n is None:
            self.to.line([(x - 10, y), (x + 10, y)], "dashed")
        else:
            self.to.line([(x - 10, y), (x + 10, y)], f"l{n} curve")
            self.to.mark(x, y, n)
        for i, line in enumerate(lines):
            self.to.text(x + 18, y + 5 + 18 * i, line, "soft small" if i else "strong")
        self.named += 18 * len(lines) + 14
