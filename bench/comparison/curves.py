"""Curves over sizes as SVG, each size a step further to the right; readable on light and on dark."""

from dataclasses import dataclass
from xml.sax.saxutils import escape

from chart import framed

WIDTH, HEIGHT = 760, 340
LEFT, RIGHT, TOP, BOTTOM = 48, 170, 48, 28
LABEL_GAP = 16

_LINES = """.axis { stroke: #8c959f; stroke-width: 1 } .grid { stroke: #8c959f; stroke-opacity: .3 }
  path { fill: none; stroke-width: 2 } .a { stroke: #0969da } .b { stroke: #bf8700 } .dashed { stroke-dasharray: 6 4 }"""
_LINES_AT_NIGHT = ".a { stroke: #4493f8 } .b { stroke: #d29922 }"


@dataclass(frozen=True)
class Curve:
    """`values`: one for each size, None where there is none. `look`: a or b, and dashed."""

    label: str
    values: list[float | None]
    look: str


def curves(title: str, note: str, sizes: list[str], drawn: list[Curve]) -> str:
    """From 0 up, with a line at each half."""
    highest = max(value for curve in drawn for value in curve.values if value is not None)
    top = max(1.5, -(-highest * 2 // 1) / 2)
    lines = []
    for step in range(int(top * 2) + 1):
        y = _y(step / 2, top)
        lines += [
            f'<line class="{"axis" if step in (0, 2) else "grid"}" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>',
            f'<text class="note" x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{step / 2:.1f}</text>',
        ]
    lines += [
        f'<text class="note" x="{_x(index, sizes):.1f}" y="{HEIGHT - 8}" text-anchor="middle">{escape(size)}</text>'
        for index, size in enumerate(sizes)]
    for curve in drawn:
        points = [f"{_x(index, sizes):.1f},{_y(value, top):.1f}" for index, value in enumerate(curve.values) if value is not None]
        lines.append(f'<path class="{curve.look}" d="M{" L".join(points)}"/>')
    return framed(title, note, (WIDTH, HEIGHT), (_LINES, _LINES_AT_NIGHT), [*lines, *_labels(drawn, top)])


def _labels(drawn: list[Curve], top: float) -> list[str]:
    """Behind the curves' ends, the highest first; moved down where two would meet."""
    ends = sorted((_y(next(value for value in reversed(curve.values) if value is not None), top), curve.label) for curve in drawn)
    lines, lowest = [], 0.0
    for y, label in ends:
        lowest = max(y, lowest + LABEL_GAP)
        lines.append(f'<text x="{WIDTH - RIGHT + 8}" y="{lowest + 4:.1f}">{escape(label)}</text>')
    return lines


def _x(index: int, sizes: list[str]) -> float:
    return LEFT + 12 + index * (WIDTH - LEFT - RIGHT - 24) / max(len(sizes) - 1, 1)


def _y(value: float, top: float) -> float:
    return HEIGHT - BOTTOM - value / top * (HEIGHT - TOP - BOTTOM)
