"""The report's tables, as Markdown."""

from deployment import STALE_S
from goals import ABSENT, GOALS, Judgement, Source, Verdict, judge
from record import CallCount, Collection
from results import Line, Place, Results, RowCell
from rows import ROWS
from spread import Spread

OWN = "millrace"
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

PACED = "\n".join([
    "In `bench/kestrel`, `p99 us, paced` is measured for all transports of a row at one rate: half of the maximum rate of sockets. It is",
    "the median of windows of one second; the median of the rounds' ratios is beside it. `before` is a build before a change that an ADR",
    "describes, measured in turn with the build after it.",
])


def losses(cells: dict[Source, list[RowCell]]) -> str:
    """Whatever is cheaper than the server as it comes, by the median of the ratios; the kernel's own cost is no server."""
    seen = []
    for source, of_source in cells.items():
        results = Results(of_source)
        for place in results.places:
            for line in results.lines(place):
                ratio = results.ratio(place, OWN, line.server)
                if ratio is not None and ratio.median > 1 and not line.server.startswith((OWN, "limit")):
                    row = TITLES.get(place.row, place.row) if source is Source.RUN else f"`{source.value}`: {place.row}"
                    server = f"{line.server} (old versions)" if _is_stale(line) else line.server
                    seen.append((ratio.median, [row, str(place.connections), place.cores, server, spread(ratio),
                                               spread(results.ratio(place, OWN, line.server, "with_load_us"))]))
    if not seen:
        return "Nowhere in what was measured."
    rows = [fields for _, fields in sorted(seen, key=lambda entry: -entry[0])]
    cost = "Millrace's cost ÷ that server's cost (above 1: Millrace costs more)"
    return table(*_without_empty(["row", "connections", "cores", "server", cost, "with the load's core"], rows))


def memory(results: Results) -> str:
    """One line: in every row it is the same servers, but for what their sites cost."""
    for place in results.places:
        if (place.cores, place.row, place.connections) == ("one", "10k", 64):
            lines = sorted(results.lines(place), key=lambda line: line.resident_bytes)
            return "Memory after the load, " + f"{TITLES[place.row]}, {place.connections} connections: " + ", ".join(
                f"{line.server} {line.resident_bytes / 1e6:.0f} MB" for line in lines if not line.server.startswith("limit")) + "."
    return ""


def goals(collection: Collection) -> str:
    """What is missed stands first, what was not measured last."""
    return judged([judge(goal, collection.cells, collection.late) for goal in GOALS])


def judged(judgements: list[Judgement]) -> str:
    return table(["row", "connections", "server", "goal", "measured", "verdict"], [[
        each.goal.title, str(each.goal.connections), each.goal.server, each.goal.text,
        f"{spread(each.seen)}{f', {each.other}' if len(each.goal.others) > 1 else ''}" if each.seen else "-",
        _verdict(each)] for each in sorted(judgements, key=_urgency)])


def place(results: Results, place: Place, calls: list[CallCount]) -> str:
    counted = {count.server: count.each for count in calls if Place(count.cores, count.row, count.connections) == place}
    heads = ["server", "CPU us", "user", "system", "interrupts", "load", *(f"x {control}" for control in CONTROLS),
             "requests/s", "p50 us", "p99 us", "p99.9 us", "waits us", "stale s", "calls", "memory MB", "rounds"]
    return table(*_without_empty(heads, [_line(results, line, counted) for line in results.lines(place)]))


def elsewhere(results: Results, place: Place, control: str, late: Results) -> str:
    """Of what other runs measured, which have not all of these figures. `late`: with a percentile where the cost would be."""
    percentiles = {line.server: f"{line.cost_us.median:,.0f}" for line in late.lines(place)}
    lines = []
    for line in results.lines(place):
        ratio, later = results.ratio(place, line.server, control), late.ratio(place, line.server, control)
        lines.append([
            line.server, _number(line.cost_us.median), spread(ratio and ratio.inverse),
            f"{'> ' if line.is_load_bound else ''}{_rate(line.requests_per_s)}",
            percentiles.get(line.server, "-"), spread(later), str(line.rounds)])
    return table(*_without_empty(
        ["server", "CPU us", f"x {control}", "requests/s", "p99 us, paced", f"of {control}' p99", "rounds"], lines))


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


def _urgency(judged: Judgement) -> int:
    return [Verdict.MISSED, Verdict.NEAR, Verdict.MET, Verdict.UNKNOWN].index(judged.verdict)


def _verdict(judged: Judgement) -> str:
    reason = ABSENT.get(judged.goal.others[0])
    return f"{judged.verdict.value}: {reason}" if reason and judged.verdict is Verdict.UNKNOWN else judged.verdict.value


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
