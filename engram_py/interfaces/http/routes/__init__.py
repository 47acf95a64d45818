"""The routes, a module for each noun. Importing this package registers them all."""

from engram_py.interfaces.http.routes import (  # noqa: F401
    checkpoints,
    conflicts,
    context,
    conversations,
    documents,
    entities,
    identity,
    observations,
    projects,
    search,
    server,
    sessions,
    transfer,
    upkeep,
    vault,
)
from engram_py.interfaces.http.routing import OPERATIONS

__all__ = ["OPERATIONS"]
