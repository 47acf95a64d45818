"""Asks git's history about texts that are not where they were: who took them out, when, and where they may be."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath

from engram_py.anchors.departures import Text, Verdict, find_departure, removal
from engram_py.anchors.file_history import MAX_CONTEXT, Change, Commit, Log, read_log, read_renames
from engram_py.anchors.values import Anchor
from engram_py.dataclass import asdict, dataclass, replace
from engram_py.git.answers import GitAnswers
from engram_py.git.program import Deadline, has_git
from engram_py.git.repository import Repository

Touched = Mapping[str, Sequence[Change]]

# The newest commits first: nearly every change that anybody asks about is among them.
_DEPTHS = (256, 4_096)
_NAMES_FOLLOWED = 8
_MOST_PATHS = 100
MOST_CANDIDATES = 12


@dataclass(frozen=True, slots=True)
class FileEvent:
    """A commit, by whom it is, and how many HEAD has since."""

    commit: str
    author: str
    commits_ago: int


@dataclass(frozen=True, slots=True)
class Trace:
    """What history says of one text. ``path`` is what its file was called last, ``candidates`` are files that the
    commit which took the text out touched as well. ``present`` is whether HEAD has the file, ``removal`` what deleted
    it; neither where git does not reach that far."""

    path: str
    departure: FileEvent | None = None
    uncommitted: bool = False
    candidates: tuple[str, ...] = ()
    removal: FileEvent | None = None
    present: bool = False


def trace(
    repository: Repository, anchors: Sequence[Anchor], answers: GitAnswers, patience: Deadline
) -> dict[int, Trace]:
    """What became of the texts of ``anchors``, by the anchor's id; in two or three questions to git for all of them,
    none where they were asked before."""
    head = repository.commit
    if head is None:
        return {anchor.id: Trace(anchor.path, uncommitted=True) for anchor in anchors}
    keys = {anchor.id: _key(anchor) for anchor in anchors}
    known = {key: _from_json(text) for key, text in answers.get(repository, head, [*keys.values()]).items()}
    asked = [anchor for anchor in anchors if keys[anchor.id] not in known]
    # Who has little time finds out once how long git takes, and leaves the question to those that have more.
    kinds = ["trace"] if patience.whole else ["trace", "hasty trace"]
    if asked and patience.left > 0 and not any(answers.refused(repository, head, kind) for kind in kinds):
        for some in _by_paths(asked):
            found = _follow(repository, head, some, patience)
            if found is None:
                if has_git(repository.root):  # another process may have one
                    answers.refuse(repository, head, kinds[-1])
                break
            answers.keep(repository, head, {keys[one]: json.dumps(asdict(found[one])) for one in found})
            known |= {keys[one]: found[one] for one in found}
    return {anchor.id: known.get(keys[anchor.id], Trace(anchor.path)) for anchor in anchors}


def _by_paths(anchors: Sequence[Anchor]) -> Iterator[list[Anchor]]:
    """The anchors in groups of so many files that a command line holds their names."""
    ordered = sorted(anchors, key=lambda anchor: (anchor.path, anchor.id))
    paths = [*dict.fromkeys(anchor.path for anchor in ordered)]
    for first in range(0, len(paths), _MOST_PATHS):
        some = {*paths[first : first + _MOST_PATHS]}
        yield [anchor for anchor in ordered if anchor.path in some]


def _follow(
    repository: Repository, head: str, anchors: Sequence[Anchor], patience: Deadline
) -> dict[int, Trace] | None:
    """Trace every text to the commit that took it out, and its file through the names it had since."""
    traces = {anchor.id: Trace(anchor.path) for anchor in anchors}
    open_ends = list(anchors)
    for turn in range(_NAMES_FOLLOWED):
        paths = {anchor.id: traces[anchor.id].path for anchor in open_ends}
        events = _events(repository, head, open_ends, paths, patience, was_here=not turn)
        if events is None:
            return None
        ends = {one: removal(log, paths[one]) for one, (_, log) in events.items()}
        left = {
            deed.id for one, (event, _) in events.items() for deed in (event, ends[one]) if isinstance(deed, Commit)
        }
        touched = read_renames(repository.root, sorted(left), patience) if left else {}
        for one, (event, log) in events.items():
            traces[one] = _ended(_seen(traces[one], event, log, touched), ends[one], log, touched)
        open_ends = [anchor for anchor in open_ends if _renamed(traces, anchor, ends.get(anchor.id), touched)]
        if not open_ends:
            return traces
    for anchor in open_ends:  # renamed more often than anybody follows: who changed it stays unsaid
        traces[anchor.id] = Trace(traces[anchor.id].path)
    return traces


def _seen(known: Trace, event: Commit | Verdict, log: Log, touched: Touched) -> Trace:
    """What is known of a text, after a look at the history of one name of its file."""
    if event is Verdict.PRESENT:  # so an earlier name of the file lost it by the renaming alone
        return Trace(known.path, uncommitted=True)
    if not isinstance(event, Commit):
        return known
    return Trace(known.path, departure=_deed(event, log), candidates=_candidates(touched.get(event.id, ()), known.path))


def _ended(known: Trace, end: Commit | Verdict, log: Log, touched: Touched) -> Trace:
    """The same, with what became of the file. A commit of which git did not tell what it renamed deleted nothing that
    anybody is sure of."""
    removal = _deed(end, log) if isinstance(end, Commit) and end.id in touched else None
    return replace(known, removal=removal, present=end is Verdict.PRESENT)


def _deed(commit: Commit, log: Log) -> FileEvent:
    return FileEvent(commit.id, commit.author, log.commits_since(commit.id))


def _renamed(traces: dict[int, Trace], anchor: Anchor, end: Commit | Verdict | None, touched: Touched) -> bool:
    """Whether the commit that removed the file only renamed it; the trace goes on under the new name then."""
    known = traces[anchor.id]
    for change in touched.get(end.id, ()) if isinstance(end, Commit) else ():
        if change.kind == "R" and change.old_path == known.path:
            traces[anchor.id] = replace(known, path=change.path, removal=None)
            return True
    return False


def _events(
    repository: Repository,
    head: str,
    anchors: Sequence[Anchor],
    paths: Mapping[int, str],
    patience: Deadline,
    *,
    was_here: bool,
) -> dict[int, tuple[Commit | Verdict, Log]] | None:
    found: dict[int, tuple[Commit | Verdict, Log]] = {}
    pending = list(anchors)
    for most in _DEPTHS:
        names = sorted({paths[anchor.id] for anchor in pending})
        context = min(MAX_CONTEXT, max((anchor.lines or 0 for anchor in pending), default=0))
        log = read_log(repository.root, head, names, context=context, most=most, patience=patience)
        if log is None:
            return None
        for anchor in pending:
            found[anchor.id] = find_departure(log, paths[anchor.id], _text(anchor), was_here=was_here), log
        pending = [anchor for anchor in pending if found[anchor.id][0] is Verdict.UNSETTLED]
        if not pending or log.complete:
            break
    return found


def _text(anchor: Anchor) -> Text:
    mark = anchor.mark
    assert mark is not None
    return Text(mark, anchor.lines, anchor.blob, anchor.git_commit)


def _candidates(changes: Sequence[Change], path: str) -> tuple[str, ...]:
    """The files a commit wrote besides ``path``, those first that it most likely moved something to."""
    old = PurePosixPath(path)
    likely = [one for one in changes if one.kind != "D" and one.path != path and one.path.endswith(old.suffix)]

    def rank(change: Change) -> tuple[bool, bool, bool, str]:
        new = PurePosixPath(change.path)
        return new.name != old.name, change.kind == "M", new.parent != old.parent, change.path

    return tuple(one.path for one in sorted(likely, key=rank)[:MOST_CANDIDATES])


def _key(anchor: Anchor) -> str:
    facts = (anchor.path, anchor.start_line, anchor.end_line, anchor.digest, anchor.blob, anchor.git_commit)
    return "traced:" + hashlib.blake2b(json.dumps(facts).encode(), digest_size=16).hexdigest()


def _from_json(text: str) -> Trace:
    values = json.loads(text)
    deeds = {name: FileEvent(**values[name]) if values[name] else None for name in ("departure", "removal")}
    return Trace(**values | deeds | {"candidates": tuple(values["candidates"])})
