"""Filled memories that are kept between runs, and made anew when the code that fills them changed."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
_MARK = "filled-from"


def kept(store: Path, name: str, wanted: str, fill: Callable[[Path], None]) -> Path:
    """The data directory ``name`` below ``store``, filled now unless it was filled for the same ``wanted``."""
    home = store / name
    mark = home / _MARK
    if mark.exists() and mark.read_text(encoding="utf-8") == wanted:
        return home
    if mark.exists():
        shutil.rmtree(home)
    store.mkdir(parents=True, exist_ok=True)
    # Filled beside its place: a run that was stopped halfway leaves nothing that looks whole.
    with tempfile.TemporaryDirectory(prefix=f".{name}-", dir=store) as beside:
        fresh = Path(beside) / "data"
        fill(fresh)
        (fresh / _MARK).write_text(wanted, encoding="utf-8")
        fresh.rename(home)
    return home


def copied(data_dir: Path, into: Path) -> Path:
    """A copy to use: a search may count what it showed, a save stays, and every run starts from the same."""
    shutil.copytree(data_dir, into)
    return into


def fingerprint(patterns: Iterable[str], *parts: str) -> str:
    """Names ``parts`` together with what the files of this project that match ``patterns`` say now."""
    digest = hashlib.sha256("\0".join(parts).encode("utf-8", "replace"))
    for pattern in patterns:
        for file in sorted(ROOT.glob(pattern)):
            digest.update(file.read_bytes())
    return digest.hexdigest()
