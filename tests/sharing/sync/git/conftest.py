"""People who share a repository: each with a clone and a memory of their own, and real git between them."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import pytest

from engram_py import Draft, Engram
from engram_py.base.settings import Settings
from engram_py.sharing.sync import chunk as packing
from engram_py.sharing.sync.chunk import manifest_text
from engram_py.sharing.sync.git.service import GitSync
from engram_py.sharing.sync.git.table import ChunksRead, ChunksWritten, GitSynced


@dataclass
class Member:
    """Somebody with a clone at ``root``."""

    name: str
    root: Path
    app: Engram

    @property
    def sync(self) -> GitSync:
        return self.app.git_sync

    @property
    def chunks(self) -> Path:
        return self.root / ".engram" / "chunks"

    def git(self, *words: str) -> str:
        return run_git(self.root, *words)

    def save(self, title: str, content: str | None = None, **fields: Any) -> int:
        return self.app.save(Draft(title, content or f"{title}, in a sentence.", **fields)).id

    def titles(self) -> list[str]:
        rows = self.app.store.rows("select title from observations where deleted_at is null order by title")
        return [row["title"] for row in rows]

    def digest(self) -> str:
        return self.sync.digest().value

    def imported(self, **options: Any) -> ChunksRead:
        read = self.sync.sync(write=False, **options).read
        assert read is not None
        return read

    def exported(self, **options: Any) -> ChunksWritten:
        written = self.sync.sync(read=False, **options).written
        assert written is not None
        return written

    def shared(self, *titles: str, **options: Any) -> GitSynced:
        """Save these, sync, commit, and exchange with the others: what the README says to do."""
        for title in titles:
            self.save(title)
        done = self.sync.sync(**options)
        self.commit()
        self.git("pull", "-q", "--no-rebase", "--no-edit")
        self.git("push", "-q", "origin", "HEAD")
        return done

    def keeps_elsewhere(self, name: str, draft: Draft) -> int:
        """Save an observation in another folder of the same machine."""
        folder = self.root.parent / name
        folder.mkdir()
        with Engram(settings=self.app.settings, directory=folder) as other:
            return other.save(draft).id

    def commit(self) -> None:
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", f"by {self.name}")

    def pulled(self, **options: Any) -> GitSynced:
        self.git("pull", "-q", "--no-rebase", "--no-edit")
        return self.sync.sync(**options)

    def names(self) -> list[str]:
        """The chunks in the folder."""
        return sorted(path.name for path in self.chunks.iterdir() if not path.name.endswith(".sig"))

    def texts(self) -> bytes:
        """All that the chunks say, unpacked."""
        return b"\n".join(gzip.decompress(path.read_bytes()) for path in sorted(self.chunks.glob("*.gz")))

    def manifest(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.root / ".engram" / "manifest.json").read_text(encoding="utf-8"))
        return found


class Joining(Protocol):
    def __call__(self, name: str) -> Member: ...


def run_git(folder: Path, *words: str) -> str:
    done = subprocess.run(["git", *words], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.strip()


def put_chunk(folder: Path, document: object, *, name: str | None = None) -> str:
    """Put a chunk into a clone by hand, as another program would; its id."""
    data = json.dumps(document, separators=(",", ":")).encode()
    chunk = name or packing.digest(data)[:8]
    chunks = folder / ".engram" / "chunks"
    chunks.mkdir(parents=True, exist_ok=True)
    (chunks / f"{chunk}.jsonl.gz").write_bytes(gzip.compress(data))
    return chunk


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bare repository with one commit, which has the same id every time."""
    folder = tmp_path_factory.mktemp("template")
    who = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    run_git(folder, "init", "-q", "-b", "main", "seed")
    (folder / "seed" / ".engram").mkdir()  # a folder of chunks, which a new one is not by itself
    (folder / "seed" / ".engram" / "manifest.json").write_text(manifest_text({}), encoding="utf-8")
    run_git(folder / "seed", "add", "-A")
    with pytest.MonkeyPatch.context() as dates:
        for name in ("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"):
            dates.setenv(name, "2026-01-01T00:00:00 +0000")
        run_git(folder / "seed", *who, "commit", "-q", "-m", "first")
    run_git(folder, "clone", "-q", "--bare", "seed", "widgets.git")
    run_git(folder / "widgets.git", "remote", "remove", "origin")
    return folder / "widgets.git"


@pytest.fixture(scope="session")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database that nothing was written to: it has no device yet. Making one takes longer than copying it."""
    folder = tmp_path_factory.mktemp("empty")
    with Engram(settings=Settings(folder), directory=folder) as app:
        assert app.store.value("select count(*) from meta where key = 'device_id'") == 0
        return app.store.path


@pytest.fixture
def bare(tmp_path: Path, template: Path) -> Path:
    """The repository that everybody pushes to."""
    return Path(shutil.copytree(template, tmp_path / "origin" / "widgets.git"))


@pytest.fixture
def join(tmp_path: Path, bare: Path, empty: Path) -> Iterator[Joining]:
    """``join("ada")``: somebody clones the repository on a machine of her own."""
    with ExitStack() as stack:

        def joined(name: str) -> Member:
            root = tmp_path / name / "widgets"
            who = ("-c", f"user.name={name.capitalize()}", "-c", f"user.email={name}@example.org")
            run_git(tmp_path, "clone", "-q", *who, str(bare), str(root))
            settings = Settings(tmp_path / name / "data")
            settings.data_dir.mkdir(mode=0o700)
            shutil.copyfile(empty, settings.data_dir / empty.name)
            app = stack.enter_context(Engram(settings=settings, directory=root, agent=f"test-{name}"))
            return Member(name, root, app)

        yield joined


@pytest.fixture
def ada(join: Joining) -> Member:
    return join("ada")


@pytest.fixture
def bob(join: Joining) -> Member:
    return join("bob")


def settled(members: Sequence[Member]) -> None:
    """Exchange until nobody has news."""
    for _ in range(2):
        for member in members:
            member.shared()
    for member in members:
        member.pulled()


def is_root() -> bool:
    return hasattr(os, "geteuid") and os.geteuid() == 0
