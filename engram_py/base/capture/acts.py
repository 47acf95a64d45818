"""Read what a host says that its agent's tool does, and how it went: a command, or the files it writes and the text it
puts there and takes away.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

from engram_py.base.dataclass import dataclass
from engram_py.base.files import lines_of

MOST_TEXT_CHARS = 200_000
MOST_COMMAND_CHARS = 4_000
MOST_FILES = 50
_PATH_LIMIT = 4_096

# Without what is neither letter nor digit; a call whose input names none of the keys below changes nothing anyway.
_WRITERS = """
edit write multiedit notebookedit update replace writefile editfile applypatch fswrite strreplace createfile editfiles
patch writetofile replaceinfile searchreplace strreplaceeditor
"""
_WRITING = frozenset(_WRITERS.split())
_FILES = ("file_path", "filePath", "notebook_path", "absolute_path", "target_file", "path", "files")
_NEW = ("new_string", "newString", "new_str", "content", "contents", "new_source", "file_text", "replace", "text")
_OLD = ("old_string", "oldString", "old_str", "search")
_COMMAND = ("command", "cmd", "commandLine")
_PATCH = ("command", "patch", "input", "patchText")
_PATCHED = ("*** Update File: ", "*** Add File: ", "*** Delete File: ", "*** Move to: ")

_EXIT_CODE = "Exit Code: "  # Gemini writes the line where the code is not 0
_CODEX_TAIL_BYTES = 512 * 1024


@dataclass(frozen=True, slots=True)
class Act:
    """One call of a tool: it runs ``command``, or writes to ``files``, as the host spells them.

    ``added`` and ``removed`` are the texts that it puts there and takes away, each cut to 200,000 characters.
    """

    command: str = ""
    files: tuple[str, ...] = ()
    added: str = ""
    removed: str = ""

    @property
    def is_nothing(self) -> bool:
        return not self.command and not self.files


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a call went: ``failed`` is None where the host does not say. ``output`` is the end of what it printed."""

    failed: bool | None = None
    output: str = ""


NOTHING, UNKNOWN = Act(), Outcome()


def act_of(tool: str, given: object) -> Act:
    """Return what a tool does with its input, in any host's spelling; an act that is nothing for one that reads."""
    if "".join(filter(str.isalnum, tool.lower())) in _WRITING:
        return _edit(given)
    if not isinstance(given, Mapping):
        return NOTHING
    return Act(command=_words(next((given[name] for name in _COMMAND if name in given), "")))


def outcome_of(value: Mapping[str, Any], *, failed: bool | None) -> Outcome:
    """Return how the call of a hook's input went; ``failed`` is what the event's own name says.

    Claude Code says it by the event, Gemini by a line of the answer, Codex in its transcript alone.
    """
    response = value.get("tool_response", value.get("tool_result", value.get("toolResult")))
    output = _printed(value.get("error")) or _printed(response)
    if failed is None and isinstance(response, Mapping):
        failed = _failed(response, output)
    if failed is None:
        failed, output = _of_rollout(value, output)
    return Outcome(failed, output[-MOST_TEXT_CHARS:])


def _edit(given: object) -> Act:
    if isinstance(given, str):
        return _act_of_patch(given)
    if not isinstance(given, Mapping):
        return NOTHING
    for name in _FILES:
        found = given.get(name)
        names = [found] if isinstance(found, str) else found if isinstance(found, list) else []
        files = tuple(clean(one[:_PATH_LIMIT]) for one in names[:MOST_FILES] if isinstance(one, str) and one.strip())
        if files:
            return Act(files=files, added=_texts(given, _NEW), removed=_texts(given, _OLD))
    return next((_act_of_patch(given[name]) for name in _PATCH if isinstance(given.get(name), str)), NOTHING)


def _act_of_patch(patch: str) -> Act:
    lines = lines_of(patch[:MOST_TEXT_CHARS])
    files = (line.removeprefix(mark).strip() for line in lines for mark in _PATCHED if line.startswith(mark))
    added, removed = ("\n".join(line[1:] for line in lines if line[:1] == sign) for sign in "+-")
    return Act(files=tuple(clean(name) for name in files if name)[:MOST_FILES], added=added, removed=removed)


def _texts(given: Mapping[str, Any], names: tuple[str, ...]) -> str:
    """Return the texts of a call, and of each part of a call with several edits, on lines of their own."""
    parts = [given, *(one for one in _listed(given.get("edits")) if isinstance(one, Mapping))]
    found = (part[name] for part in parts for name in names if isinstance(part.get(name), str))
    return "\n".join(found)[:MOST_TEXT_CHARS]


def _listed(value: object) -> Iterator[object]:
    yield from value if isinstance(value, list) else ()


def _words(command: object) -> str:
    """Return a command line; of a list of words without the shell that is started with it."""
    if isinstance(command, list):
        words = [one for one in command if isinstance(one, str)]
        command = words[-1] if len(words) == 3 and words[1] in ("-c", "-lc") else " ".join(words)
    return clean(command[:MOST_COMMAND_CHARS]).strip() if isinstance(command, str) else ""


def _printed(value: object) -> str:
    if isinstance(value, str):
        return clean(value[-MOST_TEXT_CHARS:])
    if isinstance(value, Mapping):
        names = ("stdout", "stderr", "llmContent", "output", "error", "textResultForLlm")
        return clean("\n".join(value[name] for name in names if isinstance(value.get(name), str))[-MOST_TEXT_CHARS:])
    return ""


def _failed(response: Mapping[str, Any], output: str) -> bool | None:
    for name in ("exit_code", "exitCode", "returncode"):
        if isinstance(response.get(name), int):
            return bool(response[name])
    if "llmContent" in response:
        codes = [line for line in lines_of(output) if line.startswith(_EXIT_CODE)]
        return bool(codes) and codes[-1].removeprefix(_EXIT_CODE).strip() != "0"
    if "stdout" in response:  # Claude Code has an event of its own for what failed
        return None if response.get("interrupted") else False
    return None


def _of_rollout(value: Mapping[str, Any], output: str) -> tuple[bool | None, str]:
    """Return whether Codex's transcript says that this call failed, and all it printed."""
    path, call = value.get("transcript_path"), value.get("tool_use_id")
    if not (isinstance(path, str) and isinstance(call, str) and path.endswith(".jsonl") and call):
        return None, output
    import json

    for line in reversed(_tail(path).splitlines()):
        if call.encode() not in line or b"exit_code" not in line:
            continue
        try:
            item = json.loads(line)["payload"]["item"]
            if item["id"] == call:
                return bool(item["exit_code"]), _printed(item.get("aggregated_output")) or output
        except (ValueError, KeyError, TypeError, RecursionError):
            continue
    return None, output


def _tail(path: str) -> bytes:
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - a Path costs a hook more than the reading
            file.seek(max(0, os.fstat(file.fileno()).st_size - _CODEX_TAIL_BYTES))
            return file.read(_CODEX_TAIL_BYTES)
    except (OSError, ValueError):
        return b""


def clean(text: str) -> str:
    """Return ``text`` as it can be stored: without NUL, and without halves of surrogate pairs."""
    return text.replace("\0", " ").encode("utf-8", "replace").decode()
