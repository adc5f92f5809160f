"""All that are up: each server is started once for all rows on the same ground, and one at a time has work."""


import files
from cores import Cores
from deployment import Deployments
from entrants import Entrant, Ground
from places import ARTIFACTS
from rows import Root, Row
from running import ServerProcess, pinned


# Connections that are closing, curl's, and files: what a server's table needs beyond the load's connections.
SPARE = 2000
USUAL_CONNECTIONS = 4096


class Runner(ServerProcess):
    """An entrant that is up."""

    # One that maps its assets, or reads a site, on one core with others beside it.
    start_timeout_s = 300
    stop_timeout_s = 10

    def __init__(self, entrant: Entrant, ground: Ground):
        super().__init__(entrant.name, ARTIFACTS / f"run-{entrant.name}-{ground.root.value}.log")
        self.entrant = entrant
        self.ground = ground
        self.deployments = Deployments(ground.folder) if ground.root is Root.DEPLOYED else None
        # The rows that its runtime has compiled for.
        self.knows: set[str] = set()

    def url(self, target: str) -> str:
        return f"http://127.0.0.1:{self.port}{target}"

    def begin(self) -> None:
        command = files.mounted(self.ground.root, self.ground.file, self.entrant.command(self.ground, self.port))
        self.start(pinned(self.ground.cores.of_server, command))


class Field:
    """A context manager: whatever it started ends with it."""

    def __init__(self) -> None:
        self._up: dict[tuple[str, Ground], Runner] = {}

    def __enter__(self) -> "Field":
        return self

    def __exit__(self, *_: object) -> None:
        for runner in self._up.values():
            runner.stop()

    def runner(self, entrant: Entrant, row: Row, cores: Cores, connections: int) -> Runner:
        """The server, as it is or as it is started now; a StartFailure where it does not come up."""
        ground = self._ground(entrant, row, cores, connections)
        runner = self._up.get((entrant.name, ground))
        if runner is not None and runner.has_exited():
            runner.stop()  # What it started may still be there.
            runner = None
        if runner is None:
            runner = Runner(entrant, ground)
            runner.begin()
            self._up[entrant.name, ground] = runner
        return runner

    def clear(self, needed: set[tuple[str, Cores, bool]]) -> None:
        """Ends those whom no later row needs: those too that have one file, a root that is not the usual one, or room for more connections.

        `needed`: of a server its name, its cores, and whether it is asked for coded files.
        """
        for key, runner in list(self._up.items()):
            is_needed = (runner.entrant.name, runner.ground.cores, runner.ground.is_coded) in needed
            is_usual = runner.ground.root is Root.DISK and runner.ground.connections == USUAL_CONNECTIONS
            if not is_needed or runner.entrant.has_one_file or not is_usual:
                runner.stop()
                del self._up[key]

    def _ground(self, entrant: Entrant, row: Row, cores: Cores, connections: int) -> Ground:
        # A table of connections costs memory, even an empty one: more than the usual only where there are more.
        connections = max(USUAL_CONNECTIONS, connections + SPARE)
        if row.root is Root.DEPLOYED:
            # Who watches a folder would work at deployments under another's load.
            return Ground(cores, row.root, row.is_coded, connections, own=f"{entrant.name}-site")
        if entrant.has_one_file or row.root is not Root.DISK:
            return Ground(cores, row.root, row.is_coded, connections, row.file, files.file_bytes(row))
        return Ground(cores, row.root, row.is_coded, connections)
