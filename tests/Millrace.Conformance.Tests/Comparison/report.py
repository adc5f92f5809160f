"""Writes docs/http-conformance.md from the results of the suite: report.py FOLDER SERVER..."""

import re
import sys
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass
from pathlib import Path

CHOICE = "our choice"
CELL_CHARACTERS_MAX = 60
NAMES = {"millrace": "Millrace", "nginx": "nginx", "caddy": "Caddy", "lighttpd": "lighttpd"}
GROUPS = {
    1: "Files that change during a response",
    8: "Files of every size and kind",
    12: "Paths",
    15: "Directories and redirects",
    16: "Conditions",
    19: "Ranges",
    22: "Content negotiation",
    24: "Caching and methods",
    25: "Messages and connections",
    29: "What a site can be configured to do",
}


@dataclass(frozen=True)
class Row:
    group: int
    section: str
    sentence: str
    test: str


def main() -> None:
    folder, servers = Path(sys.argv[1]), sys.argv[2:]
    results = {server: read(folder / f"{server}.xml") for server in servers}
    versions = {server: (folder / f"{server}.version").read_text().strip() for server in servers}
    rows = sorted({row for cells in results.values() for row in cells}, key=place)
    print("\n".join(document(rows, servers, versions, results)))


def place(row: Row) -> tuple[int, tuple[str, list[int]], str, str]:
    return (row.group, order(row.section), row.sentence, row.test)


def document(rows: list[Row], servers: list[str], versions: dict[str, str], results: dict[str, dict[Row, str]]) -> list[str]:
    named = ", ".join(f"{NAMES[server]} {versions[server]}" for server in servers)
    lines = [
        "# HTTP conformance",
        "",
        "How four servers respond to the same requests over raw sockets, with the same files. Each table shows behaviours in which they",
        "differ. A cell is `ok`, or what the server did instead; a bare number is a status. `-`: not compared, as the test needs a",
        "configuration of its own. The list below a table has what all four share. "
        f"\"{CHOICE.capitalize()}\" marks what no RFC demands.",
        "`tests/Millrace.Conformance.Tests/compare` writes this page from the tests' `Behaviour` attributes: change those instead.",
        "",
        f"Measured with {named}. The other servers run with the configurations in",
        "`tests/Millrace.Conformance.Tests/Comparison/`, which enable what they have for files.",
        "",
        "| | " + " | ".join(NAMES[server] for server in servers) + " |",
        "|---|" + "---|" * len(servers),
        "| by the RFCs | " + " | ".join(score(rows, results[server], chosen=False) for server in servers) + " |",
        f"| {CHOICE} | " + " | ".join(score(rows, results[server], chosen=True) for server in servers) + " |",
    ]
    starts = sorted(GROUPS)
    for index, start in enumerate(starts):
        end = starts[index + 1] if index + 1 < len(starts) else sys.maxsize
        members = [row for row in rows if start <= row.group < end]
        if members:
            lines += table(GROUPS[start], members, servers, results)
    return lines


def table(title: str, rows: list[Row], servers: list[str], results: dict[str, dict[Row, str]]) -> list[str]:
    """What servers do differently as a table, the rest by section."""
    cells = {row: [results[server].get(row, "-") for server in servers] for row in rows}
    shared = [row for row in rows if set(cells[row]) == {"ok"}]
    own = [row for row in rows if cells[row][0] == "ok" and set(cells[row][1:]) == {"-"}]
    different = [row for row in rows if row not in shared and row not in own]
    lines = ["", f"## {title}"]
    if different:
        lines += ["", "| Behaviour | Section | " + " | ".join(NAMES[server] for server in servers) + " |"]
        lines.append("|---|---|" + "---|" * len(servers))
        lines += [f"| {escaped(row.sentence)} | {row.section} | {' | '.join(map(escaped, cells[row]))} |" for row in different]
    return lines + listed("All of them", shared) + listed("Not compared, as it needs configuration of its own", own)


def listed(title: str, rows: list[Row]) -> list[str]:
    lines = []
    for section in dict.fromkeys(row.section for row in rows):
        sentences = [escaped(row.sentence) for row in rows if row.section == section]
        lines += [f"- {section}: {sentences[0]}"] if len(sentences) == 1 else [f"- {section}:", *(f"  - {text}" for text in sentences)]
    return ["", f"{title}:", "", *lines] if lines else []


def score(rows: list[Row], cells: dict[Row, str], chosen: bool) -> str:
    asked = [row for row in rows if (row.section == CHOICE) == chosen and cells.get(row, "-") != "-"]
    return f"{sum(cells[row] == 'ok' for row in asked)} of {len(asked)}"


def read(path: Path) -> dict[Row, str]:
    """What a server did, by row. A test that ran on several backends is ok where all are."""
    cells: dict[Row, str] = {}
    for test in ElementTree.parse(path).getroot().iter("test"):
        traits = {trait.get("name"): trait.get("value", "") for trait in test.iter("trait")}
        if "Sentence" not in traits:
            continue
        row = Row(int(traits["Group"]), traits["Section"], unquoted(traits["Sentence"]), test.get("method", ""))
        cell = cell_of(test)
        cells[row] = cell if cells.get(row, "ok") == "ok" else cells[row]
    return cells


def cell_of(test: ElementTree.Element) -> str:
    result = test.get("result")
    if result == "Pass":
        return "ok"
    if result == "Skip":
        return "-"
    message = unquoted(test.findtext("failure/message") or "failed").strip().splitlines()[0]
    # Where the files were is a matter of the machine.
    message = re.sub(r"(?<![\w.])/tmp/\S+", "…", message)
    message = re.sub(r"^Millrace\.Conformance\.Tests\.Kit\.(Nonconformance|Silence) : ", "", message)
    message = re.sub(r", after \d+ questions in [\d.]+ s$", "", message)
    return message if len(message) <= CELL_CHARACTERS_MAX else message[: CELL_CHARACTERS_MAX - 1].rstrip() + "…"


def unquoted(text: str) -> str:
    """xunit writes a backslash before quotes."""
    return text.replace('\\"', '"')


def order(section: str) -> tuple[str, list[int]]:
    """Sections by number, not by letter: 9.3 before 13.1. What is our own comes last."""
    document_name, _, number = section.rpartition(" ")
    if section == CHOICE:
        return ("~", [])
    return (document_name, [int(part) if part.isdigit() else 0 for part in number.split(".")])


def escaped(text: str) -> str:
    return re.sub(r"([\\|<>*_`\[\]])", r"\\\1", text)


main()
