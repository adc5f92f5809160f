"""What the server is measured against itself for: its options, and the ways that a file goes by its size."""

import chart
from results import Place, Results
from rows import OPTIONS, ROWS, WAYS
from spread import Spread
from tables import OWN, spread, table
from variants import FLAGS

_SIZES = {row.name: row.size for row in ROWS if row.size}
_CONNECTIONS = 64
_OPTION_ROWS = [row for row in ROWS if row.servers == OPTIONS]
# Two rounds agree by chance as often as not.
_AGREEING_ROUNDS_MIN = 3


def options(results: Results) -> list[str]:
    """Paragraphs; none where nothing of it was measured."""
    places = [place for place in results.places if place.row in {row.name for row in _OPTION_ROWS}]
    if not places:
        return []
    lines = [[f"`{flags}`", *(_option(results.ratio(place, name, OWN)) for place in places)] for name, flags in FLAGS.items()]
    return [
        "The cost of a request with the option over the cost without: the median of the rounds' ratios, with quartiles; less is better. "
        f"Bold: at least {_AGREEING_ROUNDS_MIN} rounds, with both quartiles on the same side of 1. The kernel's polling thread runs on the "
        "server's core: with one core its time is taken from the server. With both cores it counts as the server's.",
        table(["option", *map(_heading, places)], [line for line in lines if set(line[1:]) != {"-"}])]


def ways(results: Results, defaults: dict[str, str]) -> list[str]:
    places = _way_places(results)
    if not places:
        return []
    lines = []
    for place in places:
        costs = {line.server: line.cost_us.median for line in results.lines(place)}
        lines.append([_SIZES[place.row].upper(), *(_cost(costs, name) for name in WAYS)])
    stand = f" By default files up to `--cache-max-file` {defaults['cache-max-file']} are kept in memory, and those up to `--read-max` " \
            f"{defaults['read-max']} are sent with one read." if len(defaults) == 2 else ""
    return [
        f"CPU microseconds for each request, {_CONNECTIONS} connections; bold is the cheapest way of each backend. **memory**: sent from "
        f"memory. **read**: one read for each request. **streamed**: read in chunks.{stand}",
        table(["size", *(f"{_backend(name)}, {_way(name)}" for name in WAYS)], lines)]


def _way_places(results: Results) -> list[Place]:
    return [place for name in _SIZES for place in results.places if place == Place("one", name, _CONNECTIONS)]


def _way(name: str) -> str:
    return name.rpartition("-")[2]


def _backend(name: str) -> str:
    return "epoll" if "epoll" in name else "io_uring"


def _cost(costs: dict[str, float], name: str) -> str:
    if name not in costs:
        return "-"
    cheapest = min(cost for other, cost in costs.items() if _backend(other) == _backend(name))
    return f"**{chart.text(costs[name])}**" if costs[name] == cheapest else chart.text(costs[name])


def _option(ratio: Spread | None) -> str:
    agree = ratio is not None and ratio.count >= _AGREEING_ROUNDS_MIN and (ratio.high < 1 or ratio.low > 1)
    return f"**{spread(ratio)}**" if agree else spread(ratio)


def _heading(place: Place) -> str:
    title = next(row.title for row in _OPTION_ROWS if row.name == place.row).partition(",")[0]
    return f"{title} x {place.connections}{place.shared}"
