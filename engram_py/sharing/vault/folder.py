"""The files of a vault on the disk: which row has its home in which file (spec/seed-capabilities.md 2.8, Aurelius's
PARA folders), each inside the root only and written in one step; and the manifest of an export.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shutil
import stat
import unicodedata
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from engram_py.base.database.store import Store
from engram_py.base.dataclass import asdict, dataclass, field
from engram_py.base.files import read_bounded, real_path, reason, write_atomically
from engram_py.base.lazy import regex
from engram_py.memory.observations.table import COLUMNS
from engram_py.memory.observations.values import Observation
from engram_py.memory.privacy.provenance import given
from engram_py.recall.documents.files import VAULT as MANIFEST
from engram_py.sharing.vault.values import (
    EntityPage,
    NotAVaultError,
    OutsideVaultError,
    Shelf,
    VaultEdge,
    VaultFileError,
)

INDEX = "life/index.json"
_NOTHING: Mapping[str, Any] = {}
# How the person works: what others keep in ME.md (Aurelius) and MEMORY.md (Martian, OpenClaw).
TACIT = ("preference", "policy")
SHELVES = ("projects", "areas", "resources", "archives")
PROFILE = "identity/profile"
ENTITY = "entity/"

_FOLDERS = {
    "project": "projects",
    "repository": "projects",
    "repo": "projects",
    "person": "areas/people",
    "company": "areas/companies",
    "organization": "areas/companies",
    "team": "areas/companies",
    "service": "areas/services",
}
_GENERATED = regex(
    r"identity\.md|MEMORY\.md|observations\.md|memory/\d{4}-\d\d-\d\d\.md|life/index\.json|life/(?:.+/)?_index\.md"
    r"|life/.+/(?:summary\.md|items\.json)"
)
_SLUG = regex(r"entity/[^\W_]+(?:-[^\W_]+)*")
# Names that Windows keeps for devices, with any ending.
_DEVICES = regex(r"(?:con|prn|aux|nul|com\d|lpt\d)", re.IGNORECASE)


# The rows of a project, those of the person, and the facts and entities that are past.
ROWS = f"""
select {COLUMNS} from observations
where deleted_at is null and (project = :project or scope <> 'project') and {given("observations")}
  and (lifecycle = 'active' or (lifecycle = 'historical' and about is not null)
       or (lifecycle = 'archived' and topic_key > 'entity/' and topic_key < 'entity0'))
"""
EDGES = """
select substr(source_id, 8), relation, substr(target_id, 8), sync_id, evidence from memory_relations
where source_id >= 'entity:' and source_id < 'entity;' and target_id >= 'entity:' and target_id < 'entity;'
  and superseded_at is null
order by source_id, relation, target_id, sync_id
"""


def shown_rows(store: Store, project: str) -> list[Observation]:
    return [Observation.from_row(row) for row in store.rows(ROWS, project=project)]


def entity_edges(store: Store) -> dict[str, list[VaultEdge]]:
    """Return the links between entities, by the slug they begin at."""
    edges: dict[str, list[VaultEdge]] = {}
    for source, *edge in store.tuples(EDGES):
        edges.setdefault(source, []).append(VaultEdge(*edge))
    return edges


def is_generated(path: str) -> bool:
    """Return whether the memory owns the file of this path; any other is the person's."""
    return _GENERATED.fullmatch(path) is not None


def is_generated_json(path: str) -> bool:
    return path.endswith(".json") and is_generated(path)


def slug_of_page(path: str) -> str:
    """Return the slug of the entity whose folder has the file of this path."""
    return path.split("/")[-2].rstrip("_")


def entity_folder(page: EntityPage) -> str:
    """Return the folder of an entity's files: by its kind, or the archive's."""
    folder = "archives" if page.archived else _FOLDERS.get(page.kind, "resources")
    name = f"{page.slug}_" if _DEVICES.fullmatch(page.slug) else page.slug
    return f"life/{folder}/{name}"


def shelved(
    rows: Sequence[Observation],
    edges: dict[str, list[VaultEdge]],
    named: Mapping[str, tuple[str, str | None]] = _NOTHING,
    replaced: Mapping[str, str] = _NOTHING,
) -> Shelf:
    """Return the rows by their homes, each list in the order of its file. ``edges`` are by an entity's slug, ``named``
    the name and the kind of entities that are only mentioned, ``replaced`` says by sync id what replaced a fact."""
    identity, memory, log, days = [], [], [], []
    entities: dict[str, Observation] = {}
    facts: dict[str, list[Observation]] = {}
    for row in rows:
        topic = row.topic_key or ""
        if _SLUG.fullmatch(topic):
            entities.setdefault(topic.removeprefix(ENTITY), row)
        elif row.type == "fact" and row.about:
            facts.setdefault(row.about, []).append(row)
        elif row.lifecycle != "active":
            continue
        elif row.type == "identity":
            identity.append(row)
        elif row.pinned or topic == PROFILE or (row.type in TACIT and row.origin != "derived"):  # not candidates
            memory.append(row)
        elif row.type in ("note", "session_summary"):
            days.append(row)
        else:
            log.append(row)
    slugs = sorted({*entities, *facts, *edges, *named})
    pages = (
        _page(slug, entities.get(slug), facts.get(slug, []), edges.get(slug, []), named.get(slug), replaced)
        for slug in slugs
    )
    return Shelf(
        tuple(sorted(identity, key=_age)),
        tuple(sorted(memory, key=lambda row: (row.topic_key != PROFILE, _age(row)))),
        tuple(sorted(log, key=_age, reverse=True)),
        tuple(sorted(days, key=_age)),
        tuple(page for page in pages if page is not None),
    )


def _page(
    slug: str,
    row: Observation | None,
    facts: list[Observation],
    edges: list[VaultEdge],
    named: tuple[str, str | None] | None,
    replaced: Mapping[str, str],
) -> EntityPage | None:
    now = sorted((fact for fact in facts if fact.lifecycle == "active"), key=_age, reverse=True)
    past = sorted((fact for fact in facts if fact.lifecycle != "active"), key=_age, reverse=True)
    if row is None and not facts and named is None:
        return None
    name, kind = named or (slug, None)
    return EntityPage(
        slug,
        row.title if row is not None else name,
        next((one.entity_kind for one in (row, *now, *past) if one is not None and one.entity_kind), kind) or "unknown",
        tuple(alias for alias in (row.aliases.split("; ") if row is not None else ()) if alias),
        row is not None and row.lifecycle == "archived",
        row,
        tuple(now),
        tuple(past),
        tuple(sorted(edges, key=lambda edge: (edge.predicate, edge.target))),
        {fact.sync_id: replaced[fact.sync_id] for fact in past if fact.sync_id in replaced},
    )


def _age(row: Observation) -> tuple[str, str]:
    return row.created_at, row.sync_id


FILE_LIMIT_BYTES = 32_000_000
_MANIFEST_BYTES = 256_000_000
_VERSION = 1
_MOST_LISTED = 20_000
_UNSEEN = ("Cc", "Cf")  # control and format characters


@dataclass(frozen=True, slots=True)
class Manifest:
    """The last export: its project, and the digests of each file, of each item by its anchor, of the lines of each
    file that are no items, and of the person's text below it, with its length."""

    project: str
    files: Mapping[str, str] = field(default_factory=dict)
    items: Mapping[str, str] = field(default_factory=dict)
    heads: Mapping[str, Sequence[str]] = field(default_factory=dict)
    tails: Mapping[str, str] = field(default_factory=dict)


def written(manifest: Manifest) -> str:
    """Return the text of a manifest."""
    values = {"version": _VERSION} | asdict(manifest)
    return json.dumps(values, ensure_ascii=False, indent=1, sort_keys=True) + "\n"


def digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


class Folder:
    """The folder of a vault. Every path is relative to ``root``, with ``/``."""

    def __init__(self, root: Path) -> None:
        self.root = real_path(root)

    # --- whose it is ------------------------------------------------------------------------------------

    def manifest(self) -> Manifest | None:
        """Return the manifest of the last export; None in a folder that is no vault.

        Raises NotAVaultError where another program or version wrote it.
        """
        try:
            manifest = json.loads(read_bounded(self.root / MANIFEST, _MANIFEST_BYTES))
            if manifest["version"] != _VERSION:
                raise NotAVaultError(self.root, f"was written by another version ({manifest['version']})")
            # A manifest can come with a clone: whatever it names, only files that a memory writes are its.
            files = {path: text for path, text in dict(manifest["files"]).items() if is_generated(path)}
            tails = {path: str(mark) for path, mark in dict(manifest.get("tails", {})).items()}
            return Manifest(str(manifest["project"]), files, dict(manifest["items"]), dict(manifest["heads"]), tails)
        except FileNotFoundError:
            return None
        except OSError as exc:
            raise VaultFileError(self.root / MANIFEST, reason(exc)) from exc
        except (ValueError, KeyError, TypeError, RecursionError) as exc:
            raise NotAVaultError(self.root, f"has an unreadable {MANIFEST}") from exc

    def manifest_digest(self) -> str:
        """Return the digest of the manifest as it stands there; empty without one. Raises VaultFileError."""
        try:
            return digest(read_bounded(self.root / MANIFEST, _MANIFEST_BYTES).decode("utf-8", "replace"))
        except FileNotFoundError:
            return ""
        except OSError as exc:
            raise VaultFileError(self.root / MANIFEST, reason(exc)) from exc

    def write_manifest(self, text: str) -> None:
        self._put(MANIFEST, self.root / MANIFEST, text)

    def claim(self, project: str, *, written: Collection[str]) -> bool:
        """Make the folder this project's vault; whether it is a new one.

        ``written`` are the digests of manifests that this memory wrote.

        Raises NotAVaultError: it holds something else.
        """
        manifest = self.manifest()
        if manifest is not None and manifest.project != project:
            raise NotAVaultError(self.root, f"is the vault of project {manifest.project!r}")
        if manifest is not None and self.manifest_digest() not in written:
            raise NotAVaultError(self.root, f"has a {MANIFEST} that this memory did not write")
        if manifest is not None:
            return False
        if ".git" in self.root.parts:
            raise NotAVaultError(self.root, "is inside a .git folder")
        if any((parent / MANIFEST).is_file() for parent in self.root.parents):
            raise NotAVaultError(self.root, "is inside another vault")
        try:
            if self.root.exists() and (not self.root.is_dir() or any(self.root.iterdir())):
                raise NotAVaultError(self.root, "is not empty, and not a vault")
            self.root.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as exc:
            raise VaultFileError(self.root, reason(exc)) from exc
        return True

    # --- files ------------------------------------------------------------------------------------------

    def place(self, path: str) -> Path:
        """Return the file of ``path``. Files that git and editors obey are hidden: ``.git``, ``.vscode``, also to
        disks that overlook
        characters nobody sees.

        Raises OutsideVaultError: not below the root, through a link, hidden, or no name of a file.
        """
        parts = PurePosixPath(path.replace("\\", "/")).parts
        bad = not parts or any(part.startswith(".") or part == "/" or ":" in part for part in parts)
        bad = bad or any(unicodedata.category(letter) in _UNSEEN for letter in path)
        if bad or path.startswith("~") or len(path) > 1_000:
            raise OutsideVaultError(path)
        file = self.root.joinpath(*parts)
        if real_path(file) != file:
            raise OutsideVaultError(path)
        return file

    def read(self, path: str) -> str | None:
        """Return the text of a file, None of one that is missing. Raises VaultFileError, OutsideVaultError."""
        try:
            return self.text(path)
        except OSError as exc:
            raise VaultFileError(path, reason(exc)) from exc

    def text(self, path: str) -> str | None:
        """Return the same for somebody who reads many. Raises OSError, OutsideVaultError."""
        try:
            return read_bounded(self.place(path), FILE_LIMIT_BYTES).decode("utf-8", "replace")
        except (FileNotFoundError, NotADirectoryError):
            return None

    def write(self, path: str, text: str) -> bool:
        """Put a text at ``path``; return whether another was there. Raises VaultFileError, OutsideVaultError."""
        return self._put(path, self.place(path), text)

    def _put(self, path: str, place: Path, text: str) -> bool:
        data = text.encode("utf-8", "replace")
        try:
            with contextlib.suppress(FileNotFoundError, NotADirectoryError):
                if not stat.S_ISREG(place.lstat().st_mode):
                    raise VaultFileError(path, "this is not a regular file")
                if place.stat().st_size == len(data) and read_bounded(place, len(data)) == data:
                    return False
            place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            write_atomically(place, data, exact=True)
        except OSError as exc:
            raise VaultFileError(path, reason(exc)) from exc
        return True

    def set_aside(self, path: str, text: str) -> str:
        """Keep a text of the person's under a name that the memory does not write; the path of that."""
        stem, dot, ending = path.rpartition(".")
        number = 1
        while self.read(kept := f"{stem}.edited{'' if number == 1 else f'-{number}'}{dot}{ending}") not in (None, text):
            number += 1
        self.write(kept, text)
        return kept

    def move_to(self, other: Folder) -> int:
        """Move every file to a folder without files; return how many. Raises VaultFileError."""
        moved = [*self.files(), MANIFEST]
        for path in moved:
            place = other.root / path
            try:
                place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                shutil.move(self.root / path, place)
            except OSError as exc:
                raise VaultFileError(path, reason(exc)) from exc
            if path != MANIFEST:
                self.remove(path)
        with contextlib.suppress(OSError):  # hidden files are left
            self.root.rmdir()
        return len(moved) - 1

    def remove(self, path: str) -> None:
        place = self.place(path)
        try:
            place.unlink(missing_ok=True)
            for folder in place.parents:
                if folder == self.root:
                    break
                folder.rmdir()
        except OSError:  # not empty, or not ours to remove
            pass

    def files(self, under: str = "") -> Iterator[str]:
        """Yield the files below a folder, sorted; hidden ones, links and what they lead to are left out."""
        start = self.place(under) if under.strip("/. ") else self.root
        files: list[str] = []
        for folder, folders, names in os.walk(start):
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            paths = (Path(folder, name) for name in names if not name.startswith("."))
            files += [path.relative_to(self.root).as_posix() for path in paths if not path.is_symlink()]
            if len(files) > _MOST_LISTED:
                break
        yield from sorted(files)
