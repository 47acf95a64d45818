"""Settings of sync with a server. Every process reads them, so this module imports nothing else."""

from __future__ import annotations

from engram_py.dataclass import dataclass, field

# The source and target of server sync in the queue; folders have their own.
TARGET = "cloud"


@dataclass(frozen=True, slots=True)
class CloudSettings:
    """The server's address, a token from the environment, and whether to sync in the background."""

    server: str = ""
    token: str = field(default="", repr=False)
    autosync: bool = True
