"""The quote of a document: the passage with the words or with most prose, under its heading path."""

from __future__ import annotations

from pathlib import Path

import pytest

from engram_py import Engram
from engram_py.recall.documents.quotes import PATH_CHARS, SNIPPET_CHARS
from engram_py.recall.values import DocumentHit
from tests.recall.documents.conftest import write

CONTEXT = "Sessions were kept in memory and were lost at each deployment."
DECISION = "We keep sessions in Postgres because it is there already and survives deployments."
NYGARD = (
    f"# 5. Session storage\n\nDate: 2026-04-02\n\n## Status\n\nAccepted\n\n## Context\n\n{CONTEXT}\n\n"
    f"## Decision\n\n{DECISION}\n"
)
TABLE = (
    "# Session storage\n\n| | |\n|---|---|\n| Date | 2 April 2026 |\n| Owner | Ines |\n\n"
    f"## Was\n\n{CONTEXT}\n\n## Wird\n\n{DECISION}\n"
)
LISTED = (
    "# Session storage\n\n* Status: accepted\n* Date: 2026-04-02\n\n"
    f"## Problem\n\n{CONTEXT}\n\n## Links\n\n* [a](b.md)\n"
)


def quoted(app: Engram, root: Path, query: str, **files: str) -> DocumentHit:
    """The first hit of a query in a folder of these files."""
    for name, text in files.items():
        write(root, name.replace("_", "."), text)
    app.documents.add(str(root), name="notes")
    return app.documents.search(query).results[0]


@pytest.mark.parametrize("text", [NYGARD, TABLE, LISTED], ids=["nygard", "table", "listed"])
def test_a_record_that_is_asked_by_its_subject_quotes_its_reasons_not_its_date(
    app: Engram, tmp_path: Path, text: str
) -> None:
    hit = quoted(app, tmp_path / "notes", "session storage", record_md=text)

    assert hit.snippet.startswith((CONTEXT, DECISION))
    assert text is LISTED or DECISION in hit.snippet  # a short passage goes on with the next
    assert hit.title.startswith("5. Session storage › " if text is NYGARD else "Session storage › ")
    assert text.split("\n")[hit.line - 1] in (CONTEXT, DECISION)
    assert hit.first_line <= hit.line <= hit.last_line


ENTRIES = "- Another entry of this kind says nothing new.\n" * 30
KEPT = (
    f"# Changelog\n\n## 1.1.0 - 2026-03-01\n\n### Added\n\n{ENTRIES}\n"
    "## 1.0.0 - 2026-02-11\n\n### Added\n\n- Worktrees.\n"
)
PLAIN = "\n".join(f"v1.{minor} - 2026-02-{minor}\n{ENTRIES * 4}" for minor in (12, 11, 10)).replace(
    f"{ENTRIES}\nv1.10", f"{ENTRIES}- Worktrees.\nv1.10"
)
UNTITLED = f"## 1.1.0 (2026-03-01)\n\n{ENTRIES}\n## 1.0.0 (2026-02-11)\n\n- Worktrees.\n"


@pytest.mark.parametrize(
    ("text", "title", "version"),
    [
        pytest.param(KEPT, "Changelog › 1.0.0 - 2026-02-11 › Added", "1.0.0 - 2026-02-11", id="markdown"),
        pytest.param(PLAIN, "log.txt", "v1.11 - 2026-02-11", id="plain-over-several-passages"),
        pytest.param(UNTITLED, "log.txt › 1.0.0 (2026-02-11)", "1.0.0 (2026-02-11)", id="versions-and-no-title"),
    ],
)
def test_an_entry_of_a_change_log_is_quoted_with_its_version_and_day(
    app: Engram, tmp_path: Path, text: str, title: str, version: str
) -> None:
    hit = quoted(app, tmp_path / "notes", "worktrees", log_txt=text)

    assert hit.title == title
    assert version in f"{hit.title} {hit.snippet}"
    assert "Worktrees." in hit.snippet
    assert len(hit.snippet) <= SNIPPET_CHARS


def test_a_hit_points_to_the_passage_with_the_words_not_to_a_heading_that_is_like_one(
    app: Engram, tmp_path: Path
) -> None:
    text = "# Guide\n\nThe perf guide explains rate limiter tuning.\n\n## Limits\n\nTen per second.\n"
    hit = quoted(app, tmp_path / "notes", "rate limiter", guide_md=text, api_md="# API\nmore\n")

    assert (hit.source, hit.snippet) == ("notes/guide.md:3", "The perf guide explains rate limiter tuning.")


def test_a_path_of_long_headings_keeps_its_last(app: Engram, tmp_path: Path) -> None:
    long = "very " * 40
    hit = quoted(
        app, tmp_path / "notes", "oolong", tea_md=f"# Tea {long}\n\n## Leaves {long}\n\n### Green\n\nNo oolong.\n"
    )

    assert hit.title.endswith("… › Green")
    assert len(hit.title) <= PATH_CHARS
