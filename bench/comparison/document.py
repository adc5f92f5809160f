"""The measured part of docs/performance.md and its pictures: made of runs' files, never typed."""

import re
from pathlib import Path

import chart
import tables
from goals import Source
from places import REPOSITORY
from record import Collection
from results import Line, Place, Results
from rows import ROWS

DOCUMENTS = REPOSITORY / "docs"
BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"
PREFIX = "performance-"
# One picture for each of these: a page of many would not be looked at.
PICTURED = [("1k", 64), ("10k", 64), ("100k", 64), ("1m", 16), ("mix", 64), ("new", 64)]
VERSIONS = ("nginx", "lighttpd", "h2o", "caddy", "dotnet", "wrk")
TITLES = {row.name: row.title for row in ROWS}


def write(collection: Collection, documents: Path) -> list[Path]:
    """Puts it between the markers and writes the pictures; the paths of what was written."""
    page, images = documents / "performance.md", documents / "images"
    text = page.read_text()
    if text.count(BEGIN) != 1 or text.count(END) != 1:
        raise ValueError(f"{page} needs one line '{BEGIN}' and one '{END}': what is between them is replaced")
    results = Results(collection.cells.get(Source.RUN, []))
    images.mkdir(exist_ok=True)
    pictures = _draw(results, images)
    measured = _markdown(collection, results, pictures)
    before, after = text[:text.index(BEGIN)], text[text.index(END):]
    page.write_text(f"{before}{BEGIN}\n{measured}\n{after}")
    return [page, *(picture for picture, _ in pictures)]


def _draw(results: Results, images: Path) -> list[tuple[Path, Place]]:
    for old in images.glob(f"{PREFIX}*.svg"):
        old.unlink()
    pictures = []
    for row, connections in PICTURED:
        place = Place("one", row, connections)
        lines = [line for line in results.lines(place) if line.server not in ("millrace-baked", "millrace-ring", "millrace-stream")]
        if not lines:
            continue
        path = images / f"{PREFIX}{re.sub(r'[^a-z0-9]', '', row)}.svg"
        bars = [chart.Bar(line.server, line.cost_us.median, _kind(line)) for line in lines]
        path.write_text(chart.bars(
            f"{TITLES[row]}, {connections} connections",
            "CPU time of the server's core for each request, in microseconds: less is better", bars))
        pictures.append((path, place))
    return pictures


def _kind(line: Line) -> str:
    if line.server.startswith("limit"):
        return "kernel"
    return "own" if line.server.startswith("millrace") else "peer"


def _markdown(collection: Collection, results: Results, pictures: list[tuple[Path, Place]]) -> str:
    parts = [
        _conditions(collection),
        "### Where another is ahead", tables.losses(collection.cells), *filter(None, [tables.memory(results)]),
        "### What it should be", tables.goals(collection),
        *(f"![{TITLES[place.row]}, {place.connections} connections: CPU time for each request, by server](images/{path.name})"
          for path, place in pictures),
        "### Row by row", tables.LEGEND,
    ]
    for place in results.places:
        title = f"**{TITLES.get(place.row, place.row)}, {place.connections} connections{', both cores' if place.cores == 'both' else ''}**"
        parts += [title, tables.place(results, place, collection.calls)]
    for source, control in ((Source.HTTPS, "nginx"), (Source.KESTREL, "sockets")):
        others = Results(collection.cells.get(source, []))
        for place in others.places:
            title = f"**`{source.value}`: {place.row}, {place.connections} connections{', both cores' if place.cores == 'both' else ''}**"
            parts += [title, tables.elsewhere(others, place, control)]
    if collection.failures:
        parts += ["### What could not be measured", "\n".join(
            f"- {name}: {failure.strip().splitlines()[0]}" for name, failure in collection.failures.items())]
    return "\n\n".join(parts)


def _conditions(collection: Collection) -> str:
    lines = []
    for source, conditions in collection.conditions:
        changed = " with changes that are not committed" if conditions.get("dirty") else ""
        versions = ", ".join(f"{name} {_version(conditions[name])}" for name in VERSIONS if name in conditions)
        lines.append(
            f"- `{source.value}`, {str(conditions['date'])[:10]}, commit {str(conditions['commit'])[:12]}{changed}: {conditions['cpu']}, "
            f"Linux {conditions['kernel']}, {conditions['rounds']} rounds of {conditions['seconds']} s; {versions}.")
    return "\n".join(lines)


def _version(said: object) -> str:
    found = re.search(r"\d+(?:\.\d+)+", str(said))
    return found[0] if found else str(said)
