"""Anchors: the files an observation is about, and what became of them since."""

from __future__ import annotations

from typing import Literal

from engram_py.base.dataclass import dataclass
from engram_py.base.reasons import Reason, Told

AnchorOrigin = Literal["given", "where"]
AnchorWord = Literal["fresh", "changed", "moved", "gone", "unknown"]
VisibilityWord = Literal["in_history", "elsewhere", "unknown"]

MOST_ANCHORS = 32  # of one observation
PATH_LIMIT_CHARS = 1_024
LINE_LIMIT = 9_999_999

# What the store has instead of a text, where the file was not read; any other text there is a problem with the file.
SAVED_OUTSIDE = "saved outside of its repository"
NOT_READ = "it was not read where it was saved"
# Why nothing is known of a file that have nothing to do with the file.
_NOT_OF_THE_FILE = ("not_in_repository", "saved_outside", "not_read", "only_on_branch")
# Why it is not known whether HEAD's history holds a commit.
Unseen = Literal["git_failed", "shallow", "detached", "no_commit", "rewritten", "branch_gone", "not_in_history"]


@dataclass(frozen=True, slots=True)
class Mark:
    """The hashes by which a span is recognised again. ``copies`` identical ones stood in the file, of which it was
    number
    ``ordinal``, counted from 0."""

    digest: str
    probe: str | None = None
    copies: int = 1
    ordinal: int = 0


@dataclass(frozen=True, slots=True)
class Anchor:
    """A file an observation is tied to, as the store holds it. ``path`` is relative to the repository's root, with
    slashes. ``blob`` is what git calls the file, when it was unmodified."""

    id: int
    observation_id: int
    path: str
    start_line: int | None
    end_line: int | None
    origin: AnchorOrigin
    digest: str | None
    probe: str | None
    copies: int
    ordinal: int
    file_digest: str | None
    blob: str | None
    git_commit: str | None
    reason: str | None
    recorded_at: str

    @property
    def mark(self) -> Mark | None:
        return None if self.digest is None else Mark(self.digest, self.probe, self.copies, self.ordinal)

    @property
    def lines(self) -> int | None:
        return None if self.start_line is None or self.end_line is None else self.end_line - self.start_line + 1


ANCHOR_COLUMNS = Anchor.__match_args__


@dataclass(frozen=True, slots=True)
class AnchorState:
    """The state of one anchor. ``now_path`` and its lines are where the text stands now, when that is elsewhere.

    ``commits_ago`` counts the commits since the one that changed it (0: HEAD itself did); None with ``uncommitted``,
    or when git could not say. ``reason`` is why the state is unknown.
    """

    path: str
    start: int | None
    end: int | None
    state: AnchorWord
    now_path: str | None = None
    now_start: int | None = None
    now_end: int | None = None
    commits_ago: int | None = None
    author: str | None = None
    commit: str | None = None
    uncommitted: bool = False
    reason: Reason | None = None

    @property
    def stale(self) -> bool:
        """Whether the observation may no longer be true: the text it was about is not there any more."""
        return self.state in ("changed", "gone")

    @property
    def unreadable(self) -> bool:
        """Whether the file cannot be compared because of the file itself."""
        return self.state == "unknown" and self.reason is not None and self.reason.name not in _NOT_OF_THE_FILE

    @property
    def elsewhere(self) -> bool:
        """Whether the text is on a branch that is not in the history of HEAD: it was never taken away here."""
        return self.state == "unknown" and self.reason is not None and self.reason.name == "only_on_branch"


@dataclass(frozen=True, slots=True)
class FileTexts:
    """A file as an observation was saved about it, and as it is now; ``why`` says why they cannot be shown.

    ``span`` are the first and the last line of the earlier text that the observation is about, counted from 1; None
    for the whole file.
    """

    state: AnchorState
    before: str = ""
    after: str = ""
    span: tuple[int, int] | None = None
    why: str = ""


@dataclass(frozen=True, slots=True)
class Visibility:
    """The place of an observation's commit: in HEAD's history, or elsewhere. ``branch`` names the branch that has it,
    or had it and is ``deleted``."""

    state: VisibilityWord
    branch: str | None = None
    reason: Unseen | None = None
    deleted: bool = False

    @property
    def label(self) -> str:
        """The branch for a reader."""
        return f"{self.branch or ''}{' (deleted)' if self.deleted else ''}"

    @property
    def elsewhere(self) -> bool:
        """Whether its code is not the code that is checked out: it is ranked down, and never injected unasked."""
        return self.state == "elsewhere"


@dataclass(frozen=True, slots=True)
class StaleLine:
    """An observation whose files changed under it; ``anchors`` are those that did."""

    id: int
    title: str
    type: str
    project: str
    review_after: str | None
    updated_at: str
    anchors: tuple[AnchorState, ...]


@dataclass(frozen=True, slots=True)
class Checked:
    """The result of checking a project's anchors; ``states`` counts them by state, and as ``elsewhere`` those of a
    branch that is not merged here, whose observations are listed apart."""

    project: str
    observations: int
    anchors: int
    states: dict[str, int]
    stale: tuple[StaleLine, ...]
    warnings: tuple[Told, ...] = ()
    elsewhere: tuple[StaleLine, ...] = ()

    @property
    def blind(self) -> bool:
        """Whether there were files and none could be read: outside of the repository, for example."""
        return bool(self.anchors) and set(self.states) == {"unknown"}
