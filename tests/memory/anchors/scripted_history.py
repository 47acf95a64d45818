"""A repository with a long scripted history, made by one `git fast-import`: edits, insertions, renames, deletions,
reverts, functions that move to another file, merges, squash merges and rebases."""

from __future__ import annotations

import random
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

Tree = dict[str, tuple[str, ...]]
AUTHORS = ("Ada", "Béla", "Cleo", "Dmitri")


@dataclass
class Made:
    """One commit to be: its tree, and its parents by their places in the list of all."""

    tree: Tree
    parents: tuple[int, ...]
    author: str
    what: str


@dataclass
class History:
    """Commits made one on top of the other. ``main`` are the places of those on the main branch, ``side`` of those
    that were only ever on another one."""

    seed: int
    files: int
    commits: list[Made] = field(default_factory=list)
    main: list[int] = field(default_factory=list)
    side: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        self._number = 0
        names = [f"src/part{i % 5}/module{i}.py" for i in range(self.files)]
        self._commit({name: self._text(self.random.randint(6, 16)) for name in names}, (), "first")

    # --- text ----------------------------------------------------------------------------------------------

    def _line(self) -> str:
        self._number += 1
        word = self.random.choice(("total", "cursor", "session", "retry", "window", "owner"))
        return f"    {word}_{self._number} = compute_{word}({self._number * 7919 % 99991})"

    def _function(self) -> list[str]:
        self._number += 1
        body = [self._line() for _ in range(self.random.randint(3, 9))]
        return [f"def step_{self._number}(value):", *body, "    return None", ""]

    def _text(self, functions: int) -> tuple[str, ...]:
        return tuple(line for _ in range(functions) for line in self._function())

    # --- commits -------------------------------------------------------------------------------------------

    def _commit(self, tree: Tree, parents: tuple[int, ...], what: str, *, on_main: bool = True) -> int:
        self.commits.append(Made(dict(tree), parents, self.random.choice(AUTHORS), what))
        place = len(self.commits) - 1
        (self.main if on_main else self.side).append(place)
        return place

    def grow(self, count: int) -> None:
        """Add commits until there are ``count``."""
        while len(self.commits) < count:
            if self.random.random() < 0.06:
                self._branch()
            else:
                tree, what = self._changed(self.commits[self.main[-1]].tree, None)
                self._commit(tree, (self.main[-1],), what)

    def _branch(self) -> None:
        """A branch of a few commits on some of the files, while main goes on with the others."""
        base = self.main[-1]
        paths = sorted(self.commits[base].tree)
        mine = set(self.random.sample(paths, max(2, len(paths) // 3)))
        tip, steps = base, []
        for _ in range(self.random.randint(2, 4)):
            tree, what = self._edited(self.commits[tip].tree, mine)
            tip = self._commit(tree, (tip,), f"side: {what}", on_main=False)
            steps.append(tip)
        for _ in range(self.random.randint(1, 3)):
            tree, what = self._edited(self.commits[self.main[-1]].tree, set(paths) - mine)
            self._commit(tree, (self.main[-1],), what)
        getattr(self, self.random.choice(("_merge", "_squash", "_rebase")))(steps, mine)

    def _with(self, side: Tree, mine: set[str]) -> Tree:
        tree = {path: text for path, text in self.commits[self.main[-1]].tree.items() if path not in mine}
        return tree | {path: side[path] for path in mine if path in side}

    def _merge(self, steps: list[int], mine: set[str]) -> None:
        tree = self._with(self.commits[steps[-1]].tree, mine)
        self._commit(tree, (self.main[-1], steps[-1]), "merge")

    def _squash(self, steps: list[int], mine: set[str]) -> None:
        self._commit(self._with(self.commits[steps[-1]].tree, mine), (self.main[-1],), "squash")

    def _rebase(self, steps: list[int], mine: set[str]) -> None:
        for step in steps:
            tree = self._with(self.commits[step].tree, mine)
            self._commit(tree, (self.main[-1],), f"rebased: {self.commits[step].what}")

    # --- changes -------------------------------------------------------------------------------------------

    def _changed(self, tree: Tree, paths: set[str] | None) -> tuple[Tree, str]:
        kinds: tuple[tuple[int, Callable[[Tree, set[str]], tuple[Tree, str]]], ...] = (
            (60, self._edited),
            (6, self._renamed),
            (3, self._deleted),
            (5, self._moved_function),
            (4, self._reverted),
            (4, self._added),
        )
        weights, functions = zip(*kinds, strict=True)
        made: Callable[[Tree, set[str]], tuple[Tree, str]] = self.random.choices(functions, weights)[0]
        return made(tree, paths or set(tree))

    def _edited(self, tree: Tree, paths: set[str]) -> tuple[Tree, str]:
        path = self.random.choice(sorted(paths & set(tree)))
        lines = list(tree[path])
        at = self.random.randrange(len(lines))
        what = self.random.choice(("replace", "replace", "insert above", "insert", "remove", "blanks", "swap"))
        match what:
            case "replace":
                lines[at] = self._line()
            case "insert above":
                lines[0:0] = [self._line() for _ in range(self.random.randint(1, 4))]
            case "insert":
                lines[at:at] = self._function()
            case "remove" if len(lines) > 30:
                del lines[at : at + self.random.randint(1, 6)]
            case "blanks":
                lines = [f"{line}  " if at % 3 == 0 and line else line for at, line in enumerate(lines)]
            case "swap" if len(lines) > 30:
                cut = lines[at : at + 8]
                del lines[at : at + 8]
                lines += cut
            case _:
                lines.append(self._line())
        return tree | {path: tuple(lines)}, f"{what} {path}:{at + 1}"

    def _renamed(self, tree: Tree, paths: set[str]) -> tuple[Tree, str]:
        path = self.random.choice(sorted(paths))
        self._number += 1
        new = self.random.choice(
            (f"src/new{self._number % 4}/module_{self._number}.py", f"{path[:-3]}_{self._number}.py")
        )
        lines = list(tree[path])
        if self.random.random() < 0.5:
            lines[self.random.randrange(len(lines))] = self._line()
        return {name: text for name, text in tree.items() if name != path} | {new: tuple(lines)}, f"rename {path} {new}"

    def _deleted(self, tree: Tree, paths: set[str]) -> tuple[Tree, str]:
        path = self.random.choice(sorted(paths))
        if len(tree) < self.files // 2:
            return self._added(tree, paths)
        return {name: text for name, text in tree.items() if name != path}, f"delete {path}"

    def _added(self, tree: Tree, paths: set[str]) -> tuple[Tree, str]:
        self._number += 1
        path = f"src/part{self._number % 5}/added_{self._number}.py"
        return tree | {path: self._text(self.random.randint(4, 9))}, f"add {path}"

    def _moved_function(self, tree: Tree, paths: set[str]) -> tuple[Tree, str]:
        """Six to twenty lines leave one file for another."""
        source, target = self.random.sample(sorted(tree), 2)
        lines = list(tree[source])
        starts = [at for at, line in enumerate(lines) if line.startswith("def ")]
        if len(starts) < 4:
            return self._edited(tree, paths)
        which = self.random.randrange(len(starts) - 2)
        cut = lines[starts[which] : starts[which + 2]]
        del lines[starts[which] : starts[which + 2]]
        return tree | {source: tuple(lines), target: (*tree[target], *cut)}, f"move {source} {target}"

    def _reverted(self, tree: Tree, paths: set[str]) -> tuple[Tree, str]:
        """A file as it was some commits ago."""
        old = self.commits[self.main[-min(len(self.main), self.random.randint(2, 12))]].tree
        both = sorted(path for path in tree if path in old and old[path] != tree[path])
        if not both:
            return self._edited(tree, paths)
        path = self.random.choice(both)
        return tree | {path: old[path]}, f"revert {path}"

    # --- git -----------------------------------------------------------------------------------------------

    def write(self, root: Path) -> list[str]:
        """Make the repository at ``root``; the ids of the commits, in the order of ``commits``."""
        root.mkdir(parents=True)
        _git(root, "init", "-q", "-b", "main")
        marks = root / ".git" / "marks"
        stream = bytearray()
        for place, made in enumerate(self.commits):
            stream += _commit_stream(place, made, self.commits[made.parents[0]].tree if made.parents else {})
        stream += b"reset refs/heads/main\nfrom :%d\n\n" % (self.main[-1] + 1)
        command = ["git", "fast-import", "--quiet", "--force", f"--export-marks={marks}"]
        subprocess.run(command, cwd=root, input=bytes(stream), check=True)
        ids = dict(line.split() for line in marks.read_text().splitlines())
        _git(root, "reset", "-q", "--hard", "main")
        return [ids[f":{place + 1}"] for place in range(len(self.commits))]


def _commit_stream(place: int, made: Made, before: Tree) -> bytes:
    who = f"{made.author} <{made.author.lower()}@example.org> {1_700_000_000 + place * 60} +0000"
    message = made.what.encode()
    out = [f"commit refs/heads/side{place}\nmark :{place + 1}\nauthor {who}\ncommitter {who}\n".encode()]
    out.append(b"data %d\n%s\n" % (len(message), message))
    if made.parents:
        out.append(b"from :%d\n" % (made.parents[0] + 1))
    out += [b"merge :%d\n" % (parent + 1) for parent in made.parents[1:]]
    out += [f"D {path}\n".encode() for path in before if path not in made.tree]
    for path, lines in made.tree.items():
        if before.get(path) != lines:
            text = "".join(f"{line}\n" for line in lines).encode()
            out.append(f"M 100644 inline {path}\n".encode() + b"data %d\n%s\n" % (len(text), text))
    return b"".join(out) + b"\n"


def _git(root: Path, *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=root, check=True, capture_output=True)
