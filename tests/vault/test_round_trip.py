"""What a vault writes it reads back, whatever the rows say, and no edit of a person loses a text."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram_py import Draft, Engram
from engram_py.observations.values import Observation
from engram_py.settings import Settings
from engram_py.vault.folder import shelved
from engram_py.vault.markdown import TAIL, anchor_of, parse, plain_lines, rendered, with_tail
from tests.memory import FakeClock

PIECES = (
    "text", "# heading", "## 2026-01-02", "## 10:00 late", "\\## 10:00", "- item", "  - deeper", "* star", "1. one",
    "```", "~~~sh", "    code", "> quote", "---", "- - -", "**bold**", "`code`", "<div>", "</div>", "[a]: b",
    "<!-- obs-0123456789abcdef -->", "| a | b |", "\ttab", "", "", "é 漢字 \u2028 x", "a\r\nb", "c\rd", TAIL,
    "(2026-01-02)", "(until 2026-01-02)",
)  # fmt: skip
TEXTS = st.lists(st.sampled_from(PIECES), min_size=1, max_size=8).map("\n".join).filter(lambda text: text.strip())
LINES = st.sampled_from([piece for piece in PIECES if piece.strip() and "\n" not in piece and "\r" not in piece])
TYPES = st.sampled_from(["decision", "identity", "note", "session_summary", "fact", "bugfix"])


def row(number: int, kind: str, title: str, content: str, *, pinned: bool = False) -> Observation:
    at = f"2026-01-{number % 27 + 1:02}T05:00:00.000Z"
    about = "alice" if kind == "fact" else None
    return Observation(
        number, f"obs-{number:016x}", "s", "widgets", "project", kind, " ".join(title.split()), content.strip(), None,
        "", None, "agent", "active", pinned, 0.5, 0, None, None, None, None, None, 1, 1, None, at, at, None, about,
    )  # fmt: skip


@given(st.lists(st.tuples(TYPES, LINES, TEXTS, st.booleans()), max_size=6), LINES)
def test_every_item_is_read_as_it_was_written(drawn: list[tuple[str, str, str, bool]], own: str) -> None:
    rows = [row(number, *one[:3], pinned=one[3]) for number, one in enumerate(drawn)]
    by_anchor = {anchor_of(one): one for one in rows}
    seen = set()
    for path, text in rendered(shelved(rows, {}), None).items():
        if not path.endswith(".md") or path.endswith("_index.md"):
            continue
        page = parse(path, with_tail(text, own))
        assert page.tail == own.strip("\n")
        for item in page.items:
            known = by_anchor[item.anchor]
            seen.add(item.anchor)
            assert item.content == plain_lines(known.content).strip("\n")
            assert item.title in (known.title, None)
    assert seen == set(by_anchor)


def _damage(text: str, dice: random.Random) -> str:
    """What a careless hand does to a file: lines cut, doubled, moved, changed, added."""
    lines = text.split("\n")
    for _ in range(dice.randint(1, 4)):
        at = dice.randrange(len(lines) + 1)
        match dice.randrange(5):
            case 0 if lines:
                del lines[at : at + dice.randint(1, 3)]
            case 1:
                lines.insert(at, dice.choice(PIECES))
            case 2:
                lines.insert(at, f"- {dice.choice(PIECES)} {dice.random():.6f}")
            case 3 if at < len(lines):
                lines[at] += f" more {dice.random():.6f}"
            case _ if at < len(lines):
                lines.insert(dice.randrange(len(lines)), lines.pop(at))
    return "\n".join(lines)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(200))
def test_ten_careless_edits_lose_no_text(data_dir: Path, folder: Path, tmp_path: Path, seed: int) -> None:
    _careless(data_dir, folder, tmp_path / "vault", random.Random(seed))


@pytest.mark.parametrize("seed", range(3))
def test_careless_edits_lose_no_text(data_dir: Path, folder: Path, tmp_path: Path, seed: int) -> None:
    _careless(data_dir, folder, tmp_path / "vault", random.Random(1_000 + seed))


def _careless(data_dir: Path, folder: Path, root: Path, dice: random.Random) -> None:
    """Every line a person wrote is in the memory or in the vault, and every text the memory had is still there."""
    with Engram(settings=Settings(data_dir, clock=FakeClock(), timezone="UTC"), directory=folder) as app:
        for number in range(6):
            app.save(Draft(f"Decision {number}", f"Because of {number}\n\n- and {dice.choice(PIECES)}", "decision"))
        app.notes.add("A note\n\n```\nopen")
        app.facts.add("alice", "Alice works at Acme since spring")
        app.vault.init(root)
        for _ in range(10):
            had = _kept(app)
            path = dice.choice([one for one in root.rglob("*.md") if "life" not in one.parts or "alice" in one.parts])
            text = _damage(path.read_text("utf-8"), dice)
            path.write_text(text, "utf-8")
            app.vault.take_in()
            now = _kept(app)
            assert had <= now
            everywhere = "\n".join((*now, *(one.read_text("utf-8") for one in root.rglob("*.md"))))
            for word in (one for one in text.split() if one.startswith("0.") and len(one) == 8):
                assert word in everywhere
            assert app.vault.take_in().applied == ()
            assert app.vault.export().written == ()


def _kept(app: Engram) -> set[str]:
    """Every text there is, and every one there was."""
    sql = "select content from observations where deleted_at is null union select content from observation_versions"
    return {str(one[0]) for one in app.store.tuples(sql)}
