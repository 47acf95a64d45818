"""``python -m bench.evidence``: fit how likely a hit answers, and say how well that holds on sets left out.

The model ``asked`` is logistic regression on the evidence of hits among the first five: the one that a question of a
set is about, or one to four words of it, against the likeliest for questions of another set or conversation. Every
set and both sides of it weigh alike, and one foreign question in ten reaches .5. ``meant`` is the same where vectors
of the sentence lane are there (``--vectors``: computing them takes a while). The model ``unasked`` is the same on the
first hits of the prompts of ``bench/prompts`` (half of them; the others are never looked at). ``--write`` puts the
coefficients into the package. No text of the sets is kept.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import re
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from bench import memories, prompts
from bench.datasets import Dataset, Memory, data_folder, load
from bench.keeping import ROOT
from bench.scoring import some
from bench.workplace import git
from engram_py import Engram
from engram_py.base.errors import EmptyQueryError
from engram_py.base.settings import Settings
from engram_py.base.text.words import ENGLISH
from engram_py.guidance.context.prompt_gate import plain_words
from engram_py.recall.retrieval import JUDGED
from engram_py.recall.score import PARTS, Evidence
from engram_py.recall.vectors.model import LANES, fetch

COEFFICIENTS = ROOT / "engram_py" / "recall" / "probability.json"
SETS = ("adr", "faq", "beam", "locomo-turns", "locomo-sessions", "nl2bash", "curl", "cosqa", "xquad")
# Whose questions are asked of a set that has no other conversations.
OTHERS = {"adr": "faq", "faq": "adr", "nl2bash": "cosqa", "cosqa": "nl2bash", "curl": "adr", "xquad": "faq"}
QUESTIONS, KEYWORDS = 250, 150
HITS = 8
# Sets of every kind that are embedded in a quarter of an hour.
MEANT = ("adr", "faq", "locomo-turns", "locomo-sessions", "xquad")
# Of the prompts with nothing due so many may be given something (DESIGN.md: silence is an answer), or pointed to it.
MOST_LOUD, MOST_POINTED = 0.03, 0.15
# Of foreign questions so many may be answered, as a mean of the sets.
MOST_FOREIGN = 0.1
RIDGE = 0.01
_WORD = re.compile(r"[A-Za-z][A-Za-z0-9_-]{2,}")

Row = tuple[float, ...]
Model = dict[str, float]


@dataclass(frozen=True, slots=True)
class Group:
    """Evidence of one set: of questions it answers, and of those it does not."""

    name: str
    answered: Sequence[Evidence]
    foreign: Sequence[Evidence]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.evidence", description=__doc__.partition("\n")[0])
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep the imported memories there for the next run")
    parser.add_argument("--write", action="store_true", help="put the coefficients into the package")
    parser.add_argument("--vectors", action="store_true", help="fit the model of searches with vectors alone")
    arguments = parser.parse_args()
    memories.without_settings()
    names = MEANT if arguments.vectors else SETS
    groups = list(_groups(names, arguments.keep, "sentence" if arguments.vectors else ""))
    fitted = json.loads(COEFFICIENTS.read_text(encoding="utf-8"))
    bars, today = fitted["bars"], datetime.now(UTC).date()
    print("fitted on all other kinds; share above the bar")
    for group in groups:
        model = fit([one for one in groups if _kin(one) != _kin(group)])
        own, foreign = _above(model, group.answered, bars["shown"]), _above(model, group.foreign, bars["shown"])
        print(f"{group.name:24} own {own:.3f}   foreign {foreign:.3f}")
    model = fit([one for one in groups if not one.name.endswith("its field")])
    print("all:", json.dumps(model))
    ending, lane = ("_meant", "sentence") if arguments.vectors else ("", "")
    fitted[f"asked{ending}"] = model
    fitted["about"][f"asked{ending}"] = f"{today}: {', '.join(names)}"
    fitted[f"unasked{ending}"], speaks = _unasked(lane)
    bars |= {f"{name}{ending}": bar for name, bar in speaks.items()}
    projects = ", ".join(file.stem for file in prompts.projects())
    fitted["about"][f"unasked{ending}"] = f"{today}: the building half of {projects}"
    if arguments.write:
        COEFFICIENTS.write_text(json.dumps(fitted, indent=2) + "\n", encoding="utf-8")
    return 0


@dataclass(frozen=True, slots=True)
class Hit:
    """One of the first hits of a prompt; ``due`` None where it is neither due nor amiss."""

    prompt: prompts.Prompt
    evidence: Evidence
    due: bool | None


def _unasked(lane: str) -> tuple[Model, dict[str, float]]:
    """The model of what a prompt is due, and the bars at which it is given nothing and pointed to nothing where it
    should not; each project is judged by a model of the others."""
    hits = [hit for file in prompts.projects() for hit in _hits(file, lane)]
    judged: list[tuple[Hit, float]] = []
    for project in {hit.prompt.project for hit in hits}:
        model = _of_hits([hit for hit in hits if hit.prompt.project != project])
        judged += [(hit, _probability(model, hit.evidence)) for hit in hits if hit.prompt.project == project]
    silent = {hit.prompt for hit in hits if not hit.prompt.due}
    quiet = [max((p for hit, p in judged if hit.prompt == one and hit.due is False), default=0.0) for one in silent]
    asked = len(silent)
    speaks = round(sorted(quiet)[-int(asked * MOST_LOUD) - 1] + 0.005, 2)
    for bar in sorted({0.2, 0.3, 0.4, 0.5, speaks}):
        due = {hit.prompt for hit, _ in judged if hit.prompt.due}
        given = {hit.prompt for hit, p in judged if hit.due and p >= bar}
        loud = {hit.prompt for hit, p in judged if hit.due is False and not hit.prompt.due and p >= bar}
        print(f"unasked at {bar:.2f}: due given {len(given) / len(due):.2f}, silent {1 - len(loud) / asked:.2f}")
    points = round(sorted(quiet)[-int(asked * (MOST_LOUD + MOST_POINTED)) - 1] + 0.005, 2)
    return _of_hits(hits), {"unasked": speaks, "pointed": min(points, speaks)}


def _hits(file: Path, lane: str) -> Iterator[Hit]:
    values = json.loads(file.read_text(encoding="utf-8"))
    with prompts.project_memory(values, lane) as (app, keys):
        for prompt in prompts.prompts_of(values):
            if prompt.half != "build" or prompt.kind in ("resume", "identity"):
                continue
            try:
                found = app.searches.search(plain_words(prompt.text), limit=HITS, explain=True)
            except EmptyQueryError:
                continue
            assert found.explain is not None
            for one in found.explain.hits:
                key = keys.get(one.id, 0)
                yield Hit(prompt, one.evidence, True if key in prompt.due else None if key in prompt.ok else False)


def _of_hits(hits: Sequence[Hit]) -> Model:
    told = [hit for hit in hits if hit.due is not None]
    sides = [float(bool(hit.due)) for hit in told]
    return logistic(
        [_row(replace(hit.evidence, whole=0.0, strength=0.0, told=0.0)) for hit in told], sides, [1.0] * len(told)
    )


def _probability(model: Model, one: Evidence) -> float:
    if not one.share and one.meaning is None:
        return 0.0
    return 1 / (1 + math.exp(-model["bias"] - sum(model[name] * x for name, x in zip(PARTS, _row(one), strict=True))))


def _kin(group: Group) -> str:
    return group.name.partition(",")[0].partition("-")[0]


def _groups(names: Sequence[str], keep: Path | None, embedder: str) -> Iterator[Group]:
    chance = random.Random(5)
    sets = {name: load(name, data_folder()) for name in {*names, *OTHERS.values()}}
    for name in names:
        dataset = sets[name]
        other = sets[OTHERS.get(name, "adr")]
        with _asker(dataset, keep, embedder) as ask:
            own = some(dataset.questions, QUESTIONS)
            foreign = (
                [(one.text, dataset.projects[0]) for one in some(other.questions, QUESTIONS)]
                if name in OTHERS
                else [(one.text, project) for one in own for project in dataset.projects if project != one.project]
            )
            answered = [ask(one.text, one.project, one.gold) for one in own]
            yield Group(name, _known(answered), _known([ask(*one) for one in foreign]))
            if dataset.foreign:
                field = [ask(one.text, one.project) for one in dataset.foreign]
                yield Group(f"{name}, its field", _known(answered), _known(field))
            words = [(_words(one, chance), one) for one in _spread(dataset.memories)]
            held = [ask(text, one.project, (one.key,)) for text, one in words if text]
            yield Group(f"{name}, words", _known(held), ())


def _known(found: Sequence[Evidence | None]) -> list[Evidence]:
    return [one for one in found if one is not None]


def _spread(all_of_them: Sequence[Memory]) -> Sequence[Memory]:
    return all_of_them[:: max(1, len(all_of_them) // KEYWORDS)]


def _words(memory: Memory, chance: random.Random) -> str:
    text = memory.title if len(memory.title.split()) > 2 else memory.content[:200]
    words = [word for word in _WORD.findall(text) if word.lower() not in ENGLISH]
    count = chance.choice((1, 2, 2, 3, 3, 4))
    return " ".join(chance.sample(words, count)).lower() if len(words) >= count else ""


@contextmanager
def _asker(dataset: Dataset, keep: Path | None, embedder: str) -> Iterator[Callable[..., Evidence | None]]:
    with tempfile.TemporaryDirectory(prefix="engram-evidence-") as name:
        room = Path(name).resolve()
        (folder := room / "here").mkdir()
        git(folder, "init", "--quiet")
        memories.imported(room / "memory", folder, dataset, keep=keep)
        settings = Settings(data_dir=room / "memory", embedder=embedder)
        with Engram(room / "memory", directory=folder, settings=settings) as app:
            if embedder:
                fetch(LANES[embedder], app.vectors.models)
                app.vectors.compute()

            def ask(text: str, project: str, gold: Sequence[str] = ()) -> Evidence | None:
                """The evidence of what answers, None where it is not among the first five; else of the likeliest."""
                try:
                    found = app.searches.search(text, project=project, explain=True, recorded=False)
                except EmptyQueryError:
                    return None
                assert found.explain is not None
                if not gold:
                    return found.explain.evidence
                wanted = {memories.sync_id(key) for key in gold}
                ids = {hit.id for hit in found.results if hit.sync_id in wanted}
                return next((one.evidence for one in found.explain.hits[:JUDGED] if one.id in ids), None)

            yield ask


def fit(groups: Sequence[Group]) -> Model:
    """The coefficients by name, and ``bias``; each side of each group weighs alike."""
    sides = [
        (one, side, 1.0 / len(evidence))
        for side, found in ((1.0, [one.answered for one in groups]), (0.0, [one.foreign for one in groups]))
        for evidence in found
        for one in evidence
    ]
    answered = sum(weight for _, side, weight in sides if side)
    foreign = sum(weight for _, side, weight in sides if not side)
    weights = [weight / (answered if side else foreign) for _, side, weight in sides]
    # Who searches, asks; what is rare in the memory gets less so with each memory about it.
    rows = [_row(replace(one, asks=1.0, named=0.0, title=0.0, rare=0.0)) for one, *_ in sides]
    model = logistic(rows, [side for _, side, _ in sides], weights)
    strange = [group.foreign for group in groups if group.foreign and not group.name.endswith("its field")]
    low, high = -20.0, 20.0
    while high - low > 0.001:
        model["bias"] = (low + high) / 2
        above = sum(_above(model, one, 0.5) for one in strange) / len(strange)
        low, high = (low, model["bias"]) if above > MOST_FOREIGN else (model["bias"], high)
    return model | {"bias": round(low, 3)}


def _row(one: Evidence) -> Row:
    return tuple(getattr(one, name) or 0.0 for name in PARTS)


def logistic(rows: Sequence[Row], sides: Sequence[float], weights: Sequence[float]) -> Model:
    """Logistic regression by Newton's method, ridge .01 on standardised values."""
    scale = len(weights) / sum(weights)
    means = [sum(column) / len(rows) for column in zip(*rows, strict=True)]
    spreads = [
        math.sqrt(sum((x - m) ** 2 for x in column) / len(rows)) or 1.0
        for column, m in zip(zip(*rows, strict=True), means, strict=True)
    ]
    table = [[*((x - m) / s for x, m, s in zip(row, means, spreads, strict=True)), 1.0] for row in rows]
    size = len(means) + 1
    found = [0.0] * size
    for _ in range(30):
        slope = [RIDGE * len(rows) * value for value in found[:-1]] + [0.0]
        curve = [[RIDGE * len(rows) * (i == j < size - 1) + 1e-9 * (i == j) for j in range(size)] for i in range(size)]
        for row, side, weight in zip(table, sides, weights, strict=True):
            guess = 1 / (1 + math.exp(-sum(b * x for b, x in zip(found, row, strict=True))))
            error, steep = scale * weight * (guess - side), scale * weight * guess * (1 - guess)
            for i, x in enumerate(row):
                slope[i] += error * x
                for j in range(i + 1):
                    curve[i][j] += steep * x * row[j]
        for i in range(size):
            for j in range(i + 1, size):
                curve[i][j] = curve[j][i]
        found = [b - step for b, step in zip(found, _solved(curve, slope), strict=True)]
    values = [b / s for b, s in zip(found[:-1], spreads, strict=True)]
    bias = found[-1] - sum(v * m for v, m in zip(values, means, strict=True))
    return {"bias": round(bias, 3)} | {name: round(value, 3) for name, value in zip(PARTS, values, strict=True)}


def _solved(matrix: list[list[float]], right: Sequence[float]) -> list[float]:
    """Gauss and Jordan's elimination with the largest pivot."""
    rows = [[*row, value] for row, value in zip(matrix, right, strict=True)]
    for at in range(len(rows)):
        pivot = max(range(at, len(rows)), key=lambda one: abs(rows[one][at]))
        rows[at], rows[pivot] = rows[pivot], rows[at]
        rows[at] = [value / rows[at][at] for value in rows[at]]
        for other in range(len(rows)):
            if other != at:
                factor = rows[other][at]
                rows[other] = [value - factor * mine for value, mine in zip(rows[other], rows[at], strict=True)]
    return [row[-1] for row in rows]


def _above(model: Model, some: Sequence[Evidence], bar: float) -> float:
    return sum(_probability(model, one) >= bar for one in some) / max(1, len(some))


if __name__ == "__main__":
    sys.exit(main())
