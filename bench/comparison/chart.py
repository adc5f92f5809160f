"""Horizontal bars as SVG, readable on light and on dark."""

from dataclasses import dataclass
from xml.sax.saxutils import escape

WIDTH = 760
LABEL_WIDTH = 170
VALUE_WIDTH = 90
BAR_HEIGHT, BAR_GAP, TOP = 18, 8, 44

# No background of its own: the page's shows through, and the page may be either.
_TEXT = """
  text { font: 13px system-ui, sans-serif; fill: #1f2328 }
  .title { font-weight: 600; font-size: 14px }
  .note { fill: #59636e; font-size: 12px }"""
_TEXT_AT_NIGHT = "text { fill: #e6edf3 } .note { fill: #9198a1 }"
_BARS = ".own { fill: #0969da } .peer { fill: #8c959f } .kernel { fill: #bf8700 }"
_BARS_AT_NIGHT = ".own { fill: #4493f8 } .peer { fill: #656c76 } .kernel { fill: #d29922 }"


@dataclass(frozen=True)
class Bar:
    """`kind` is one of own, peer and kernel."""

    label: str
    value: float
    kind: str


def bars(title: str, note: str, measured: list[Bar]) -> str:
    longest = max(bar.value for bar in measured)
    height = TOP + len(measured) * (BAR_HEIGHT + BAR_GAP)
    lines = []
    for index, bar in enumerate(measured):
        top = TOP + index * (BAR_HEIGHT + BAR_GAP)
        width = max(1.0, bar.value / longest * (WIDTH - LABEL_WIDTH - VALUE_WIDTH))
        baseline = top + 14
        lines += [
            f'<text x="{LABEL_WIDTH - 8}" y="{baseline}" text-anchor="end">{escape(bar.label)}</text>',
            f'<rect class="{bar.kind}" x="{LABEL_WIDTH}" y="{top}" width="{width:.1f}" height="{BAR_HEIGHT}" rx="2"/>',
            f'<text x="{LABEL_WIDTH + width + 6:.1f}" y="{baseline}">{text(bar.value)}</text>',
        ]
    return framed(title, note, (WIDTH, height), (_BARS, _BARS_AT_NIGHT), lines)


def framed(title: str, note: str, size: tuple[int, int], looks: tuple[str, str], lines: list[str]) -> str:
    """A picture under its title and a note. `looks`: the style of what is drawn, by day and by night."""
    (width, height), (day, night) = size, looks
    style = f"{_TEXT}\n  {day}\n  @media (prefers-color-scheme: dark) {{\n    {_TEXT_AT_NIGHT}\n    {night}\n  }}"
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img">',
        f"<title>{escape(title)}</title>",
        f"<style>{style}\n</style>",
        f'<text class="title" x="0" y="15">{escape(title)}</text>',
        f'<text class="note" x="0" y="33">{escape(note)}</text>',
        *lines, "</svg>", ""])


def text(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.1f}"
