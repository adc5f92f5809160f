"""The measured part of docs/performance.md and its pictures: made of runs' files, never typed."""

import re
from pathlib import Path

import chart
import contests
import tables
from goals import Source
from places import REPOSITORY
from record import Collection
from results import Line, Place, Results
from rows import ROWS, STRATEGIES

DOCUMENTS = REPOSITORY / "docs"
BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"
# In the README beside the documents.
HEADLINE_BEGIN, HEADLINE_END = "<!-- headline: begin -->", "<!-- headline: end -->"
PREFIX = "performance-"
# The README has a picture of it, with what its readers know: the cheapest of each line's servers, by the name that it has there.
HEADLINE = ("10k", 64)
HEADLINERS = {
    "Millrace": ("millrace",), "nginx": ("nginx", "nginx-copy"), "h2o": ("h2o",), "lighttpd": ("lighttpd",), "Caddy": ("caddy",),
    "Kestrel, MapStaticAssets": ("map-static-assets",),
}
# One picture for each of these: a page of many would not be looked at.
PICTURED = [HEADLINE, ("100k", 64), ("1m", 16), ("mix", 64), ("new", 64)]
TITLES = {row.name: row.title for row in ROWS}


def write(collection: Collection, documents: Path) -> list[Path]:
    """Puts it between the markers, the headline into the README beside, and writes the pictures; the paths of what was written."""
    page, images, readme = documents / "performance.md", documents / "images", documents.parent / "README.md"
    results = Results(collection.cells.get(Source.RUN, []))
    images.mkdir(exist_ok=True)
    pictures = _draw(results, images)
    headline = _draw_headline(results, images)
    _replace(page, (BEGIN, END), _markdown(collection, results, pictures))
    written = [page, *(picture for picture, _ in pictures), *filter(None, [headline])]
    if readme.exists() and HEADLINE_BEGIN in readme.read_text():
        _replace(readme, (HEADLINE_BEGIN, HEADLINE_END), _headline(headline, documents))
        written.append(readme)
    return written


def _replace(page: Path, markers: tuple[str, str], content: str) -> None:
    text, (begin, end) = page.read_text(), markers
    if text.count(begin) != 1 or text.count(end) != 1:
        raise ValueError(f"{page} needs one line '{begin}' and one '{end}': what is between them is replaced")
    between = f"\n{content}\n" if content else "\n"
    page.write_text(f"{text[:text.index(begin)]}{begin}{between}{text[text.index(end):]}")


def _headline(picture: Path | None, documents: Path) -> str:
    """What was written before goes, too, where its row was not measured: its picture is no longer there."""
    if not picture:
        return ""
    caption = _caption(Place("one", *HEADLINE))
    return f"[![{caption}]({picture.relative_to(documents.parent)})]({documents.name}/performance.md#how-fast-it-was)"


def _draw(results: Results, images: Path) -> list[tuple[Path, Place]]:
    for old in images.glob(f"{PREFIX}*.svg"):
        old.unlink()
    pictures = []
    for row, connections in PICTURED:
        place = Place("one", row, connections)
        lines = [line for line in results.lines(place) if line.server not in STRATEGIES]
        if not lines:
            continue
        path = images / f"{PREFIX}{re.sub(r'[^a-z0-9]', '', row)}.svg"
        bars = [chart.Bar(line.server, line.cost_us.median, _kind(line)) for line in lines]
        kernel = "; limit: the kernel alone, copying" if any(line.server == "limit" for line in lines) else ""
        path.write_text(chart.bars(
            f"{TITLES[row]}, {connections} connections",
            f"CPU time of the server's core for each request, in microseconds: less is better{kernel}", bars))
        pictures.append((path, place))
    return pictures


def _draw_headline(results: Results, images: Path) -> Path | None:
    lines = {line.server: line for line in results.lines(Place("one", *HEADLINE))}
    bars = []
    for label, servers in HEADLINERS.items():
        measured = [lines[server] for server in servers if server in lines]
        if measured:
            cheapest = min(measured, key=lambda line: line.cost_us.median)
            bars.append(chart.Bar(label, cheapest.cost_us.median, _kind(cheapest)))
    path = images / f"{PREFIX}headline.svg"
    if not any(bar.kind == "own" for bar in bars):
        return None
    path.write_text(chart.bars(
        f"{TITLES[HEADLINE[0]]}, {HEADLINE[1]} connections",
        "CPU time of the server's core for each request, in microseconds: less is better", sorted(bars, key=lambda bar: bar.value)))
    return path


def _caption(place: Place) -> str:
    return f"{TITLES[place.row]}, {place.connections} connections: CPU time for each request, by server"


def _kind(line: Line) -> str:
    if line.server.startswith("limit"):
        return "kernel"
    return "own" if line.server.startswith("millrace") else "peer"


def _markdown(collection: Collection, results: Results, pictures: list[tuple[Path, Place]]) -> str:
    parts = [
        _builds(collection),
        "### Beside other servers", tables.STANDINGS, tables.standings_table(tables.standings(collection)),
        *filter(None, [tables.memory(results)]),
        *(f"![{_caption(place)}](images/{path.name})" for path, place in pictures),
        *_chapter("Options", contests.options(results)),
        *_chapter("Which way a file goes", contests.ways(results, collection.sizes)),
    ]
    if collection.failures:
        parts += ["### What could not be measured", "\n".join(
            f"- {name}: {', '.join(failure.strip().splitlines()[:2])}" for name, failure in collection.failures.items())]
    return "\n\n".join(parts)


def _chapter(title: str, paragraphs: list[str]) -> list[str]:
    return [f"### {title}", *paragraphs] if paragraphs else []


def _builds(collection: Collection) -> str:
    """Which builds the figures are of, in a sentence: a reader's own may be another."""
    builds = [
        (str(conditions["date"])[:10], str(conditions["commit"])[:12])
        for file, (_, conditions) in enumerate(collection.conditions) if collection.places(file)]
    if not builds:
        return ""
    dates, commits = sorted({date for date, _ in builds}), {commit for _, commit in builds}
    when = dates[0] if len(dates) == 1 else f"{dates[0]} to {dates[-1]}"
    which = f"commit {builds[0][1]}" if len(commits) == 1 else f"{len(commits)} commits, the last commit {builds[-1][1]}"
    return (
        f"Measured {when}, with builds of {which}; {_controls(collection)}. The files in [bench/results](../bench/results) have all rows and "
        "the conditions of each: commit, kernel, processor, versions, rounds.")


def _controls(collection: Collection) -> str:
    """Of TCP: one for all servers of a run, in runs since there is one."""
    seen = {str(conditions.get("congestion_control", "")) for _, conditions in collection.conditions}
    named = " and ".join(sorted(seen - {""}))
    if "" not in seen:
        return f"congestion control of all servers: {named}"
    return f"congestion control: {named + ', and ' if named else ''}in older files that of each server's own choice"
