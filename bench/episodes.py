"""``python -m bench.episodes``: what is kept of sessions whose agent saved nothing.

Twelve scripted sessions of real git work go through the hooks as Claude Code runs them: commits, reverts, attempts that
failed, an interruption, one that only asked. It prints in how many the summary that needs no model names the goal, the
commits and what is open, whether it stays away from the one with nothing notable, whether the start of the next session
shows it, and whether "where did we leave off" finds it; and the processor time of a session of 2,000 turns.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.workplace import git
from engram_py import Engram
from engram_py.base.capture.passive import open_steps
from engram_py.base.settings import Settings
from engram_py.memory.sessions.transcript_formats import spoken

ASKED = "where did we leave off"
WANTED = 10
LONG_TURNS, LONG_SECONDS = 2_000, 2.0
_WAIT_SECONDS = 30.0
_SEEN_CHARS = 40
FIRST = "Start of the shop"

Step = tuple[str, str] | Callable[["Checkout"], None]


@dataclass(frozen=True, slots=True)
class Script:
    """A session: what is said and done in turn, and what its summary has to name. ``still_open`` None: it is to leave
    nothing at all."""

    name: str
    steps: Sequence[Step]
    goal: str = ""
    commits: Sequence[str] = ()
    still_open: Sequence[str] | None = ()
    without: Sequence[str] = ()


class Checkout:
    """The repository that the sessions work in."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True)
        self.git("init", "--quiet", "--initial-branch=main")
        for name in ("paginate", "login", "cache", "export", "billing", "report"):
            self.write(f"src/{name}.py", f"def {name}():\n    return 1\n")
        self.git("add", "-A")
        self.git("commit", "--quiet", "-m", FIRST)

    def git(self, *arguments: str) -> None:
        git(self.folder, *arguments)

    def write(self, name: str, text: str) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def edits(name: str, text: str) -> Step:
    return lambda checkout: checkout.write(f"src/{name}.py", text)


def runs(*arguments: str) -> Step:
    return lambda checkout: checkout.git(*arguments)


def commits(name: str, subject: str) -> tuple[Step, Step]:
    return edits(name, f"# {subject}\n"), runs("commit", "--quiet", "--all", "-m", subject)


def user(text: str) -> Step:
    return ("user", text)


def agent(text: str) -> Step:
    return ("assistant", text)


_LOG = "\n".join(
    f"2026-11-02T10:{number % 60:02}:00 ERROR export: row {number} has no currency" for number in range(300)
)

SCRIPTS = (
    Script(
        "one fix",
        (
            user("paginate() drops the last item when the page is full, please fix that and keep its signature."),
            *commits("paginate", "Keep the last item of a full page"),
            agent("The slice ended one item early. It is fixed and committed, and all tests pass."),
        ),
        "paginate() drops the last item",
        ("Keep the last item of a full page",),
    ),
    Script(
        "two commits and next steps",
        (
            user("Add rate limiting to the login endpoint: five tries a minute for each address."),
            *commits("login", "Count login tries per address"),
            *commits("login", "Refuse the sixth try within a minute"),
            agent(
                "Login tries are limited now.\n\n**Decisions:**\n- Count in memory, because one process serves all\n\n"
                "**Next steps:**\n- Document the limit in the API page\n- Ask operations about the proxy's header\n\n"
                "Tell me if you want another limit."
            ),
        ),
        "Add rate limiting to the login endpoint",
        ("Count login tries per address", "Refuse the sixth try within a minute"),
        ("Document the limit in the API page", "Ask operations about the proxy's header"),
        ("Tell me if you want",),
    ),
    Script(
        "a revert",
        (
            user("Switch the cache from a dictionary to an LRU of 1,000 entries."),
            *commits("cache", "Use an LRU cache of 1,000 entries"),
            runs("revert", "--no-edit", "HEAD"),
            agent("The LRU made the import tests fail, because they rely on entries that stay. I took it back."),
        ),
        "Switch the cache from a dictionary to an LRU",
        ("Use an LRU cache of 1,000 entries (reverted",),
        ("Switch the cache from a dictionary to an LRU",),
    ),
    Script(
        "a failed attempt",
        (
            user("Make the report module run without pandas, it takes too long to import."),
            edits("report", "import csv\n"),
            edits("report", "import csv, statistics\n"),
            runs("checkout", "--quiet", "--", "src/report.py"),
            agent("The pivot tables need pandas; without it 14 tests fail. I put the file back as it was."),
        ),
        "Make the report module run without pandas",
        ("`src/report.py`",),
        ("Make the report module run without pandas",),
    ),
    Script(
        "a commit that was dropped",
        (
            user("Try whether billing can round half to even, and drop it if the totals change."),
            *commits("billing", "Round half to even"),
            runs("reset", "--quiet", "--hard", "HEAD~1"),
            agent("Two of the yearly totals change by a cent, so I dropped the commit again."),
        ),
        "Try whether billing can round half to even",
        ("Round half to even (committed and dropped again)",),
        ("Try whether billing can round half to even",),
    ),
    Script(
        "only questions",
        (
            user("How does the cache decide which entry it throws away first, and where is that written?"),
            agent("It does not throw any away: it is a plain dictionary in src/cache.py that lives with the process."),
            user("And would a second process see the same entries, or has each process its own?"),
            agent("Each has its own. Nothing is shared between processes."),
        ),
        still_open=None,
    ),
    Script(
        "an interruption",
        (
            user("Let export write the currency of each row, as the third column."),
            *commits("export", "Write the currency as the third column"),
            agent("The currency is written now; the header names it as well."),
            user("Now let the importer read that column, and refuse rows without a currency."),
        ),
        "Let export write the currency of each row",
        ("Write the currency as the third column",),
        ("Now let the importer read that column",),
    ),
    Script(
        "work that was not committed",
        (
            user("Split the login function into checking the password and opening the session."),
            edits("login", "def check():\n    return 1\n"),
            agent("The first half is done: check() exists and login() calls it. Opening the session is still inside."),
        ),
        "Split the login function",
        ("`src/login.py`",),
        ("src/login.py",),
    ),
    Script(
        "an amended commit",
        (
            runs("checkout", "--quiet", "--", "."),
            user("Rename the function paginate to pages everywhere it is called."),
            *commits("paginate", "Rename paginate"),
            edits("paginate", "# the whole rename\n"),
            runs("commit", "--quiet", "--all", "--amend", "-m", "Rename paginate to pages"),
            agent("Renamed in all callers, in one commit."),
        ),
        "Rename the function paginate to pages",
        ("Rename paginate to pages",),
        (),
        ("dropped again",),
    ),
    Script(
        "a branch",
        (
            user("hi"),
            agent("Hello! What shall we do?"),
            user("Start the invoice feature on a branch of its own, with the data model alone for now."),
            runs("checkout", "--quiet", "-b", "invoice"),
            *commits("billing", "Add the data model of invoices"),
            runs("checkout", "--quiet", "main"),
            agent("The model is on branch invoice, and main is as it was.\n\n## Next Steps\n1. Write the migration\n"),
        ),
        "Start the invoice feature on a branch",
        ("Add the data model of invoices",),
        ("Write the migration",),
    ),
    Script(
        "another language",
        (
            user("Der Bericht soll Beträge mit Komma statt Punkt ausgeben, bitte mit Test."),
            *commits("report", "Beträge mit Komma ausgeben"),
            agent(
                "Erledigt.\n\n## Entscheidungen\n- Das Format hängt an der Sprache des Kunden\n\n"
                "## Nächste Schritte\n- Die Übersetzer fragen, ob das für die Schweiz stimmt\n\n## Offen\n"
                "- Die Übersetzer fragen, ob das für die Schweiz stimmt\n"
            ),
            user("danke"),
        ),
        "Der Bericht soll Beträge mit Komma",
        ("Beträge mit Komma ausgeben",),
        ("Die Übersetzer fragen",),
    ),
    Script(
        "a pasted log and rebased commits",
        (
            user(f"The nightly export fails, find out why and fix it.\n\n```\n{_LOG}\n```"),
            runs("checkout", "--quiet", "-b", "nightly"),
            *commits("export", "Skip rows without a currency"),
            runs("checkout", "--quiet", "main"),
            *commits("cache", "Warm the cache before the export"),
            runs("checkout", "--quiet", "nightly"),
            runs("rebase", "--quiet", "main"),
            agent("Rows without a currency stopped it. They are skipped and counted now."),
            user("go on"),
            agent("There is nothing left to do: the run of last night passes."),
        ),
        "The nightly export fails",
        ("Skip rows without a currency", "Warm the cache before the export"),
        (),
        ("dropped again",),
    ),
)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What came of one session."""

    script: Script
    text: str
    goal: bool
    commits: bool
    open: bool
    shown: bool
    found: bool

    @property
    def named(self) -> bool:
        return self.goal and self.commits and self.open


class Day:
    """One user's machine for a day: a repository, a memory, and the hooks of an agent."""

    def __init__(self, root: Path) -> None:
        self.checkout = Checkout(root / "code" / "shop")
        self._data, self._home = root / "data", root
        self._transcripts = root / ".claude" / "projects" / "shop"
        self._transcripts.mkdir(parents=True)

    def hook(self, event: str, session: str, **fields: str) -> str:
        """What the agent is given at an event."""
        command = [sys.executable, "-m", "engram_py", "hook", event, "--agent", "claude-code"]
        data = json.dumps({"session_id": session, "cwd": str(self.checkout.folder), **fields}).encode()
        environ = os.environ | {"HOME": str(self._home), "ENGRAM_DATA_DIR": str(self._data)}
        out = subprocess.run(
            command, input=data, capture_output=True, cwd=self.checkout.folder, env=environ, check=True
        ).stdout
        told = json.loads(out) if out else {}  # when it stops, it may be reminded to save something: this one does not
        return str(told.get("hookSpecificOutput", {}).get("additionalContext", ""))

    def play(self, script: Script, session: str) -> str:
        """Run a session to its end, and give its summary."""
        path = self._transcripts / f"{session}.jsonl"
        time.sleep(1.1)  # git counts whole seconds
        self.hook("session-start", session, source="startup")
        time.sleep(1.1)
        for number, step in enumerate(script.steps):
            if callable(step):
                step(self.checkout)
                continue
            role, text = step
            if role == "user":
                self.hook("user-prompt", session, prompt=text)
            message = {"role": role, "content": text if role == "user" else [{"type": "text", "text": text}]}
            now = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime())
            line = {"type": role, "uuid": f"{session}-{number}", "timestamp": now, "message": message}
            with path.open("a") as file:
                file.write(json.dumps(line) + "\n")
            if role == "assistant":
                self.hook("stop", session, transcript_path=str(path), last_assistant_message=text)
        self.hook("session-end", session, transcript_path=str(path), reason="exit")
        return self._summary(session)

    def _summary(self, session: str) -> str:
        with Engram(settings=Settings(self._data), directory=self.checkout.folder) as app:
            deadline = time.monotonic() + _WAIT_SECONDS
            waits = "select 1 from sessions where id = :id and distill_state = 'pending'"
            while app.store.row(waits, id=session) is not None and time.monotonic() < deadline:
                time.sleep(0.05)
            sql = "select content from observations where type = 'session_summary' and session_id = :id"
            return str(app.store.value(sql, id=session) or "")


def judged(day: Day, script: Script, session: str, before: Sequence[str]) -> Verdict:
    """Play a session, look at its summary, and ask as the next session does. ``before`` are the subjects of commits
    that others made."""
    text = day.play(script, session)
    started = day.hook("session-start", f"{session}-next", source="startup")
    asked = day.hook("user-prompt", f"{session}-next", prompt=ASKED)
    if script.still_open is None:
        return Verdict(script, text, not text, not text, not text, not text, not text)
    seen = script.goal[:_SEEN_CHARS]
    left = "\n".join(open_steps(text, most=None))
    wrong = [one for one in (*script.without, *before) if one in text]
    right = all(one in left for one in script.still_open) and bool(left) == bool(script.still_open)
    return Verdict(
        script,
        text,
        goal=script.goal in text.partition("## Goal")[2].partition("##")[0],
        commits=all(one in text for one in script.commits) and not wrong,
        open=right,
        shown=seen in started,
        found=seen in asked,
    )


def long_session(root: Path) -> float:
    """The seconds of processor time that distilling 2,000 turns takes."""
    folder = root / "long"
    folder.mkdir()
    with Engram(settings=Settings(root / "long-data"), directory=folder, project="long") as app:
        app.sessions.start("long")
        texts = [f"Part {number}: make it so. " + "word " * 400 for number in range(LONG_TURNS)]
        turns = [spoken("assistant" if number % 2 else "user", text) for number, text in enumerate(texts)]
        app.transcripts.keep([turn for turn in turns if turn], session_id="long", project="long")
        begun = time.process_time()
        app.distilling.flush("long")
        return time.process_time() - begun


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="fail where a target is missed")
    parser.add_argument("--show", action="store_true", help="print each summary")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="engram-episodes-") as name:
        root = Path(name).resolve()
        day = Day(root)
        verdicts, before = list[Verdict](), [FIRST]
        for number, script in enumerate(SCRIPTS):
            verdicts.append(judged(day, script, f"s{number}", before))
            before += [subject for subject in script.commits if " " in subject and "`" not in subject]
        seconds = long_session(root)
    for one in verdicts:
        marks = {"goal": one.goal, "commits": one.commits, "open": one.open, "start": one.shown, "asked": one.found}
        print(f"{one.script.name:34}" + "  ".join(f"{name} {'yes' if ok else 'NO':4}" for name, ok in marks.items()))
        if given.show:
            print("    " + one.text.replace("\n", "\n    ") + "\n")
    told = [one for one in verdicts if one.script.still_open is not None]
    named, silent = sum(one.named for one in told), all(one.named for one in verdicts if one not in told)
    shown, found = sum(one.shown for one in told), sum(one.found for one in told)
    print(f"\ngoal, commits and what is open: {named} of {len(told)} (at least {WANTED})")
    print(f"silent about the one with nothing notable: {'yes' if silent else 'NO'}")
    print(f"shown by the next start: {shown} of {len(told)}; found by {ASKED!r}: {found} of {len(told)}")
    print(f"processor time of {LONG_TURNS:,} turns: {seconds:.2f} s (at most {LONG_SECONDS:g})")
    met = named >= WANTED and silent and shown >= WANTED and found >= WANTED and seconds <= LONG_SECONDS
    return int(given.check and not met)


if __name__ == "__main__":
    sys.exit(main())
