"""Files of a vault by their paths, as an agent writes and reads them (Augure's five operations)."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from engram_py.capture.redact import redact, refuse_secret
from engram_py.errors import EngramError, InvalidArgumentError
from engram_py.lazy import logger_of
from engram_py.observations.validation import intake_notes
from engram_py.vault.errors import VaultFileError
from engram_py.vault.folder import FILE_LIMIT_BYTES, Folder
from engram_py.vault.layout import is_generated
from engram_py.vault.values import Applied, FileList, FileText, FileWritten

if TYPE_CHECKING:
    from engram_py.vault.vault import Vault

logger = logger_of(__name__)

_NEAR = 5
_WRITTEN = (".md", ".markdown", ".txt", ".json")  # what nothing runs


class VaultFiles:
    """Reads and writes the files of the project's vault. Without a vault one is made below ``home``.

    A path leads out of no vault: OutsideVaultError.
    """

    def __init__(self, vault: Vault, home: Path) -> None:
        self._vault = vault
        self._home = home

    def write(self, path: str, text: str, *, append: bool = False, project: str | None = None) -> FileWritten:
        """Replace a file, or append to it, with the folders it needs. Of a file that the memory owns (``identity.md``,
        a day) the change is taken in at once, as an import does."""
        if not path.lower().endswith(_WRITTEN):
            raise InvalidArgumentError("path", path, expected=f"a file that nothing runs: {', '.join(_WRITTEN)}")
        refuse_secret("path", path)
        hidden = redact(text)
        folder = self._folder(project)
        whole = f"{folder.read(path) or ''}{hidden.text}" if append else hidden.text
        if len(whole.encode()) > FILE_LIMIT_BYTES:
            raise VaultFileError(path, f"would be larger than {FILE_LIMIT_BYTES:,} bytes")
        if is_generated(path) and not path.endswith(".md"):
            raise VaultFileError(path, "is written by the memory alone")
        folder.write(path, whole)
        applied: tuple[Applied, ...] = ()
        if is_generated(path):
            applied = self._vault.take_in(project=project).applied
        return FileWritten(path, len(whole.encode()), applied, intake_notes(hidden.count, None))

    def read(self, path: str, *, project: str | None = None) -> FileText:
        """Return the text of a file; of one that is missing none, and up to five files with similar names."""
        folder = self._folder(project)
        text = folder.read(path)
        if text is not None:
            return FileText(path, True, text)
        near = difflib.get_close_matches(path, [*folder.files()], n=_NEAR, cutoff=0.6)
        return FileText(path, False, "", tuple(near))

    def exists(self, path: str, *, project: str | None = None) -> bool:
        """Return whether there is such a file."""
        return self._folder(project).read(path) is not None

    def list(self, under: str = "", *, project: str | None = None) -> FileList:
        """Return the files of the vault, or of a folder in it, relative to the vault."""
        return FileList(tuple(self._folder(project).files(under)))

    def own(self, project: str) -> Iterator[tuple[str, str]]:
        """Yield the person's own files in the vault of a project, by path, each with its text; none without a vault."""
        try:
            folder = self._vault.folder(project)
        except EngramError as exc:
            logger.info("the vault was not read: %s", exc.message)
            return
        for path in folder.files():
            try:
                text = "" if is_generated(path) else folder.read(path)
            except EngramError as exc:
                logger.info("a file of the vault was not read: %s", exc.message)
                continue
            if text:
                yield path, text

    def _folder(self, project: str | None) -> Folder:
        return self._vault.folder(project, home=self._home)
