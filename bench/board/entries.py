"""What is sent in: folders with a Dockerfile and a meta.json. The harness builds and starts what the Dockerfiles say, without Docker."""

import json
import re
import shlex
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from places import ARTIFACTS, BENCH, REPOSITORY
from servers import build

ENTRIES = BENCH / "entries"
NAMES = ["millrace", "millrace-engine", "millrace-aspnet", "millrace-grpc"]
# What the programs are built from, in the repository.
SOURCES = [
    "src", "bench/entries", "bench/.editorconfig", ".editorconfig", "Directory.Build.props", "Directory.Packages.props", "LICENSE",
    "deploy/man", "deploy/completions", "docs/millrace.schema.json",
]


@dataclass(frozen=True)
class Entry:
    """One folder of the board."""

    name: str

    @property
    def folder(self) -> Path:
        return ENTRIES / self.name

    @property
    def meta(self) -> dict[str, object]:
        return json.loads((self.folder / "meta.json").read_text())

    @property
    def publication(self) -> list[str]:
        """The command that builds the program, as the Dockerfile runs it."""
        found = re.search(r"^RUN (dotnet publish .*)$", self._dockerfile, re.MULTILINE)
        if not found:
            raise ValueError(f"{self.name}: the Dockerfile publishes nothing")
        return shlex.split(found[1])

    @property
    def entrypoint(self) -> list[str]:
        found = re.search(r"^ENTRYPOINT (\[.*\])$", self._dockerfile, re.MULTILINE)
        if not found:
            raise ValueError(f"{self.name}: the Dockerfile starts nothing")
        return json.loads(found[1])

    @property
    def environment(self) -> dict[str, str]:
        return dict(line.split("=", 1) for line in re.findall(r"^ENV (\S+=\S+)$", self._dockerfile, re.MULTILINE))

    @property
    def published(self) -> Path:
        # Two entries may have one program.
        return ARTIFACTS / "arena" / Path(self.publication[2]).name

    def publish(self) -> None:
        """Builds the program here, into a folder of the artifacts in place of the image's."""
        shutil.rmtree(self.published, ignore_errors=True)
        command = [str(self.published) if word == "/app" else word for word in self.publication]
        build([*command, "--disable-build-servers"])

    def command(self, replaced: dict[str, str]) -> list[str]:
        """The program's command line here; `replaced` are words of the image's that are others here."""
        program, *arguments = self.entrypoint
        return [program.replace("/app", str(self.published)), *(replaced.get(word, word) for word in arguments)]

    @property
    def _dockerfile(self) -> str:
        return (self.folder / "Dockerfile").read_text()


def send_in(target: Path, repository: str) -> list[Path]:
    """Writes a folder for each entry, complete with the sources that it is built from, to be added to the board's `frameworks`."""
    listed = subprocess.run(["git", "ls-files", *SOURCES], cwd=REPOSITORY, text=True, stdout=subprocess.PIPE, check=True)
    written = []
    for name in NAMES:
        entry, folder = Entry(name), target / name
        folder.mkdir(parents=True)
        shutil.copy(entry.folder / "Dockerfile", folder)
        (folder / "meta.json").write_text(json.dumps(entry.meta | {"repo": repository}, indent=2) + "\n")
        for path in listed.stdout.splitlines():
            copy = folder / "source" / path
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(REPOSITORY / path, copy)
        written.append(folder)
    return written
