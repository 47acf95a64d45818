"""The words of what keeps the database well (findings of the doctor, backups, a rebuilt index, vectors), of what the
memory costs, of the user's retrieval tests, and of ``engram setup``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from engram_py.base.database.backup import Backup, Restored
from engram_py.base.files import lines_of
from engram_py.guidance.ledger.costs import Cost, tokens_of
from engram_py.guidance.ledger.worth import Compared, MemoryWorth, Tally, Worth
from engram_py.interfaces.wording.phrases import Words, amount, clock, counted_as, summary_outcome
from engram_py.recall.vectors.values import Embedded, TurnedOff, VectorState
from engram_py.upkeep.evaluation.questions import (
    DEPTH,
    Asked,
    Evaluation,
    ExpectedAnswer,
    Measures,
    Question,
    QuestionKept,
    QuestionsRemoved,
)
from engram_py.upkeep.evaluation.tasks import ARMS, Plan, Result
from engram_py.upkeep.values import (
    Check,
    Encryption,
    Hot,
    HotReport,
    Maintained,
    PassDone,
    Reindexed,
    Report,
    Runs,
)

if TYPE_CHECKING:
    from engram_py.interfaces.setup.installing import Done


def _report(value: Report, now: datetime) -> str:
    count = value.summary
    counts = f"{count['ok']} ok, {amount(count['warnings'], 'warning')}, {amount(count['errors'], 'error')}"
    lines = [f"{value.status}: {counts} ({value.path})"]
    lines += [f"backup before repair: {value.backup}"] if value.backup else []
    return "\n".join([*lines, *(line for check in value.checks for line in _check(check))])


def _check(check: Check) -> Sequence[str]:
    line = f"{check.result:7} {check.check_id}: {check.message}" + (" (repaired)" if check.fixed else "")
    steps = [] if check.result == "ok" else lines_of(check.safe_next_step or "")
    return [line, *(f"        → {step}" for step in steps)]


def _encryption(value: Encryption, now: datetime) -> str:
    files = f", with {amount(value.files, 'other file')}" if value.files else ""
    if value.encryption == "off":
        return f"The database is not encrypted{files}: {value.path}"
    lines = [f"The database is encrypted{files}: {value.path}", f"The key is {value.key}"]
    lines += [f"note: {file} is not encrypted" for file in value.readable]
    return "\n".join(lines)


def _reindexed(value: Reindexed, now: datetime) -> str:
    rows = f"{amount(value.observations, 'observation')} and {amount(value.prompts, 'prompt')}"
    older = f"; {value.rewritten} {'was' if value.rewritten == 1 else 'were'} indexed by an older version"
    lines = [f"Indexed {rows}{older if value.rewritten else ''}"]
    lines += ["continued where an earlier run was interrupted"] if value.resumed else []
    lines += ["the index was damaged and was rebuilt first"] if value.mended else []
    return "\n".join(lines)


def _maintained(value: Maintained, now: datetime) -> str:
    if value.busy:
        return "Upkeep is running in another process. Try again in a minute."
    return "\n".join(map(_pass, value.passes)) or "Nothing is due"


def _pass(one: PassDone) -> str:
    lines = [f"{one.name}: {one.status} in {one.ms:,} ms"]
    lines += [f"  {step.name}: {step.error or _counted(step.counts)}" for step in one.steps]
    return "\n".join(lines)


def _counted(counts: Mapping[str, float]) -> str:
    return ", ".join(counted_as(value, name) for name, value in counts.items() if value) or "nothing to do"


def _runs(value: Runs, now: datetime) -> str:
    lines = [
        f"{one.name}: {amount(one.runs, 'run')} in 30 days, {one.success:.0%} succeeded, {one.mean_ms:,} ms each"
        for one in value.passes
    ]
    lines += [
        f"{clock(one.at, now, '%Y-%m-%d %H:%M')} {one.name} {one.status}: "
        f"{summary_outcome(one.detail) or _counted(one.counts)}"
        for one in value.runs
    ]
    since = [f"{amount(value.facts_since_synthesis, 'new fact')} since summaries were last written"]
    return "\n".join([*lines, *since] if lines else ["Upkeep has not run yet"])


def _hot(value: HotReport, now: datetime) -> str:
    if not value.observations and not value.entities:
        return "Nothing was used yet: searches and contexts count what they show"
    lines = [f"{amount(value.total, 'use')} in total", *(_hot_line(one, now) for one in value.observations)]
    lines += ["Entities"] if value.entities else []
    return "\n".join([*lines, *(_hot_line(one, now) for one in value.entities)])


def _hot_line(one: Hot, now: datetime) -> str:
    last = f", last {clock(one.last_accessed_at, now, '%Y-%m-%d')}" if one.last_accessed_at else ""
    return f"[#{one.id}] {one.title} ({one.kind}): {amount(one.access_count, 'time')}{last}, {one.tier}"


_UNKNOWN = "unknown: no transcript was read; `engram setup` adds the hooks that read them"


def _cost(value: Cost, now: datetime) -> str:
    lines = [_head(value), "", *_doors(value), *_sessions(value), "", *_shares(value)]
    if value.models:
        tokens, dollars = f"{value.models.tokens:,}", f"${value.models.dollars:.2f}"
        lines += ["", _row("models that summarized sessions, 30 days", dollars, tokens)]
    if value.profiles:
        instructions = tokens_of(value.profiles[0].instruction_bytes)
        lines += ["", _row(f"per session (instructions: {instructions:,})", "tools", "tokens")]
        lines += [_row(f"profile {one.profile}", f"{one.tools:,}", f"{one.tokens:,}") for one in value.profiles]
    return "\n".join(lines)


def _head(value: Cost) -> str:
    what = f"session {value.session_id}" if value.session_id else "all sessions"
    what += f" of project {value.project}" if value.project else ""
    return f"Cost of {what}{f' since {value.since}' if value.since else ''}; a token is 4 bytes"


def _doors(value: Cost) -> Iterator[str]:
    if not value.doors:
        yield "Nothing is counted yet. Answers of hooks, MCP tools and HTTP routes are counted from now on."
        return
    yield _row("answered", "calls", "tokens")
    for one in value.doors:
        yield _row(f"{one.door} {one.name}", f"{one.calls:,}", f"{one.tokens:,}")
    calls, size = sum(one.calls for one in value.doors), sum(one.bytes for one in value.doors)
    yield _row("all", f"{calls:,}", f"{tokens_of(size):,}")


def _sessions(value: Cost) -> Iterator[str]:
    if value.session_id is not None or not value.sessions:
        return
    yield from ("", _row(f"sessions ({value.session_count:,}), most expensive first", "calls", "tokens"))
    for one in value.sessions:
        place = f" ({one.project})" if one.project else ""
        yield _row(f"{one.id or 'unknown session'}{place}", f"{one.calls:,}", f"{one.tokens:,}")


def _shares(value: Cost) -> Iterator[str]:
    yield _row("memories", "number", "tokens")
    shares = {"given by hooks": value.injected, "recalled by tools": value.recalled}
    for name, share in (shares | {"cited": value.cited, "never used": value.never_used}).items():
        yield _row(name, f"{share.observations:,}", f"{share.tokens:,}") if share else f"{name:40} {_UNKNOWN}"


def _row(name: str, *cells: str) -> str:
    return f"{name:40}" + "".join(f"{cell:>9}" for cell in cells)


_KIND = {"guard": "guards", "fix": "fixes", "memory": "memories"}
_COUNTS = ("moments", "heeded", "ignored", "repeated", "harmful", "unknown", "tokens")


def _worth(value: Worth, now: datetime) -> str:
    if not value.count:
        return "No memory was given to an agent yet. Counting starts now."
    of = f" of project {value.project}" if value.project else ""
    since = f" since {value.since}" if value.since else ""
    lines = [f"Results of memories that hooks gave to agents{of}{since}; a token is 4 bytes", "", _tallied("", None)]
    for one in value.kinds:
        lines += [_tallied(_KIND[one.kind], one.given)] if one.given.moments else []
        lines += [_tallied("  not given", one.without)] if one.without.moments else []
    lines += [_tallied("all given", value.all), ""]
    lines += [said for one in value.kinds if (said := compared(one))]
    lines += ["", *(_worth_line(one) for one in value.memories)]
    left = value.count - len(value.memories)
    return "\n".join([*lines, *([f"and {amount(left, 'memory')} more"] if left else [])])


def _tallied(name: str, tally: Tally | None) -> str:
    cells = [f"{getattr(tally, count):,}" if tally else count for count in _COUNTS]
    return f"{name:12}" + "".join(f"{cell:>9}" for cell in cells)


def compared(one: Compared) -> str:
    """Return in a sentence how often moments of a kind were heeded, and how that compares; nothing without moments."""
    if not one.given.moments:
        return ""
    name, known = _KIND[one.kind], one.given.moments - one.given.unknown
    if one.given.share is None:
        return f"{name}: {known} with a known outcome, too few for a percentage"
    said = f"{name}: {one.given.share:.0%} of {known} were heeded"
    if one.difference is None:
        return said
    diff = one.difference
    unsure = ", which may be chance" if diff.low <= 0 <= diff.high else ""
    return (
        f"{said}; without it: {one.without.share:.0%} of {one.without.moments - one.without.unknown} "
        f"({diff.value * 100:+.0f} points; 95%: {diff.low * 100:+.0f} to {diff.high * 100:+.0f}){unsure}"
    )


def _worth_line(one: MemoryWorth) -> str:
    given = one.given
    counts = [f"{getattr(given, name)} {name}" for name in _COUNTS[1:6] if getattr(given, name)]
    counts += [f"{given.share:.0%} heeded"] if given.share is not None else []
    counts += [f"{one.without.moments} not given"] if one.without.moments else []
    state = "; off until `engram review` confirms it" if one.retired else ""
    moments = f"{amount(given.moments, 'moment')}, {given.tokens:,} tokens"
    return f"[#{one.id}] {one.title} ({one.type}): {', '.join([moments, *counts])}{state}"


_OFF = "Vectors are off; searches use only words.\n→ run `engram vectors on`"


def _state(value: VectorState, now: datetime) -> str:
    if not value.embedder:
        return f"{_OFF}\n{_megabytes(value.bytes)} of vectors are kept" if value.bytes else _OFF
    left = value.lacking
    lines = [f"{value.embedder}: {value.done:,} of {value.observations:,} observations have vectors"]
    lines += [f"and {value.documents_done:,} of {value.documents:,} document passages"] if value.documents else []
    costs = [f"{_megabytes(value.model_bytes)} for the model"] if value.model_bytes else []
    costs += [f"{_megabytes(value.bytes)} in the database"] if value.bytes else []
    costs += [f"{value.question_ms:.0f} ms per search"] if value.question_ms else []
    if costs:
        lines.append("costs " + ", ".join(costs))
    if value.runtime:
        lines.append(f"runs on {value.runtime}")
    if value.host:
        lines.append(f"texts are sent to {value.host}")
    lines += [f"kept vectors: {name}" for name in value.others]
    if value.problem:
        lines.append(f"problem: {value.problem}\n→ {value.hint}")
    elif left:
        lines.append(f"→ run `engram vectors on` for the {left:,} left; a running server computes them by itself")
    return "\n".join(lines)


def _megabytes(size: int) -> str:
    return f"{size / 1e6:,.1f} MB" if size >= 50_000 else f"{size:,} bytes"


def _embedded(value: Embedded, now: datetime) -> str:
    what = f"{amount(value.observations, 'observation')}, {amount(value.passages, 'passage')}"
    what += f", {amount(value.documents, 'document passage')}" if value.documents else ""
    return f"Computed vectors of {what}, in {value.seconds:.1f} s\n{_state(value.state, now)}"


def _turned_off(value: TurnedOff, now: datetime) -> str:
    if value.deleted:
        return f"Vectors are off; those of {amount(value.deleted, 'observation')} and the models are deleted"
    kept = f" The vectors of {amount(value.kept, 'observation')} are kept." if value.kept else ""
    return f"Vectors are off; searches use only words.{kept}"


def description(done: Done, *, dry_run: bool) -> str:
    """Return what was done, or would be, a line for each step."""
    lines = [f"{done.title} ({done.scope})" + ("" if done.changed else ": nothing to change")]
    for step in done.steps:
        if dry_run and step.diff:
            lines.append(step.diff.rstrip("\n"))
        elif done.changed:
            lines.append(f"  {'would be ' if dry_run else ''}{step.kind}: {step.what}")
        if step.replaces:
            verb = "would replace" if dry_run else "replaced"
            lines.append(f"  {verb} your server engram ({step.replaces}); `engram unsetup` restores it")
        if step.note:
            lines.append(f"  {step.note}")
    if done.changed and not dry_run and done.note:
        lines += [f"  {note}" for note in lines_of(done.note)]
    return "\n".join(lines)


MOST_MOVED = 40
_NAMES = {"hit_1": "hit@1", "hit_5": "hit@5", "hit_10": "hit@10", "mrr": "MRR", "ndcg_10": "nDCG@10"}
_KEPT = {"added": "Added", "updated": "Updated", "unchanged": "Already kept"}
_FELL = {**_NAMES, "false_answers": "false answers"}


def _answer(value: ExpectedAnswer) -> str:
    if value.id is None:
        return "a memory that is not here"
    return f"[#{value.id}] {value.title}" + (" (deleted)" if value.deleted else "")


# What an agent takes for a task of this size, with the models of 2026.
_RUN_TOKENS, _RUN_DOLLARS = (50_000, 300_000), (0.2, 1.5)


def _plan(value: Plan, now: datetime) -> str:
    left = value.runs - value.done
    lines = [
        f"{one.id} {lines_of(one.prompt)[0]} ({one.why}; {' '.join(one.check) or 'its guard'})" for one in value.tasks
    ]
    low, high = (round(left * dollars) for dollars in _RUN_DOLLARS)
    few, many = (f"{tokens:,}" for tokens in _RUN_TOKENS)
    tasks, runs = amount(len(value.tasks), "task"), amount(value.runs, "run")
    head = f"{tasks}, each in {len(ARMS)} variants ({', '.join(ARMS)}): {runs}"
    return "\n".join(
        [
            head + (f", {value.done} of them done" if value.done else ""),
            *lines,
            f"At most {left * value.timeout / 3600:.1f} hours. A real agent takes {few} to {many} tokens a run: "
            f"roughly ${low} to ${high} in total.",
        ]
    )


def _result(value: Result, now: datetime) -> str:
    if not value.tasks:
        return "No task has run in all four variants yet"
    lines = [
        f"{amount(value.tasks, 'task')} in all four variants",
        f"{'':10}" + "".join(f"{one:>10}" for one in _ARM_COUNTS),
    ]
    lines += [f"{one.arm:10}" + "".join(f"{getattr(one, name):>10}" for name in _ARM_COUNTS) for one in value.arms]
    lines += ["helped: solved, but not solved without memory. harmed: the opposite."]
    lines += [
        f"{one.arm}: {one.helped} helped, {one.harmed} harmed"
        + (f"; that may be chance (p = {one.chance:.2f})" if one.chance > _CHANCE else f" (p = {one.chance:.3f})")
        for one in value.arms
        if one.helped + one.harmed
    ]
    return "\n".join(lines)


_ARM_COUNTS = ("runs", "solved", "helped", "harmed", "timeouts", "seconds")
_CHANCE = 0.05


def _question(value: Question, now: datetime) -> str:
    answers = "; ".join(map(_answer, value.answers)) or "nothing"
    where = value.project or "all projects"
    return f'{value.id} "{value.question}" → {"nothing expected" if value.silent else answers} ({where})'


def _evaluation(value: Evaluation, now: datetime) -> str:
    if not value.asked:
        return 'No questions yet: engram eval add "your question" ID'
    parts = (_measured(value, now), [""], _table(value), _moved(value), _lost(value), [""], _verdict(value))
    return "\n".join([_failing(value), *(line for part in parts for line in part)])


def _failing(value: Evaluation) -> str:
    """Return how many questions are not answered as they should be; the kept run may have asked few of them."""
    asked = [one for one in value.asked if one.outcome != "lost"]
    wrong = sum(one.outcome in ("missed", "answered") for one in asked)
    of = "the question" if len(asked) == 1 else f"{len(asked):,} questions"
    if not wrong:
        return f"none of {of} fails" if len(asked) != 1 else "the question is answered as it should be"
    return f"{wrong:,} of {of} {'fails' if wrong == 1 else 'fail'}" if len(asked) > 1 else "the question fails"


def _measured(value: Evaluation, now: datetime) -> Iterator[str]:
    facts = ", ".join(f"{name} {fact}" for name, fact in value.facts.items())
    silent = value.measures.silent_questions
    asked = amount(len(value.asked), "question")
    yield f"{facts}: {asked}, {silent} that should find nothing"
    if value.kept_at is not None:
        both = sum(one.comparable for one in value.asked)
        new = sum(one.new for one in value.asked)
        asked = f"{amount(both, 'question')} asked then and now" + (f", {new} new" if new else "")
        yield f"before: the kept run of {clock(value.kept_at, now)}; {asked}"
        yield f"changed since then: {', '.join(value.changed) or 'nothing in the program or the index'}"


def _table(value: Evaluation) -> Iterator[str]:
    columns = _columns(value)
    yield f"{'':14}" + "".join(f"{name:>10}" for name in columns)
    yield f"{'with an answer':14}" + "".join(f"{measures.questions:>10}" for measures in columns.values())
    for name, label in _NAMES.items():
        shares = (f"{getattr(one, name):.3f}" if one.questions else "-" for one in columns.values())
        cells = "".join(f"{share:>10}" for share in shares)
        yield f"{label:14}{cells}" + ("  FELL" if name in value.fell else "")
    if value.measures.questions:
        yield f"of the hits: precision {value.precision:.3f}, recall {value.recall:.3f}, F1 {value.f1:.3f}"
    false = (
        f"{one.false_answers} of {one.silent_questions}" if one.silent_questions else "-" for one in columns.values()
    )
    cells = "".join(f"{share:>10}" for share in false)
    yield f"{'false answers':14}{cells}" + ("  ROSE" if "false_answers" in value.fell else "")


def _columns(value: Evaluation) -> dict[str, Measures]:
    """Return the measures of a comparison: what both runs asked, and apart from it what only this one did."""
    if value.before is None or value.now is None:
        return {"all": value.measures}
    new = value.new if any(one.new for one in value.asked) else None
    return {"before": value.before, "now": value.now} | ({"new": new} if new else {})


def _moved(value: Evaluation) -> Iterator[str]:
    moved = [one for one in value.asked if one.comparable and one.moved]
    wrong = [one for one in value.asked if one.outcome in ("missed", "answered") and one not in moved]
    for title, asked in (("moved", moved), ("not answered as they should be", wrong)):
        if asked:
            yield from ("", f"{title}:")
            yield from (_line(one) for one in asked[:MOST_MOVED])
            if len(asked) > MOST_MOVED:
                yield f"  and {len(asked) - MOST_MOVED} more: --json lists them all"


def _line(one: Asked) -> str:
    then = f"{_place(one.before, one.rank_before)} → " if one.before is not None and one.moved else ""
    shown = f", with {_answer(one.shown)}" if one.shown else ""
    return f'  {one.id} "{one.question}": {then}{_place(one.outcome, one.rank, empty=one.empty)}{shown}'


def _place(outcome: str | None, rank: int | None, *, empty: bool = False) -> str:
    match outcome:
        case "found":
            return f"rank {rank}"
        case "missed" if not empty:
            return f"not in the first {DEPTH}"
        case "answered":
            return "answered"
    return "nothing found"


def _lost(value: Evaluation) -> Iterator[str]:
    lost = [one for one in value.asked if one.outcome == "lost"]
    if lost:
        yield from (
            "",
            "Not counted, because the answer was deleted. Remove: `engram eval remove N`. "
            "New answer: `engram eval add QUESTION ID`:",
        )
        yield from (f'  {one.id} "{one.question}": {"; ".join(map(_answer, one.answers))}' for one in lost)


def _verdict(value: Evaluation) -> Sequence[str]:
    lines = []
    if value.fell:
        names = ", ".join(_FELL[name] for name in value.fell)
        lines.append(f"worse than the kept run by more than {value.tolerance:g}: {names}")
    elif value.kept_at is not None:
        compared = sum(one.comparable for one in value.asked)
        lines.append(f"no worse than the kept run in the {amount(compared, 'question')} of both")
    if value.kept:
        lines.append("kept: later runs are compared with this one")
    elif value.kept_at is not None and (new := sum(one.new for one in value.asked)):
        lines.append(f"{amount(new, 'new question')}, not compared; to compare later runs with this one: --keep")
    return lines


WORDS: Words = {
    Report: _report,
    Backup: lambda value, now: (
        f"Backed up {amount(value.observations, 'observation')} to {value.path} ({value.bytes:,} bytes)"
    ),
    Encryption: _encryption,
    Restored: lambda value, now: (
        f"Restored {amount(value.observations, 'observation')} from {value.source} to {value.path}"
        f"{f'; the old database is kept in {value.kept}' if value.kept else ''}"
    ),
    Reindexed: _reindexed,
    Maintained: _maintained,
    Runs: _runs,
    HotReport: _hot,
    Cost: _cost,
    Worth: _worth,
    VectorState: _state,
    Embedded: _embedded,
    TurnedOff: _turned_off,
    Question: _question,
    QuestionKept: lambda value, now: f"{_KEPT[value.outcome]}: {_question(value.question, now)}",
    QuestionsRemoved: lambda value, now: f"Removed {amount(value.count, 'question')}",
    Evaluation: _evaluation,
    Plan: _plan,
    Result: _result,
}
