"""Follow a vault: what a person saves is taken in, what the memory learns is written."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

from engram_py.documents.files import VAULT as MANIFEST
from engram_py.vault.errors import VaultBusyError, VaultEditedError
from engram_py.vault.values import Applied, Exported, Imported
from engram_py.vault.vault import Vault

_EACH_SECONDS = 2.0


def watch(vault: Vault, *, project: str | None = None) -> Iterator[Imported | Exported]:
    """Yield each import that found something and each export that wrote something, until the caller stops.

    A look costs reading the files that changed; watchfiles wakes it at once, else it is every two seconds.
    """
    waking = _changes(vault.folder(project).root)
    said: tuple[Applied, ...] = ()
    while True:
        with suppress(VaultBusyError, VaultEditedError):  # the next look
            taken = vault.take_in(project=project)
            if taken.applied and taken.applied != said:  # a conflict stays until somebody mends it
                yield taken
            said = taken.applied
            written = vault.export(project=project)
            if written.written or written.removed:
                yield written
        next(waking)


def _changes(root: Path) -> Iterator[object]:
    try:
        watchfiles: Any = import_module("watchfiles")
    except ImportError:
        while True:
            time.sleep(_EACH_SECONDS)
            yield None
    milliseconds = round(_EACH_SECONDS * 1000)
    followed = watchfiles.watch(root, rust_timeout=milliseconds, yield_on_timeout=True, raise_interrupt=True)
    yield from (one for one in followed if not one or any(not path.endswith(MANIFEST) for _, path in one))
