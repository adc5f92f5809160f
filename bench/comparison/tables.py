"""The report's tables, as Markdown."""

from dataclasses import dataclass

from deployment import STALE_S
from goals import GOALS, Figure, Judgement, Source, judge
from record import CallCount, Collection
from results import Line, Place, Results
from rows import PEERS, ROWS
from spread import Spread

OWN = "millrace"
# Servers of files, and Kestrel's own transports: not the kernel's cost, and no other build of ours.
OTHERS = (*PEERS, "nginx-uncached", "nginx-threads", "map-static-assets", "haproxy", "sockets", "sockets-inline")
CONTROLS = ("limit", "nginx")
TITLES = {row.name: row.title for row in ROWS}

LEGEND = "\n".join([
    "CPU: time of the server's core for each request in microseconds, including the kernel's work; with both cores, the time of the",
    "server's processes. Load: time of the load's core for each request. Over the loopback the kernel sends waiting bytes on the client's",
    "core. So a server may cost its own core less and both cores more: `with the load's core` is the ratio of both cores' time.",
    "x limit: CPU over limit's. x nginx: nginx's CPU over this server's. Both are medians of the rounds' ratios, with their quartiles.",
    "They may differ from the quotients of the medians in the column CPU, which the charts show: the machine changes between rounds.",
    "Percentiles are under full load: they show how evenly a server treats its connections. `>`: the load was the bottleneck; the cost",
    "is valid. Calls: system calls for each request. Memory: of all its processes, after the load. `limit` parses no request and has no",
    "file: it shows what the kernel alone costs if it copies the response from a buffer. Servers that send without a copy can be below it.",
])

STANDINGS = "\n".join([
    "Each line is the median of the rounds' ratios with its quartiles; above 1, Millrace costs less. `cheapest other` is the one that costs",
    "least beside Millrace in this row. `both cores` adds the time of the client's core, on which the kernel sends what waited. A goal is",
    "open if its quartiles lie on both sides of it.",
])


@dataclass(frozen=True)
class Standing:
    """The server in one place, beside the other that is cheapest there. `ratio`: the other's cost over the server's."""

    place: Place
    title: str
    line: Line
    ratio: Spread
    both_cores: Spread | None
    limit: Spread | None
    goals: list[Judgement]


def standings(collection: Collection) -> list[Standing]:
    """Where another server is ahead stands first."""
    judged = [judge(goal, collection.cells, collection.late) for goal in GOALS]
    seen = []
    for source, of_source in collection.cells.items():
        results = Results(of_source)
        for place in results.places:
            mine = [each for each in judged if (each.goal.source, each.goal.row, each.goal.connections) == (source, place.row, place.connections)]
            if standing := _standing(results, place, _title(source, place), mine if place.cores == "one" else []):
                seen.append(standing)
    return sorted(seen, key=lambda standing: standing.ratio.median)


def standings_table(seen: list[Standing]) -> str:
    if not seen:
        return "Nothing was measured beside another server."
    return table(*_without_empty(
        ["row", "connections", "cheapest other", "its cost ÷ Millrace's", "both cores", "Millrace's ÷ limit's", "goals"],
        [[each.title, str(each.place.connections), f"{each.line.server}{' (old versions)' if _is_stale(each.line) else ''}",
          spread(each.ratio), spread(each.both_cores), spread(each.limit), "; ".join(map(_goal, each.goals)) or "-"] for each in seen]))


def pairs(results: Results) -> str:
    """Round by round, so that a reader can check a median."""
    lines = []
    for place in results.places:
        for line in results.lines(place):
            if line.server != OWN and (ratios := results.ratios(place, line.server, OWN)):
                lines.append(f"{place.row} x {place.connections}{place.shared}: {line.server} / {OWN} "
                             f"{' '.join(f'{ratio:.2f}' for ratio in ratios)}")
    return "\n".join(lines)


def _standing(results: Results, place: Place, title: str, goals: list[Judgement]) -> Standing | None:
    others = [(ratio, line) for line in results.lines(place)
              if line.server in OTHERS and (ratio := results.ratio(place, line.server, OWN))]
    if not others:
        return None
    ratio, line = min(others, key=lambda other: other[0].median)
    return Standing(
        place, title, line, ratio, results.ratio(place, line.server, OWN, "with_load_us"), results.ratio(place, OWN, "limit"), goals)


def _title(source: Source, place: Place) -> str:
    title = TITLES.get(place.row, place.row) if source is Source.RUN else f"`{source.value}`: {place.row}"
    return title + place.shared


def _goal(judged: Judgement) -> str:
    """Where the table has the ratio already, only the goal."""
    seen = "" if judged.goal.figure is Figure.COST or judged.seen is None else f", {spread(judged.seen)}"
    return f"{judged.goal.text}{seen}: {judged.verdict.value}"


def memory(results: Results) -> str:
    """One line: in every row it is the same servers, but for what their sites cost."""
    for place in results.places:
        if (place.cores, place.row, place.connections) == ("one", "10k", 64):
            lines = sorted(results.lines(place), key=lambda line: line.resident_bytes)
            return "Memory after the load, " + f"{TITLES[place.row]}, {place.connections} connections: " + ", ".join(
                f"{line.server} {line.resident_bytes / 1e6:.0f} MB" for line in lines if not line.server.startswith("limit")) + "."
    return ""


def place(results: Results, place: Place, calls: list[CallCount]) -> str:
    counted = {count.server: count.each for count in calls if Place(count.cores, count.row, count.connections) == place}
    heads = ["server", "CPU us", "user", "system", "interrupts", "load", *(f"x {control}" for control in CONTROLS),
             "requests/s", "p50 us", "p99 us", "p99.9 us", "waits us", "stale s", "calls", "memory MB", "rounds"]
    return table(*_without_empty(heads, [_line(results, line, counted) for line in results.lines(place)]))


def _line(results: Results, line: Line, calls: dict[str, float]) -> list[str]:
    limit, nginx = (results.ratio(line.place, line.server, control) for control in CONTROLS)
    return [
        line.server, _number(line.cost_us.median),
        *(_number(part) if line.place.cores == "one" else "-" for part in (line.user_us, line.system_us, line.interrupts_us)),
        _number(line.load_us) if line.load_us is not None else "-",
        spread(limit), spread(nginx and nginx.inverse),
        f"{'> ' if line.is_load_bound else ''}{_rate(line.requests_per_s)}",
        *(f"{time:,.0f}" if time is not None else "-" for time in (line.p50_us, line.p99_us, line.p999_us, line.waits_us)),
        _stale(line),
        f"{calls[line.server]:.2f}" if line.server in calls else "-",
        f"{line.resident_bytes / 1e6:.1f}", str(line.rounds)]


def _is_stale(line: Line) -> bool:
    return line.stale_s is not None and line.stale_s > STALE_S


def _stale(line: Line) -> str:
    if line.stale_s is None:
        return "-"
    return f"**{line.stale_s:.1f}**" if _is_stale(line) else f"{line.stale_s:.2f}"


def _without_empty(heads: list[str], rows: list[list[str]]) -> tuple[list[str], list[list[str]]]:
    """Of both cores no parts are known, and where neither control takes part there are no ratios."""
    told = [index for index in range(len(heads)) if any(row[index] != "-" for row in rows)]
    return [heads[index] for index in told], [[row[index] for index in told] for row in rows]


def spread(seen: Spread | None) -> str:
    return str(seen) if seen else "-"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.2f}"


def _rate(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def table(heads: list[str], rows: list[list[str]]) -> str:
    return "\n".join([_join(heads), "|" + "---|" * len(heads), *(_join(row) for row in rows)])


def _join(fields: list[str]) -> str:
    return f"| {' | '.join(fields)} |"
