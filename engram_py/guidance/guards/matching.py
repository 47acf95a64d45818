"""Whether an act breaks a guard: the files it writes, the commands of its line, the lines it adds and takes away. Pure,
but for the names of files, which the file system resolves, and the text a file had before it is written anew.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path

from engram_py.base.capture.acts import Act
from engram_py.base.files import lines_of, read_bounded
from engram_py.base.lazy import regex
from engram_py.guidance.guards.expressions import expression, glob
from engram_py.guidance.guards.values import Guard

_MOST_BYTES = 512 << 10
_MOST_LINE_CHARS = 2_000
_MOST_COMMANDS = 50
_GIT_SECONDS = 0.3
_MOST_DEPTH = 3

Command = Sequence[str]


class Scene:
    """One act as guards see it. ``done``: it is over, so that the files hold what it wrote."""

    def __init__(self, act: Act, *, directory: Path, root: Path, branch: str | None, done: bool = False) -> None:
        self.act, self.branch = act, branch
        self._directory, self._root, self._done = str(directory), os.path.realpath(root), done
        self._known: dict[str, bool] = {}

    def is_new(self, name: str) -> bool:
        """Return whether a file is one that HEAD does not have; where git does not say, one that is not there."""
        if name not in self._known:
            self._known[name] = is_new(Path(self._root), name)
        return self._known[name]

    @cached_property
    def files(self) -> tuple[tuple[str, str], ...]:
        """Each name of each file below the root, as the act says it and as it is without links."""
        found: dict[str, str] = {}
        for said in self.act.files:
            path = os.path.join(self._directory, said.replace("\\", "/"))  # noqa: PTH118 - a hook pays for a Path
            for one in (os.path.normpath(path), _real(os.path.dirname(path), path), os.path.realpath(path)):  # noqa: PTH120
                if one.startswith(self._root + os.sep):
                    found[one[len(self._root) + 1 :].replace(os.sep, "/")] = said
        return tuple(found.items())

    @cached_property
    def commands(self) -> tuple[Command, ...]:
        return tuple(commands_of(self.act.command)) if self.act.command else ()

    @cached_property
    def added(self) -> list[str]:
        """The lines that are new: an edit repeats lines around it, a file that is written anew those it had."""
        before = {line.strip() for line in lines_of(self._before())}
        return [line for line in lines_of(self.act.added) if line.strip() not in before]

    @cached_property
    def removed(self) -> list[str]:
        after = {line.strip() for line in lines_of(self.act.added)}
        return [line for line in lines_of(self.act.removed) if line.strip() not in after]

    def _before(self) -> str:
        if self.act.removed or self._done or len(self.act.files) != 1:
            return self.act.removed
        try:
            path = os.path.join(self._directory, self.act.files[0])  # noqa: PTH118
            return read_bounded(path, _MOST_BYTES).decode("utf-8", "replace")
        except (OSError, ValueError):
            return ""


def _real(folder: str, path: str) -> str:
    """Return a path whose folder is without links: the last name may be a link that is written over."""
    return os.path.join(os.path.realpath(folder), os.path.basename(path))  # noqa: PTH118, PTH119


def breaks(guard: Guard, scene: Scene) -> str:
    """Return what of an act breaks the guard, a file or a command; nothing where it does not."""
    if guard.branch and not (scene.branch and glob(guard.branch).whole(scene.branch)):
        return ""
    match guard.kind:
        case "command":
            return _command(scene, guard.command)
        case "path":
            names = (name for name, _ in scene.files if is_in(name, guard.paths))
            return next((name for name in names if guard.deny == "write" or not scene.is_new(name)), "")
        case "branch":
            return _file(scene, ()) or _command(scene, "git commit")
    subject = _file(scene, guard.within)
    if not subject:
        return ""
    test = line_test(guard)
    return subject if any(map(test, scene.added if guard.added else scene.removed)) else ""


def heeds(guard: Guard, scene: Scene) -> bool:
    """Return whether an act does what a guard asks for: it uses what is to be used, takes back what was done, or is an
    act of that kind which the guard allows."""
    if breaks(guard, scene):
        return False
    allowed = " ".join(word for word in guard.command.split() if not word.startswith("-"))
    if any(runs(one, words) for one in (guard.use, allowed) for words in scene.commands):
        return True
    match guard.kind:
        case "command":
            return False
        case "path":
            return any(is_in(name, guard.paths) for name, _ in scene.files)
        case "branch":
            return bool(_file(scene, ()) or _command(scene, "git commit"))
    if not _file(scene, guard.within):
        return False
    taken_back = any(map(line_test(guard), scene.removed if guard.added else scene.added))
    return taken_back or (bool(guard.use) and any(has_text(line, guard.use) for line in scene.added))


def _file(scene: Scene, globs: Sequence[str]) -> str:
    return next((name for name, _ in scene.files if is_in(name, globs)), "")


def is_new(root: Path, name: str) -> bool:
    """Return whether HEAD has no file of this name below the root; where git does not say, whether there is none."""
    if not os.path.lexists(f"{root}/.git"):
        return not os.path.lexists(root / name)
    from engram_py.base.git.program import Deadline, ask_git

    answer = ask_git(root, "ls-tree", "-z", "--name-only", "HEAD", "--", name, deadline=Deadline(_GIT_SECONDS))
    return not os.path.lexists(root / name) if answer is None else not answer[0]


def is_in(name: str, globs: Iterable[str]) -> bool:
    """Return whether one of the globs matches a name below the root; none at all match any."""
    patterns, line = tuple(globs), name.replace("\n", " ")  # an expression reads one line
    return not patterns or any(glob(one).whole(line) for one in patterns)


def _command(scene: Scene, pattern: str) -> str:
    said = any(runs(pattern, words) for words in scene.commands)
    return " ".join(scene.act.command.split()) if said else ""


def line_test(guard: Guard, *, most: int | None = _MOST_LINE_CHARS) -> Callable[[str], bool]:
    """Return what tells whether the first ``most`` characters of a line, None: all, have the text of a guard.

    Raises InvalidArgumentError.
    """
    text = guard.added or guard.removed
    if not guard.regex:
        return lambda line: has_text(line[:most], text)
    pattern = expression(text)
    return lambda line: pattern.within(line[:most])


def has_text(line: str, text: str) -> bool:
    """Return whether a line has a text as whole words: ``import requests`` is not in ``import requests_mock``."""
    at = line.find(text)
    while at >= 0:
        end = at + len(text)
        before = at > 0 and _is_word(text[0]) and _is_word(line[at - 1])
        after = end < len(line) and _is_word(text[-1]) and _is_word(line[end])
        if not before and not after:
            return True
        at = line.find(text, at + 1)
    return False


def _is_word(char: str) -> bool:
    return char.isalnum() or char == "_"


# --- command lines -------------------------------------------------------------------------------------------------

_HEREDOC = regex(r"(?<!<)<<-?[ \t]*(['\"]?)(\w+)\1([^\n]*)\n(?:.*\n)*?[ \t]*\2(?=\n|$)")
_TOKEN = regex(
    r"""
      (?P<blank>(?:[ \t\r]|\\\n)+)
    | (?P<comment>(?<![^\s;&|()])\#[^\n]*)
    | (?P<redirect>\d*(?:<<<|[<>]>?&?)-?)
    | (?P<open>\$?\()
    | (?P<close>\))
    | (?P<end>[\n;&|]+)
    | (?P<tick>`)
    | (?P<single>'[^']*'?)
    | (?P<double>"(?:[^"\\]|\\.)*"?)
    | (?P<escaped>\\.)
    | (?P<plain>[^\s;&|()`<>'"\\$\#]+|.)
    """,
    re.VERBOSE | re.DOTALL,
)
_INNER = regex(r"\$\(([^()]*)\)|`([^`]*)`")
_UNESCAPED = regex(r"\\([\"\\$`])")


def commands_of(line: str, depth: int = 0) -> Iterator[Command]:
    """Yield the commands that a line runs, each by its words, without what stands before the program's name."""
    commands, inner = _split(_HEREDOC.sub(r"\3", line))
    for words in commands[:_MOST_COMMANDS]:
        yield from _programs(words, depth)
    for text in inner if depth < _MOST_DEPTH else ():
        yield from commands_of(text, depth + 1)


def _split(line: str) -> tuple[list[list[str]], list[str]]:
    """Return the commands of a line by their words, and the texts in quotes that are run as well."""
    found: list[list[str]] = []
    above: list[list[str]] = []
    words: list[str] = []
    inner: list[str] = []
    fresh, skipped, ticks = True, False, False
    for token in _TOKEN.finditer(line):
        kind, text = token.lastgroup or "", token[0]
        if kind in _PARTS:
            inner += [one[1] or one[2] for one in _INNER.finditer(text)] if kind == "double" else []
            if not skipped:  # the file of a redirection is no word
                part = _PARTS[kind](text)
                words[len(words) - (not fresh) :] = [part if fresh else words[-1] + part]
            fresh = False
            continue
        skipped = kind == "redirect" or (skipped and fresh and kind == "blank")
        fresh = True
        if kind == "tick":
            ticks = not ticks
            kind = "open" if ticks else "close"
        if kind == "open":
            above.append(words)
            words = []
        elif kind in ("close", "end"):
            found.append(words)
            words = above.pop() if above and kind == "close" else []
    return [one for one in (*found, words, *above) if one], inner


_PARTS: dict[str, Callable[[str], str]] = {
    "single": lambda text: text.strip("'"),
    "double": lambda text: _UNESCAPED.sub(r"\1", text.strip('"')),
    "escaped": lambda text: text[-1],
    "plain": lambda text: text,
}

# Words that stand before a program's name, the options among them that take a value, and programs that run another.
_BEFORE_IT = """
sudo doas env command exec nohup time nice ionice stdbuf xargs timeout builtin setsid caffeinate
! { then do else elif if while until
"""
_BEFORE = frozenset(_BEFORE_IT.split())
_OF_PROGRAMS = "-C -c --prefix --cwd --git-dir --work-tree --filter --workspace -w"
_VALUED_OF_PROGRAMS = frozenset(_OF_PROGRAMS.split())
_VALUED = _VALUED_OF_PROGRAMS | {"-u", "-g", "-n", "-s", "-k", "-I", "-P"}
_RUNNERS = (
    ("npx",), ("uvx",), ("uv", "run"), ("poetry", "run"), ("pipenv", "run"), ("bundle", "exec"), ("pnpm", "exec"),
    ("pnpm", "dlx"), ("yarn", "dlx"), ("bunx",),
)  # fmt: skip
_SHELLS = frozenset(("sh", "bash", "zsh", "dash", "ksh"))
_ASSIGNMENT = regex(r"[A-Za-z_]\w*\+?=")
_NUMBER = regex(r"[0-9.]+[smhd]?")
_SUFFIXES = (".exe", ".cmd", ".bat")


def _programs(words: Sequence[str], depth: int) -> Iterator[Command]:
    """Yield a command from its program's name on, and the command that it runs in its turn."""
    words = _from_program(words)
    if not words:
        return
    program = _name(words[0])
    yield (program, *words[1:])
    if program in _SHELLS and depth < _MOST_DEPTH:
        script = next((at for at, word in enumerate(words) if word.startswith("-") and word.endswith("c")), len(words))
        yield from commands_of(" ".join(words[script + 1 : script + 2]), depth + 1)
    if program.startswith("python") and list(words[1:2]) == ["-m"]:
        yield tuple(words[2:])
    for runner in _RUNNERS:
        if (program, *words[1 : len(runner)]) == runner:
            rest = _from_program(words[len(runner) :], options=True)
            yield from [(_name(rest[0]), *rest[1:])] if rest else []


def _from_program(words: Sequence[str], *, options: bool = False) -> Sequence[str]:
    at, opened = 0, options
    while at < len(words):
        word = words[at]
        if word in _BEFORE:
            opened = True
        elif opened and word.startswith("-"):
            at += word in _VALUED
        elif not (_ASSIGNMENT.match(word) or (opened and _NUMBER.fullmatch(word))):
            break
        at += 1
    return words[at:]


def _name(program: str) -> str:
    name = program.replace("\\", "/").rpartition("/")[2]
    return next((name[: -len(one)] for one in _SUFFIXES if name.lower().endswith(one)), name)


def runs(pattern: str, words: Command) -> bool:
    """Return whether a command is what a pattern names: ``npm *``, ``git push --force``, ``pip install``.

    The program first; then the pattern's words that are no options, in their order from the first such word of the
    command; its options anywhere. ``*`` stands for any words, and within a word for any letters.
    """
    wanted = [word for word in pattern.split() if word != "*"]
    if not wanted or not words or not _is_word_of(wanted[0], words[0]):
        return False
    plain = [word for word in wanted[1:] if not word.startswith("-")]
    given = _operands(words[1:])
    if len(given) < len(plain) or not all(map(_is_word_of, plain, given)):
        return False
    options = [word for word in words[1:] if word.startswith("-")]
    return all(any(_is_option_of(one, option) for option in options) for one in wanted[1:] if one.startswith("-"))


def _operands(words: Command) -> list[str]:
    valued = [at + 1 for at, word in enumerate(words) if word in _VALUED_OF_PROGRAMS]
    return [word for at, word in enumerate(words) if not word.startswith("-") and at not in valued]


def _is_word_of(pattern: str, word: str) -> bool:
    if "*" not in pattern:
        return pattern == word
    return expression(".*".join(map(re.escape, pattern.split("*")))).whole(word)


def _is_option_of(pattern: str, option: str) -> bool:
    if pattern.startswith("--") or option.startswith("--"):
        return _is_word_of(pattern, option.partition("=")[0]) or _is_word_of(pattern, option)
    return set(pattern[1:]) <= set(option[1:])
