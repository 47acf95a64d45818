"""``python -m bench.gate``: fit how likely a prompt needs a memory, and say how well that holds on projects left out.

Logistic regression on the evidence of the first rows that the prompts of ``bench/prompts`` lead to, half of them; the
others are never looked at. Each project is judged by a fit of the others, and the bars hold how many prompts with
nothing due are given something, or named something. ``--vectors`` fits the model of memories with vectors of the
sentence lane, ``--write`` puts coefficients and bars into the package.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench import memories, prompts
from bench.keeping import ROOT
from engram_py.guidance.context.gate_model import INPUTS, Evidence
from engram_py.guidance.context.prompt_gate import look_up, phrase_in

COEFFICIENTS = ROOT / "engram_py" / "guidance" / "context" / "gate.json"
ROWS = 12
# Of the prompts with nothing due so many may be given something (DESIGN.md: silence is an answer), or named it; of the
# lines given so many have to be of use.
MOST_GIVEN, MOST_NAMED, LEAST_OF_USE = 0.03, 0.10, 0.9
RIDGE = 0.01

Row = tuple[float, ...]
Model = dict[str, float]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A row that a prompt led to; ``due`` is None where it is neither due nor amiss."""

    prompt: prompts.Prompt
    evidence: Evidence
    due: bool | None


Scores = Sequence[tuple[float, Candidate]]
"""The rows of one prompt with their log odds by a model of other projects, the likeliest first."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.gate", description=__doc__.partition("\n")[0])
    parser.add_argument("--vectors", action="store_true", help="fit the model of memories with vectors")
    parser.add_argument("--write", action="store_true", help="put coefficients and bars into the package")
    arguments = parser.parse_args()
    memories.without_settings()
    model = "meaning" if arguments.vectors else "words"
    asked = [one for file in prompts.projects() for one in _asked(file, "sentence" if arguments.vectors else "")]
    judged = list(_judged(asked))
    bars = _bars(judged)
    told = fit([row for rows in asked for row in rows])
    told |= {name: round(1 / (1 + math.exp(-bar)), 3) for name, bar in bars.items()}
    print(model, json.dumps(told))
    print(_reached(judged, bars))
    if arguments.write:
        fitted = json.loads(COEFFICIENTS.read_text(encoding="utf-8")) if COEFFICIENTS.exists() else {}
        COEFFICIENTS.write_text(json.dumps(fitted | {model: told}, indent=2) + "\n", encoding="utf-8")
    return 0


def _asked(file: Path, lane: str) -> Iterator[list[Candidate]]:
    """The first rows of each prompt for building that does not ask by a phrase."""
    values = json.loads(file.read_text(encoding="utf-8"))
    with prompts.project_memory(values, lane) as (app, keys):
        for prompt in prompts.prompts_of(values):
            if prompt.half != "build" or phrase_in(prompt.text, prompts.NOW.date()) is not None:
                continue
            reads = app.projects.for_read().reads
            looked_up = look_up(app.store, prompt.text, reads, app.journal.calendar, app.vectors if lane else None)
            scored = looked_up.found.scored[:ROWS] if looked_up.found else ()
            found = []
            for one in scored:
                key = keys.get(one.id, 0)
                due = True if key in prompt.due else None if key in prompt.ok else False
                found.append(Candidate(prompt, looked_up.evidence[one.id], due))
            yield found or [Candidate(prompt, Evidence(), False)]


def _judged(asked: Sequence[Sequence[Candidate]]) -> Iterator[Scores]:
    """Judge each prompt by a fit of the other projects."""
    by_project: dict[str, list[Sequence[Candidate]]] = defaultdict(list)
    for rows in asked:
        by_project[rows[0].prompt.project].append(rows)
    for project, own in by_project.items():
        model = fit([row for other, some in by_project.items() if other != project for rows in some for row in rows])
        for rows in own:
            yield sorted(((_odds(model, row.evidence), row) for row in rows), key=lambda pair: -pair[0])


def _bars(judged: Sequence[Scores]) -> dict[str, float]:
    """The least log odds at which prompts are given and named no more than they may."""
    quiet = sorted([_loudest(rows) for rows in judged if not rows[0][1].prompt.due], reverse=True)
    lines = sorted([pair for rows in judged for pair in rows], key=lambda pair: -pair[0])
    given = _after(quiet, round(len(quiet) * MOST_GIVEN))
    while not _of_use([row for odds, row in lines if odds >= given]):
        given += 0.05
    named = _after(quiet, sum(odds >= given for odds in quiet) + round(len(quiet) * MOST_NAMED))
    return {"given": given, "named": named}


def _of_use(lines: Sequence[Candidate]) -> bool:
    return sum(row.due is not False for row in lines) >= LEAST_OF_USE * len(lines)


def _after(quiet: Sequence[float], count: int) -> float:
    """A bar between two prompts with nothing due, that ``count`` of them reach."""
    return (quiet[count - 1] + quiet[count]) / 2


def _loudest(rows: Scores) -> float:
    return max((odds for odds, row in rows if row.due is False), default=-math.inf)


def _reached(judged: Sequence[Scores], bars: Mapping[str, float]) -> str:
    due = [rows for rows in judged if rows[0][1].prompt.due]
    quiet = [rows for rows in judged if not rows[0][1].prompt.due]
    shares = []
    for name, bar in bars.items():
        found = sum(any(row.due and odds >= bar for odds, row in rows) for rows in due) / len(due)
        shares.append(f"{name} or more: {found:.2f} of {len(due)} due")
        shares.append(
            f"{sum(_loudest(rows) >= bar for rows in quiet) / len(quiet):.3f} of {len(quiet)} with nothing due"
        )
    return "; ".join(shares)


def fit(rows: Sequence[Candidate]) -> Model:
    """The coefficients by name, and ``bias``."""
    told = [row for row in rows if row.due is not None and row.prompt.kind not in ("resume", "identity")]
    return logistic([_row(row.evidence) for row in told], [float(bool(row.due)) for row in told])


def _row(one: Evidence) -> Row:
    return tuple(getattr(one, name) or 0.0 for name in INPUTS)


def _odds(model: Model, one: Evidence) -> float:
    return model["bias"] + sum(model[name] * value for name, value in zip(INPUTS, _row(one), strict=True))


def logistic(rows: Sequence[Row], sides: Sequence[float]) -> Model:
    """Logistic regression by Newton's method, ridge .01 on standardised values."""
    means = [sum(column) / len(rows) for column in zip(*rows, strict=True)]
    spreads = [
        math.sqrt(sum((x - m) ** 2 for x in column) / len(rows)) or 1.0
        for column, m in zip(zip(*rows, strict=True), means, strict=True)
    ]
    table = [[*((x - m) / s for x, m, s in zip(row, means, spreads, strict=True)), 1.0] for row in rows]
    size = len(means) + 1
    found = [0.0] * size
    for _ in range(12):
        slope = [RIDGE * len(rows) * value for value in found[:-1]] + [0.0]
        curve = [[RIDGE * len(rows) * (i == j < size - 1) + 1e-9 * (i == j) for j in range(size)] for i in range(size)]
        for row, side in zip(table, sides, strict=True):
            guess = 1 / (1 + math.exp(-sum(b * x for b, x in zip(found, row, strict=True))))
            error, steep = guess - side, guess * (1 - guess)
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
    return {"bias": round(bias, 3)} | {name: round(value, 3) for name, value in zip(INPUTS, values, strict=True)}


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


if __name__ == "__main__":
    sys.exit(main())
