"""How the machine's two cores are shared out."""

from enum import Enum

from running import LOAD_CORE, SERVER_CORE


class Cores(Enum):
    """ONE: the server has a core of its own and the load another. BOTH: they share two, as on a machine that does everything."""

    ONE = "one"
    BOTH = "both"

    @property
    def of_server(self) -> str:
        return str(SERVER_CORE) if self is Cores.ONE else f"{SERVER_CORE},{LOAD_CORE}"

    @property
    def of_load(self) -> str:
        return str(LOAD_CORE) if self is Cores.ONE else f"{SERVER_CORE},{LOAD_CORE}"

    @property
    def count(self) -> int:
        """Of the server's cores, and of the load's."""
        return 1 if self is Cores.ONE else 2
