"""Transcripts of Claude Code: the user's prompts, and the learnings that the agent listed."""

from __future__ import annotations

from pathlib import Path

from engram_py.capture.passive import learning_title, parse_learnings
from engram_py.capture.trivial_prompts import is_trivial
from engram_py.files import open_regular, reason
from engram_py.interchange.sources.draft import Source, moment
from engram_py.interchange.sources.files import directory_of
from engram_py.sessions.transcript_formats import turn_of
from engram_py.sessions.values import Turn

MOST_LINE_BYTES = 4 * 1024 * 1024
_MOST_PROMPT_CHARS = 50_000


def read_transcripts(source: Source) -> None:
    """Read ``~/.claude/projects/*/*.jsonl``, or one file: prompts and the items of Key Learnings sections.

    What else was said stays where it is. A line that is cut off or too long says nothing.
    """
    for path in source.files(".jsonl"):
        directory = directory_of(path)
        project = source.place(directory)
        session_id = path.stem[:100]
        found = False
        try:
            for turn in _turns(path):
                found = True
                _take(source, turn, session_id, project)
        except OSError as exc:
            source.note(f"{path} was left out: {reason(exc)}")
        if found:
            source.session(session_id, project=project, directory=directory)


def _take(source: Source, turn: Turn, session_id: str, project: str | None) -> None:
    said_at = moment(turn.said_at)
    if turn.role == "user" and not turn.agent:
        text = turn.content[:_MOST_PROMPT_CHARS]
        if is_trivial(text):  # the hook keeps none of these either
            return
        source.prompt(session_id, turn.key, content=text, session_id=session_id, project=project, created_at=said_at)
    elif turn.role == "assistant":
        more = {"type": "passive", "session_id": session_id, "created_at": said_at, "updated_at": said_at}
        for number, learning in enumerate(parse_learnings(turn.content)):
            title, identity = learning_title(learning), (session_id, turn.key, number)
            source.observation(*identity, title=title, content=learning, project=project, **more)


def _turns(path: Path) -> list[Turn]:
    """Yield the turns of a transcript; none of a file with another shape."""
    turns = []
    with open_regular(path) as lines:
        while line := lines.readline(MOST_LINE_BYTES):
            if not line.endswith(b"\n") and len(line) == MOST_LINE_BYTES:
                while len(rest := lines.readline(MOST_LINE_BYTES)) == MOST_LINE_BYTES and not rest.endswith(b"\n"):
                    pass
                continue
            if turn := turn_of(line):
                turns.append(turn)
    return turns
