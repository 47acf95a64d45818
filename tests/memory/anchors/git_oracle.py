"""What git itself says became of a span: `git diff` where its lines are, `git log -L` who changed them."""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_HUNK = re.compile(r"^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@", re.MULTILINE)


@dataclass(frozen=True)
class Span:
    commit: str
    path: str
    start: int | None
    end: int | None


@dataclass(frozen=True)
class Told:
    """``where`` is the place of an unchanged text, ``file`` what the file is called now."""

    state: str
    where: tuple[str, int | None] | None
    file: str | None


class Oracle:
    def __init__(self, root: Path) -> None:
        self._root = root
        self.git = cache(self._git)

    def _git(self, *arguments: str) -> str:
        command = ["git", "-c", "core.quotePath=false", *arguments]
        done = subprocess.run(command, cwd=self._root, capture_output=True, check=False)
        return done.stdout.decode() if done.returncode == 0 else ""

    def lines(self, commit: str, path: str) -> list[str] | None:
        """A file's lines without trailing blanks; None when there is none."""
        if path not in self.files(commit):
            return None
        return [line.rstrip() for line in self.git("show", f"{commit}:{path}").split("\n")[:-1]]

    @cache  # noqa: B019 (an oracle lives as long as one test)
    def files(self, commit: str) -> frozenset[str]:
        return frozenset(self.git("ls-tree", "-r", "--name-only", commit).splitlines())

    def text(self, span: Span) -> list[str]:
        lines = self.lines(span.commit, span.path)
        assert lines is not None
        return lines if span.start is None else lines[span.start - 1 : span.end]

    def tell(self, span: Span, head: str) -> Told:
        """What `git diff` says of ``span`` at ``head``."""
        file = self._followed(span, head)
        text = self.text(span)
        if file is not None and span.start is None and _without_end(self.lines(head, file)) == _without_end(text):
            return Told("fresh" if file == span.path else "moved", (file, None), file)
        if file is not None and span.start is not None:
            place = self._place(span, text, file, head)
            if place is not None:
                state = "fresh" if (file, place) == (span.path, span.start) else "moved"
                return Told(state, (file, place), file)
        others = self._elsewhere(span, text, file, head)
        if others:
            return Told("moved", others[0], file)
        return Told("changed" if file else "gone", None, file)

    def _place(self, span: Span, text: list[str], file: str, head: str) -> int | None:
        now = self.lines(head, file) or []
        mapped = self._mapped(span, file, head)
        if mapped is not None and now[mapped - 1 : mapped - 1 + len(text)] == text:
            return mapped
        places = _places(now, text)
        return places[0] if len(places) == 1 else None

    def _mapped(self, span: Span, file: str, head: str) -> int | None:
        """The first line of a span that no hunk touched."""
        assert span.start is not None
        assert span.end is not None
        shift = 0
        for first, count, _, added in self._hunks(span, file, head):
            # A pure insertion is said to be after line `first`.
            low, high = (first + 1, first) if not count else (first, first + count - 1)
            if high < span.start:
                shift += added - count
            elif low <= span.end:
                return None
        return span.start + shift

    def _hunks(self, span: Span, file: str, head: str) -> list[tuple[int, int, int, int]]:
        diff = self.git("diff", "--ignore-space-at-eol", "-U0", f"{span.commit}:{span.path}", f"{head}:{file}")
        numbers = (match.groups(default="1") for match in _HUNK.finditer(diff))
        return [(int(a), int(b), int(c), int(d)) for a, b, c, d in numbers]

    def _elsewhere(self, span: Span, text: list[str], file: str | None, head: str) -> list[tuple[str, int | None]]:
        if span.start is None:
            same = [path for path in sorted(self.files(head)) if file is None and self.lines(head, path) == text]
            return [(path, None) for path in same]
        if sum(len(line) > 7 for line in text) < 3:
            return []
        found: list[tuple[str, int | None]] = []
        for path in sorted(self.files(head)):
            if path != file and len(places := _places(self.lines(head, path) or [], text)) == 1:
                found.append((path, places[0]))
        return found

    def _followed(self, span: Span, head: str) -> str | None:
        """What the file is called at ``head``; None when there is none any more."""
        return self._names_since(span, head)[0]

    def deleted(self, span: Span, commit: str, head: str) -> bool:
        """Whether ``commit`` deleted the file, by the last name it had, and ``head`` has none of that name."""
        last = self._names_since(span, head)[1]
        gone = self.git("diff", "--no-renames", "--diff-filter=D", "--name-only", f"{commit}^", commit).splitlines()
        return last in gone and last not in self.files(head)

    def _names_since(self, span: Span, head: str) -> tuple[str | None, str]:
        """The file's name at ``head`` and the last one it had, followed along the main line from where the span's
        commit left it."""
        base = self.git("merge-base", span.commit, head).strip()
        path: str | None = span.path if span.path in self.files(base) else None
        last = span.path
        log = self.git(
            "log", "--reverse", "--first-parent", "-m", "-M", "--name-status", "--format=", f"{base}..{head}"
        )
        for line in log.splitlines():
            kind, *names = line.split("\t")
            if kind.startswith("R") and names[0] == path:
                path = last = names[1]
            elif kind == "D" and names[0] == path:
                path = None
            elif path is None and names[-1] == last:
                path = last
        return path, last

    def wrote(self, commit: str) -> set[str]:
        """The files a commit wrote."""
        return set(self.git("show", "--format=", "--name-only", "--diff-filter=d", commit).split("\n"))

    def ever_held(self, span: Span, head: str) -> bool:
        """Whether a commit of ``head``'s history says it under the name it was read under."""
        return any(self.holds(one, span.path, span) for one in self.git("rev-list", head, "--", span.path).split())

    def _renamed(self, span: Span, head: str) -> str | None:
        if span.path in self.files(head):
            return span.path
        for line in self.git("diff", "-M", "--name-status", span.commit, head).splitlines():
            kind, *names = line.split("\t")
            if kind.startswith("R") and names[0] == span.path:
                return names[1]
        return None

    # --- who -----------------------------------------------------------------------------------------------

    def took_it_out(self, span: Span, commit: str, head: str) -> str:
        """Why ``commit`` is not the one that took the text out for good; empty when git agrees that it is.

        Its parent held the text, it does not, no later commit that touched the file does, and `git log -L` names it
        first for the lines that stand there since.
        """
        [parent] = self.git("show", "-s", "--format=%P", commit).split() or [""]
        reasons = [
            self._took_it_out(span, parent, path, commit, head)
            for path in self._names(span, parent)
            if self.holds(parent, path, span)
        ]
        return "" if "" in reasons else "; ".join(reasons) or "its parent did not hold the text"

    def _took_it_out(self, span: Span, parent: str, before: str, commit: str, head: str) -> str:
        after = self._renamed(Span(parent, before, None, None), commit)
        if after is None:
            return ""  # it deleted the file
        if self.holds(commit, after, span):
            return "it still holds the text"
        for later in self.git("rev-list", f"{commit}..{head}", "--", after).split():
            if self.holds(later, after, span):
                return f"{later} holds the text again"
        return "" if span.start is None else self._named_by_log(span, parent, before, commit, after)

    def _named_by_log(self, span: Span, parent: str, before: str, commit: str, after: str) -> str:
        text = self.text(span)
        start = _places(self.lines(parent, before) or [], text)[0]
        first, last = self._region(Span(parent, before, start, start + len(text) - 1), after, commit)
        named = self.git("log", "-1", "-s", "--format=%H", f"-L{first},{last}:{after}", commit).strip()
        if named != commit and (first == 1 or last == len(self.lines(commit, after) or [])):
            # `git log -L` does not see lines go from the start or the end of a file; `git diff` does.
            mine = Span(parent, before, start, start + len(text) - 1)
            return "" if self._mapped(mine, after, commit) is None else "git diff says it left the lines alone"
        return "" if named == commit else f"git log -L{first},{last}:{after} names {named}"

    def _names(self, span: Span, commit: str) -> list[str]:
        names = [span.path]
        names += [path for path in sorted(self.files(commit)) if path != span.path]
        return names

    def _region(self, span: Span, file: str, head: str) -> tuple[int, int]:
        """The lines of ``head`` that stand where the span's stood, with a line around them for what was removed."""
        assert span.start is not None
        assert span.end is not None
        first, last, shift = span.start, span.end, 0
        begun = ended = False
        for old, count, new, added in self._hunks(span, file, head):
            low, high = (old + 1, old) if not count else (old, old + count - 1)
            if low <= span.start <= high:
                first, begun = new, True
            if low <= span.end <= high:
                last, ended = new + added, True
            if high < span.start and low <= span.start:
                shift += added - count
            first = first if begun else span.start + shift
            if high < span.end and not ended:
                last = span.end + shift if low <= span.start else last + added - count
        length = len(self.lines(head, file) or [])
        return max(1, min(first - 1, length)), max(1, min(last + 1, length))

    def holds(self, commit: str, path: str, span: Span) -> bool:
        lines = self.lines(commit, path)
        if lines is None:
            return False
        if span.start is None:
            return _without_end(lines) == _without_end(self.text(span))
        return bool(_places(lines, self.text(span)))


def _without_end(lines: list[str] | None) -> str:
    return "\n".join(lines or []).rstrip("\n")


def _places(lines: list[str], text: list[str]) -> list[int]:
    count = len(text)
    return [at + 1 for at in range(len(lines) - count + 1) if lines[at] == text[0] and lines[at : at + count] == text]
