"""Settings of sync with a server. Every process reads them, so this module imports nothing else."""

from __future__ import annotations

from dataclasses import dataclass, field

# How changes of a server are told from those of a folder, in the queue and in what was set aside.
TARGET = "cloud"


@dataclass(frozen=True, slots=True)
class CloudSettings:
    """The server's address, a token from the environment, and whether to sync in the background."""

    server: str = ""
    token: str = field(default="", repr=False)
    autosync: bool = True
