"""``python -m bench.documents``: does a question find the commit or the section that answers it?

Measures documents as the product reads them: the commit messages of DPDK and curl as git histories of their own, asked
by the subjects of later fixes; the decision records of six repositories as files; and this project's pages, asked by
sixty questions in other words than theirs (``documents.json``). Two further sets of thirty were written before anybody
looked at an answer: ``held_out``, and ``unseen`` by another author, which nothing was fitted to.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from bench.datasets import Dataset, NoDataError, data_folder, load
from bench.keeping import ROOT
from bench.report import percentile
from bench.scoring import recall
from bench.verdicts import COMMITTED, read_committed
from bench.workplace import git
from engram_py import Engram
from engram_py.recall.outline import plain

_SHOWN = 7  # characters of a commit's id in an answer


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="engram-documents-") as name:
        room = Path(name).resolve()
        pages(room)
        try:
            commits(room, "dpdk")
            commits(room, "curl")
            records(room)
        except NoDataError as exc:
            print(exc, file=sys.stderr)
    return 0


def commits(room: Path, name: str) -> None:
    """Print how often the commit that a fix names is among the first five, as a document and as a memory."""
    data = load(name, data_folder())
    root = room / name
    keys = repository(root, data)
    with Engram(room / f"{name}-memory", directory=root) as app:
        started = time.perf_counter()
        [update] = app.documents.update("git").items
        took = time.perf_counter() - started
        _compare(app, data, lambda source: keys.get(source.removeprefix("commit:"), ""))
        size = app.store.path.stat().st_size
    print(f"  indexed {update.indexed:,} of {len(data.memories):,} commits in {took:.1f} s, {size >> 20} MiB")


def records(room: Path) -> None:
    """Print the same of decision records, and how many questions of their field are answered that none answers."""
    data = load("adr", data_folder())
    root = room / "records"
    for one in data.memories:
        path = root / "docs" / "adr" / f"{one.key}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"# {one.title}\n\n{one.content}\n", encoding="utf-8")
    git(root, "init", "--quiet")
    with Engram(room / "records-memory", directory=root) as app:
        app.documents.update()
        _compare(app, data, lambda source: Path(source.rpartition(":")[0]).stem)
        foreign = [one for one in data.foreign if app.documents.search(one.text).results]
        unasked = [one for one in data.foreign if app.search(one.text).documents]
    print(f"  foreign answered {len(foreign)} of {len(data.foreign)}, below memories {len(unasked)}")


def _compare(app: Engram, data: Dataset, key: Callable[[str], str]) -> None:
    found, times = 0.0, []
    for question in data.questions:
        started = time.perf_counter()
        hits = app.documents.search(question.text, limit=5).results
        times.append(1000 * (time.perf_counter() - started))
        found += recall([key(hit.source) for hit in hits], question.gold, 5)
    as_memories = read_committed(COMMITTED).get(data.name, {}).get("recall@5")
    count = len(data.questions)
    print(f"{data.name}, {count} questions: R@5 {found / count:.4f}, as memories {as_memories}")
    print(f"  search p50 {percentile(times, 50):.1f} ms, p95 {percentile(times, 95):.1f} ms")


def repository(root: Path, data: Dataset) -> dict[str, str]:
    """Make a repository of the messages of a set; the key of each commit by the beginning of its id."""
    root.mkdir()
    git(root, "init", "--quiet", "--initial-branch=main")
    marks = root / ".git" / "marks"
    stream = b"".join(_commit(number, data) for number in range(1, len(data.memories) + 1))
    subprocess.run(["git", "fast-import", "--quiet", f"--export-marks={marks}"], cwd=root, input=stream, check=True)
    made = (line.split() for line in marks.read_text(encoding="ascii").splitlines())
    return {commit[:_SHOWN]: data.memories[int(mark[1:]) - 1].key for mark, commit in made}


def _commit(number: int, data: Dataset) -> bytes:
    memory = data.memories[number - 1]
    assert memory.created_at is not None
    name = memory.session.rsplit(" ", 1)[0].replace("<", "").replace(">", "")
    who = f"{name} <nobody@example.org> {int(memory.created_at.timestamp())} {memory.created_at:%z}"
    message = f"{memory.title}\n\n{memory.content}\n".encode()
    file = f"drivers/{memory.title.partition(':')[0].replace(' ', '_')}.c"
    text = str(number).encode()
    head = f"commit refs/heads/main\nmark :{number}\nauthor {who}\ncommitter {who}\ndata {len(message)}\n"
    return head.encode() + message + f"M 100644 inline {file}\ndata {len(text)}\n".encode() + text + b"\n\n"


def pages(room: Path) -> None:
    """Print how often the section that answers is found, of both halves of the questions about this project's pages."""
    asked = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
    root = room / "pages"
    for path in _pages():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / path, root / path)
    git(root, "init", "--quiet")
    with Engram(room / "pages-memory", directory=root) as app:
        app.documents.update()
        app.documents.add(str(root / "deploy"), name="deploy")
        sets = ("questions", "held_out", "unseen")
        missed = [one for name in sets for one in _ask_about_pages(app, name, asked[name])]
        everything = [*asked["foreign"], *asked["held_out_foreign"]]
        foreign = [one for one in everything if app.documents.search(one).results]
        unasked = [one for one in everything if app.search(one).documents]
    print(f"  foreign answered {len(foreign)} of {len(everything)}, below memories {len(unasked)}")
    if "--missed" in sys.argv:
        print("\n".join([*missed, *foreign]))


def _ask_about_pages(app: Engram, name: str, questions: Sequence[dict[str, Any]]) -> list[str]:
    """Print the shares of one half of the questions, and return those whose section is not among the first five."""
    found, page, first, below, missed = 0, 0, 0, 0, list[str]()
    for one in questions:
        hits = app.documents.search(one["ask"], limit=5).results
        places = [_is_gold(hit.source, hit.title, one) for hit in hits]
        found += any(places)
        page += any(_is_page(hit.source, one) for hit in hits)
        first += any(places[:1])
        below += any(_is_page(hit.source, one) for hit in app.search(one["ask"]).documents)
        if not any(places):
            missed.append(f"  {one['ask']}: {', '.join(f'{hit.source} {hit.title}' for hit in hits[:3]) or '-'}")
    count = len(questions)
    shares = f"R@5 of the page {page / count:.3f}, of the section {found / count:.3f}, R@1 {first / count:.3f}"
    print(f"pages, {count} {name}: {shares}, page below memories {below / count:.3f}")
    return missed


def _pages() -> Sequence[str]:
    found = [*(ROOT / "docs").rglob("*.md"), ROOT / "deploy" / "README.md", ROOT / "README.md", ROOT / "DOCS.md"]
    return [path.relative_to(ROOT).as_posix() for path in found]


def _is_page(source: str, question: dict[str, Any]) -> bool:
    paths = question["path"]
    return source.rpartition(":")[0].endswith((paths,) if isinstance(paths, str) else tuple(paths))


def _is_gold(source: str, title: str, question: dict[str, Any]) -> bool:
    return _is_page(source, question) and title.endswith(plain(question.get("heading", "")))


if __name__ == "__main__":
    raise SystemExit(main())
