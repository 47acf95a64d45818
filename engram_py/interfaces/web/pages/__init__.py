"""The pages by what they show; each module registers its own."""

from engram_py.interfaces.web.pages import (  # noqa: F401
    entities,
    guards,
    memory,
    review,
    search,
    sessions,
    settings,
    today,
    upkeep,
)
