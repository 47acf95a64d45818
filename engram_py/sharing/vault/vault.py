"""The memory as a folder of Markdown: make it, write it, take back what was edited there, once or for as long as it is
watched; and its files by their paths, as an agent writes and reads them (Augure's five operations).
"""

from __future__ import annotations

import difflib
import json
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from itertools import starmap
from pathlib import Path
from typing import Any

from engram_py.base.capture.redact import redact, refuse_secret
from engram_py.base.database.mutation_queue import get_meta, set_meta
from engram_py.base.database.runs import NamedLease
from engram_py.base.dataclass import replace
from engram_py.base.errors import EngramError, InvalidArgumentError
from engram_py.base.files import readable, real_path, reason
from engram_py.base.git.repository import find_repository
from engram_py.base.lazy import logger_of
from engram_py.base.text.normalize import has_conflict, plain_lines
from engram_py.memory.entities.names import promoted_names
from engram_py.memory.observations.validation import intake_notes, slug_of
from engram_py.memory.projects.projects import Core
from engram_py.memory.relations.table import replacements
from engram_py.recall.documents.files import VAULT as MANIFEST
from engram_py.recall.documents.values import DocumentNotFoundError
from engram_py.sharing.vault.applying import (
    Applying,
    Now,
    digests_beside_items,
    edits,
    kept_beside,
    not_claimed,
    plan_of,
    unreadable,
    with_conflict,
)
from engram_py.sharing.vault.folder import (
    FILE_LIMIT_BYTES,
    Folder,
    Manifest,
    digest,
    entity_edges,
    is_generated,
    is_generated_json,
    shelved,
    shown_rows,
    written,
)
from engram_py.sharing.vault.markdown import (
    anchor_of,
    day_of,
    parse,
    rendered,
    tail_mark,
    with_appended,
    with_tail,
)
from engram_py.sharing.vault.values import (
    Applied,
    Edit,
    FileList,
    FileText,
    FileWritten,
    MemoryPath,
    NoVaultError,
    VaultBusyError,
    VaultEditedError,
    VaultExported,
    VaultFileError,
    VaultImported,
    VaultPage,
    VaultStatus,
    is_entity,
)

logger = logger_of(__name__)

HERE = "select substr(key, 7) from meta where key like 'vault:%' and key not like '%:written' order by key"

_LEASE_SECONDS = 600.0
_NEAR = 5
_WRITTEN = (".md", ".markdown", ".txt", ".json")  # what nothing runs


class Vault:
    """The vault of a project. Where it lies is remembered on this machine; ``made`` is told of a new one.

    Everything raises NoVaultError before ``init``, VaultFileError where the disk does not allow it, and NotAVaultError
    where the folder became something else.
    """

    def __init__(
        self,
        core: Core,
        applying: Callable[[], Applying],
        *,
        made: Callable[[Path, str, str], None] = lambda root, project, old: None,
    ) -> None:
        self._store, self._projects = core.store, core.projects
        self._applying = applying
        self._zone = core.settings.zone
        self._made = made
        self._lease = NamedLease(core.store, core.journal, "vault", seconds=_LEASE_SECONDS)

    # --- where ------------------------------------------------------------------------------------------

    def init(self, path: Path | str, *, project: str | None = None) -> VaultExported:
        """Make an empty folder, or one that is this project's vault already, the vault, and write it.

        An empty one takes over the files of the vault that there was. What is edited there is taken in.

        Raises NotAVaultError: it holds something else, or lies inside another vault.
        """
        name = self._project(project)
        try:
            root = Path(path).expanduser().absolute()
        except (RuntimeError, ValueError) as exc:
            raise VaultFileError(str(path)[:200], "this is not a path", hint="give the path of a folder") from exc
        refuse_secret("path", str(root))
        if self._betrays(root):
            why = "the memory is encrypted, and a vault in its folder would be readable"
            raise VaultFileError(str(root), why, hint="choose another folder: `engram vault init PATH`")
        old = get_meta(self._store, _key(name)) or ""
        with self._alone():
            folder = Folder(root)
            said = self._claim(folder, name, Folder(Path(old)) if old else folder)
            with self._store.transaction():
                set_meta(self._store, _key(name), str(folder.root))
        exported = self.take_in(project=name).exported
        assert exported is not None
        self._made(folder.root, name, old)
        return replace(exported, warnings=(*said, *exported.warnings))

    def _claim(self, folder: Folder, name: str, old: Folder) -> list[str]:
        """Make the folder the project's, with the files of the ``old`` vault where it has none; return what to say."""
        is_new = folder.claim(name, written=self._written(name, folder))
        had = old.manifest() if old.root != folder.root and old.root.is_dir() else None
        if had is not None and had.project == name and is_new:
            return [f"{old.move_to(folder)} files were moved here from {old.root}"]
        if is_new:
            self._write_manifest(folder, Manifest(name))
        elif had is not None:
            return [f"the old vault stays at {old.root}; `engram vault init {old.root}` returns to it"]
        return []

    def folder(self, project: str | None = None, *, home: Path | None = None) -> Folder:
        """Return the folder of the project's vault; without one the folder of its name in ``home`` becomes it.

        One that lies in the folder of an encrypted memory, from before it was encrypted, is none.
        """
        name = self._project(project)
        path = get_meta(self._store, _key(name))
        if path and not self._betrays(Path(path)):
            return Folder(Path(path))
        if home is None:
            raise NoVaultError(name)
        self.init(home / slug_of(name), project=name)
        return self.folder(name)

    def _betrays(self, root: Path) -> bool:
        """Return whether a vault at ``root`` would be readable beside the encrypted memory."""
        return bool(self._store.key) and real_path(root).is_relative_to(real_path(self._store.path.parent))

    # --- the two directions -----------------------------------------------------------------------------

    def export(self, *, project: str | None = None) -> VaultExported:
        """Write the memory as it is now: the same memory gives the same bytes.

        Raises VaultEditedError: a person edited files since; an import takes that in first.
        """
        name, folder = self._project(project), self.folder(project)
        with self._alone():
            pages, views, unread = self._edited(folder, name)
            if pages or views:
                raise VaultEditedError([*(page.path for page in pages), *views])
            return self._export(folder, name, unread=unread)

    def take_in(
        self,
        *,
        prune: bool = False,
        dry_run: bool = False,
        project: str | None = None,
        mine: bool | Collection[str] = False,
    ) -> VaultImported:
        """Take what a person edited into the memory, and write the vault anew.

        A changed item is a revision, a new one a row by the write path, a missing one nothing unless ``prune`` deletes
        it (it can be undeleted). Of an item that the memory changed as well the memory's text becomes a version. What
        is no item, or is refused, is kept below its file, an edited JSON file beside it. A file with a merge conflict
        changes nothing and stays as it is. With ``dry_run`` nothing is changed.

        In a folder that git shares anybody may have edited a file: it waits until the person says that the edits are
        theirs, all of them or those of these files (``mine``).
        """
        name, folder = self._project(project), self.folder(project)
        with self._alone():
            edited, views, unread = self._edited(folder, name)
            # Those in which a merge left both sides, and that the memory does not write so.
            conflicting = [page.path for page in edited if has_conflict(page.text)]
            texts = self._texts(name) if conflicting else {}
            unmerged = [path for path in conflicting if not has_conflict(texts.get(path, ""))]
            paths = [page.path for page in edited if page.path not in unmerged]
            theirs = self._not_claimed(folder, paths, mine)
            pages = [page for page in edited if page.path not in (*unmerged, *theirs)]
            left = (*starmap(unreadable, unread.items()), *map(with_conflict, unmerged), *map(not_claimed, theirs))
            wanted = [edit for edit in self._edits(folder, name, pages) if prune or edit.action != "delete"]
            if dry_run:
                shown = [kept_beside(path, "would keep", "a file beside it") for path in views]
                return VaultImported(str(folder.root), (*map(plan_of, wanted), *shown, *left), True)
            beside = [kept_beside(path, "kept", folder.set_aside(path, text)) for path, text in views.items()]
            for path in views:  # of an entity that the memory keeps elsewhere, or not at all, none is written anew
                folder.remove(path)
            applied = self._applying().apply(wanted, project=name)
            kept = {page.path: page.tail for page in pages}
            for edit, done in zip(wanted, applied, strict=True):
                if done.outcome in ("kept", "refused"):
                    kept[edit.path] = "\n".join(filter(None, (kept[edit.path], edit.item.raw)))
            exported = self._export(folder, name, kept, without=[*unmerged, *theirs], unread=unread)
            done_with = (*applied, *beside, *left)
            return VaultImported(str(folder.root), done_with, False, exported, exported.warnings)

    def _not_claimed(self, folder: Folder, paths: Sequence[str], mine: bool | Collection[str]) -> list[str]:
        """Return the edited files of a vault that git shares which the person has not said to be theirs."""
        claimed = paths if mine is True else mine or ()
        waiting = [path for path in paths if path not in claimed]
        repository = find_repository(folder.root) if waiting else None
        return waiting if repository is not None and repository.remote else []

    def status(self, *, project: str | None = None) -> VaultStatus:
        """Return the edits since the last export, and the memory's own changes."""
        name, folder = self._project(project), self.folder(project)
        manifest = folder.manifest() or Manifest(name)
        pages, views, unread = self._edited(folder, name)
        edited = [*(page.path for page in pages), *views, *unread]
        texts = {path: text for path, text in self._texts(name).items() if path not in unread}
        tails = {path: parse(path, folder.read(path) or "").tail for path in texts}
        behind = [
            path for path, text in texts.items() if manifest.files.get(path) != digest(with_tail(text, tails[path]))
        ]
        behind += [path for path in manifest.files if path not in texts]
        own = sum(not is_generated(path) for path in folder.files())
        return VaultStatus(str(folder.root), name, len(texts), tuple(edited), tuple(sorted({*behind} - {*edited})), own)

    def tend(self, *, until: float | None = None) -> dict[str, float]:
        """Take in what was edited in the vaults of this machine, and write what the memory knows now.

        Of one where nothing changed on either side only its files are looked at. Beside answers (``until``) a vault
        that takes long to write is written seldom, unless its files changed.
        """
        counts = {"applied": 0.0, "written": 0.0}
        for [name] in self._store.tuples(HERE):
            try:
                folder = self.folder(name)
            except NoVaultError:
                continue
            if not folder.root.is_dir() or not self._is_due(folder, name, patient=until is not None):
                continue
            begun = time.monotonic()
            with suppress(VaultBusyError):
                done = self.take_in(project=name)
                counts["applied"] += sum(one.outcome not in ("kept", "refused") for one in done.applied)
                counts["written"] += len(done.exported.written) if done.exported is not None else 0
                now = time.time()
                pause = now + _PAUSES * (time.monotonic() - begun)
                with self._store.transaction():
                    set_meta(self._store, _SEEN + name, " ".join([*self._seen(folder, name), f"{pause:.0f}"]))
        return counts

    def _is_due(self, folder: Folder, project: str, *, patient: bool) -> bool:
        files, memory, pause = (get_meta(self._store, _SEEN + project) or "- - 0").split()
        seen = self._seen(folder, project)
        if seen[0] != files:
            return True
        return seen[1] != memory and not (patient and time.time() < float(pause))

    def _seen(self, folder: Folder, project: str) -> tuple[str, str]:
        """Return a digest of the files of a vault, and of what changes with the memory."""
        stats = [(path, folder.place(path).stat()) for path in folder.files()]
        files = [f"{path} {stat.st_size} {stat.st_mtime_ns}" for path, stat in stats]
        memory = [get_meta(self._store, "clock") or "", *promoted_names(self._store, project)]
        return digest("\n".join(files)), digest("\n".join(memory))

    # --- how --------------------------------------------------------------------------------------------

    def _project(self, project: str | None) -> str:
        with self._store.transaction():
            return self._projects.for_write(project).project

    def _texts(self, project: str) -> dict[str, str]:
        rows = shown_rows(self._store, project)
        named = promoted_names(self._store, project)
        by = replacements(self._store, [row.sync_id for row in rows if row.lifecycle == "historical"])
        names = {row.id: row.sync_id for row in rows}
        replaced = {sync_id: names[newer] for sync_id, newer in by.items() if newer in names}
        return rendered(shelved(rows, entity_edges(self._store), named, replaced), self._zone)

    def texts(self, project: str | None = None) -> dict[str, str]:
        """Return the memory of a project as files, by path; there need be no vault."""
        return self._texts(self._projects.for_read(project).project)

    def _edited(self, folder: Folder, project: str) -> tuple[list[VaultPage], dict[str, str], dict[str, str]]:
        """Return the generated files that differ from the last export: Markdown, the text of each JSON file; and why
        some cannot be read.

        A file that is missing says nothing. Nothing reads a JSON file back, and no export loses it.
        """
        manifest = folder.manifest() or Manifest(project)
        pages: list[VaultPage] = []
        views: dict[str, str] = {}
        unread: dict[str, str] = {}
        paths = sorted({*filter(is_generated, folder.files()), *manifest.files})
        for path, text in readable(paths, folder.text, aside=unread.__setitem__):
            is_page = path.endswith(".md")
            if text is None or digest(text if is_page else plain_lines(text)) == manifest.files.get(path):
                continue
            if is_page:
                pages.append(with_appended(parse(path, text), manifest.tails.get(path, "")))
            else:
                views[path] = text
        now = self._texts(project) if views else {}
        return pages, {path: text for path, text in views.items() if plain_lines(text) != now.get(path)}, unread

    def _edits(self, folder: Folder, project: str, pages: list[VaultPage]) -> list[Edit]:
        if not pages:
            return []
        manifest = folder.manifest() or Manifest(project)
        by_anchor = {anchor_of(row): row for row in shown_rows(self._store, project)}
        now: dict[str, Now] = {}
        heads = {path: frozenset(lines) for path, lines in manifest.heads.items()}
        for path, text in self._texts(project).items():
            if path.endswith(".md"):
                page = parse(path, text)
                heads[path] = heads.get(path, frozenset()) | {*digests_beside_items(page)}
                items = ((item, by_anchor.get(item.anchor)) for item in page.items)
                now |= {item.anchor: Now(path, item, row) for item, row in items if row is not None}
        for page in pages:
            if page.path not in heads and is_entity(page.path):  # a second page of an entity
                same = [lines for path, lines in heads.items() if page.path.split("/")[-2:] == path.split("/")[-2:]]
                heads[page.path] = frozenset().union(*same)
        return list(edits(pages, manifest.items, now, heads))

    def _export(
        self,
        folder: Folder,
        project: str,
        tails: dict[str, str] | None = None,
        without: Collection[str] = (),
        unread: Mapping[str, str] | None = None,
    ) -> VaultExported:
        """Write every file, then the manifest: what is missing of it after a crash the next run finds equal.

        Of the files ``without`` which it is done, and of those ``unread``, the manifest says what it said before.
        """
        manifest, whole_texts = folder.manifest() or Manifest(project), self._texts(project)
        unread = unread or {}
        without = (*without, *unread)
        texts = {path: text for path, text in whole_texts.items() if path not in without}
        old = [path for path in manifest.files if path not in texts and path not in without]
        for path in {*texts, *old} - {*(tails or {})}:
            if path.endswith(".md") and (tail := parse(path, folder.read(path) or "").tail):
                tails = (tails or {}) | {path: tail}
        warnings = [f"{path} was left as it is: {why}" for path, why in unread.items()]
        for path in {*(tails or {})} - {*texts}:  # nothing of it is left but what the person wrote
            if path not in manifest.files and day_of(path) is None and (text := folder.read(path)):
                warnings.append(f"engram no longer writes {path}; its text is kept in {folder.set_aside(path, text)}")
                folder.remove(path)
            elif (tails or {})[path]:
                texts[path] = ""
        files = {path: told for path, told in manifest.files.items() if path in without}
        heads = {path: lines for path, lines in manifest.heads.items() if path in without}
        held = ((path, whole_texts.get(path) if path in unread else folder.read(path)) for path in without)
        pages = [parse(path, text or "") for path, text in held if path.endswith(".md")]
        anchors = [item.anchor for page in pages for item in page.items]
        items = {anchor: manifest.items[anchor] for anchor in anchors if anchor in manifest.items}
        marks = {path: mark for path, mark in manifest.tails.items() if path in without}
        changed: list[str] = []
        for path, text in sorted(texts.items()):
            whole = with_tail(text, (tails or {}).get(path, "")).removeprefix("\n\n")
            if whole and folder.write(path, whole):
                changed.append(path)
            files[path] = digest(whole)
            if own := (tails or {}).get(path):
                marks[path] = tail_mark(own.strip("\n"))
            if path.endswith(".md"):
                page = parse(path, text)
                items |= {item.anchor: digest(item.raw) for item in page.items if item.anchor}
                heads[path] = digests_beside_items(page)
        gone = [path for path in old if path not in texts]
        for path in gone:
            folder.remove(path)
        self._write_manifest(folder, Manifest(project, files, items, heads, marks))
        return VaultExported(str(folder.root), len(files), tuple(changed), tuple(gone), tuple(warnings))

    def _write_manifest(self, folder: Folder, manifest: Manifest) -> None:
        text = written(manifest)
        older = {older for older in self._written(manifest.project, folder) if older == folder.manifest_digest()}
        with self._store.transaction():  # before the file: after a crash between them the old one is still known
            set_meta(self._store, f"{_key(manifest.project)}:written", " ".join([digest(text), *older]))
        folder.write_manifest(text)

    def _written(self, project: str, folder: Folder) -> list[str]:
        """Return the digests of the manifests that this memory wrote. Older versions did not keep them."""
        kept = get_meta(self._store, f"{_key(project)}:written")
        is_known = get_meta(self._store, _key(project)) == str(folder.root)
        return kept.split() if kept else [folder.manifest_digest()] if is_known else []

    @contextmanager
    def _alone(self) -> Iterator[None]:
        with self._lease.holding() as held:
            if held is None:
                raise VaultBusyError
            try:
                yield
            except OSError as exc:
                raise VaultFileError(exc.filename or "the vault", reason(exc)) from exc


_SEEN = "vault-seen:"
_PAUSES = 100  # times as long as writing took


def _key(project: str) -> str:
    return f"vault:{project}"


_EACH_SECONDS = 2.0


def watch(vault: Vault, *, project: str | None = None) -> Iterator[VaultImported | VaultExported]:
    """Yield each import that found something and each export that wrote something, until the caller stops.

    A look costs reading the files that changed; watchfiles wakes it at once, else it is every two seconds.
    """
    waking = _changes(vault.folder(project).root)
    shown: tuple[Applied, ...] = ()
    while True:
        with suppress(VaultBusyError, VaultEditedError):  # the next look
            taken = vault.take_in(project=project)
            if taken.applied and taken.applied != shown:  # a conflict stays until somebody mends it
                yield taken
            shown = taken.applied
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
    yield from (batch for batch in followed if not batch or any(not path.endswith(MANIFEST) for _, path in batch))


class VaultFiles:
    """Reads and writes the files of the project's vault. Without a vault the first write makes one below ``home``, and
    reads are answered from the memory.

    A path leads out of no vault: OutsideVaultError.
    """

    def __init__(self, vault: Vault, home: Path) -> None:
        self._vault = vault
        self._home = home

    def write(self, path: str, text: str, *, append: bool = False, project: str | None = None) -> FileWritten:
        """Replace a file, or append to it, with the folders it needs. Of a file that the memory owns (``identity.md``,
        a day) the change is taken in at once, as an import does."""
        if not path.lower().endswith(_WRITTEN):
            raise InvalidArgumentError("path", path, expected=f"a file that ends in {', '.join(_WRITTEN)}")
        refuse_secret("path", path)
        hidden = redact(text)
        folder = self._vault.folder(project, home=self._home)
        whole = f"{folder.read(path) or ''}{hidden.text}" if append else hidden.text
        if len(whole.encode()) > FILE_LIMIT_BYTES:
            raise VaultFileError(
                path, f"it would have more than {FILE_LIMIT_BYTES:,} bytes", hint="write a shorter text"
            )
        if is_generated(path) and not path.endswith(".md"):
            raise VaultFileError(path, "only engram writes this file", hint="write another file")
        folder.write(path, whole)
        applied: tuple[Applied, ...] = ()
        if is_generated(path):
            applied = self._vault.take_in(project=project, mine={path}).applied
        return FileWritten(path, len(whole.encode()), applied, intake_notes(hidden.count, None))

    def read(self, path: str, *, project: str | None = None) -> FileText:
        """Return the text of a file; of one that is missing none, and up to five files with similar names."""
        folder = self._folder(project)
        files = self._vault.texts(project) if folder is None else folder.files()
        text = folder.read(path) if folder else self._vault.texts(project).get(path)
        if text is not None:
            return FileText(path, True, text)
        near = difflib.get_close_matches(path, [*files], n=_NEAR, cutoff=0.6)
        return FileText(path, False, "", tuple(near))

    def exists(self, path: str, *, project: str | None = None) -> bool:
        """Return whether there is such a file."""
        return self.read(path, project=project).found

    def list(self, under: str = "", *, project: str | None = None) -> FileList:
        """Return the files of the vault, or of a folder in it, relative to the vault."""
        if folder := self._folder(project):
            return FileList(tuple(folder.files(under)))
        below = f"{under.strip('/')}/" if under.strip("/. ") else ""
        return FileList(tuple(sorted(path for path in self._vault.texts(project) if path.startswith(below))))

    def at(self, path: str, *, project: str | None = None) -> MemoryPath:
        """Return a file or a folder of the memory as files, with the person's own where there is a vault.

        Raises DocumentNotFoundError.
        """
        files = self._vault.texts(project) | dict(self.own(project))
        wanted = path.strip("/")
        if wanted in files:
            text = files[wanted]
            return MemoryPath(wanted, "file", json.loads(text) if is_generated_json(wanted) else text)
        below = {name[len(wanted) + 1 :].partition("/")[0] for name in files if name.startswith(f"{wanted}/")}
        if not below:
            raise DocumentNotFoundError(wanted, difflib.get_close_matches(wanted, files, n=_NEAR, cutoff=0.6))
        return MemoryPath(wanted, "directory", entries=tuple(sorted(below)))

    def own(self, project: str | None = None) -> Iterator[tuple[str, str]]:
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

    def _folder(self, project: str | None) -> Folder | None:
        with suppress(NoVaultError):
            return self._vault.folder(project)
        return None
