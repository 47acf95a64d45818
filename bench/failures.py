"""``python -m bench.failures``: which errors that return get the fix that was seen, and which others get one.

``failures.json`` has what real tools printed: pairs of one error, the second time in changed form (other folders,
lines, options, other errors around it), and failures that are new or ordinary. Of each pair a session fails, edits a
file, runs a command and passes; then, in one memory with all of them, new sessions fail again.
"""

from __future__ import annotations

import json
import resource
import subprocess
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from engram_py import Engram
from engram_py.base.capture.acts import Act
from engram_py.guidance.failures.fixes import Advice
from engram_py.interfaces.wording.acting import advice_text

DATA = Path(__file__).with_name("failures.json")


@dataclass
class Result:
    """``right`` and ``wrong`` name the pairs and the new failures that were answered."""

    right: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    missed: list[str] = field(default_factory=list)
    tokens: list[int] = field(default_factory=list)
    milliseconds: list[float] = field(default_factory=list)


class Sessions:
    """Sessions of an agent in one repository, whose hooks call the memory."""

    def __init__(self, app: Engram, root: Path) -> None:
        self._app, self._root, self.milliseconds = app, root, 0.0

    def fails(self, session_id: str, command: str, output: str) -> Advice | None:
        self._app.sessions.start(session_id)
        begun = _processor()
        try:
            return self._app.failures.failed(
                Act(command=command), output, session_id=session_id, directory=self._root, until=time.monotonic() + 5
            )
        finally:
            self.milliseconds = (_processor() - begun) * 1000

    def mends(self, session_id: str, command: str, name: str) -> None:
        """Edit a file of its own, and have the command pass."""
        (self._root / f"{name}.txt").write_text("mended")
        self._app.failures.did(Act(files=(str(self._root / f"{name}.txt"),)), session_id=session_id)
        self._app.failures.passed(
            Act(command=command), session_id=session_id, directory=self._root, until=time.monotonic() + 5
        )


def measured(pairs: list[dict[str, Any]], new: list[dict[str, Any]], folder: Path) -> Result:
    """Learn all pairs in one memory, then let them and the new failures happen."""
    root, result = folder / "work", Result()
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    with Engram(folder / "data", directory=root) as app:
        sessions = Sessions(app, root)
        for pair in pairs:
            sessions.fails(pair["name"], pair["command"], pair["output"])
            sessions.mends(pair["name"], pair["command"], pair["name"])
        for one in [*pairs, *new]:
            again = (one["again"], one["changed"]) if "again" in one else (one["command"], one["output"])
            advice = sessions.fails(f"again {one['name']}", *again)
            result.milliseconds.append(sessions.milliseconds)
            if advice is None:
                result.missed += [one["name"]] if "again" in one else []
                continue
            result.tokens.append(-(-len(advice_text(advice).encode()) // 4))
            files = [name for remedy in advice.remedies for name in remedy.files]
            (result.right if files[:1] == [f"{one['name']}.txt"] else result.wrong).append(one["name"])
    return result


def _processor() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def main() -> None:
    data = json.loads(DATA.read_text(encoding="utf-8"))
    for name, pairs in (("twenty", [one for one in data["pairs"] if one["twenty"]]), ("all", data["pairs"])):
        with tempfile.TemporaryDirectory() as folder:
            done = measured(pairs, data["new"], Path(folder))
        print(f"{name}: {len(done.right)} of {len(pairs)} right, {len(done.wrong)} wrong answers", end=" ")
        print(f"(of {len(data['new'])} new failures and these), at most {max(done.tokens)} tokens,", end=" ")
        print(f"{sorted(done.milliseconds)[len(done.milliseconds) // 2]:.0f} ms of processor (most", end=" ")
        print(f"{max(done.milliseconds):.0f})")
        print(f"  missed: {', '.join(done.missed)}")
        print(f"  wrong: {', '.join(done.wrong) or 'none'}")


if __name__ == "__main__":
    main()
