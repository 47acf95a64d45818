"""The pictures: the script makes one of each page and of the terminal, and docs/pictures has them all."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import engram_py.interfaces.web.application  # noqa: F401 - registers the pages
from docs.pictures import DARK, FOLDER, PAGES, SCREENS, take
from engram_py.interfaces.web.visit import PAGES as ROUTES

ROOT = Path(__file__).parent.parent
PNG = b"\x89PNG\r\n\x1a\n"
MOST_BYTES = 100_000
WANTED = {f"{name}.png" for name in (*PAGES, *SCREENS)} | {f"{name}-dark.png" for name in DARK}


def test_every_page_has_its_picture() -> None:
    shown = [re.sub(r"\{\w+\}", "{id}", address.partition("?")[0]) for address in PAGES.values()]
    pages = {path for method, path in ROUTES if method == "GET"}
    assert pages - set(shown) == {"/ui/clear"}
    assert {file.name for file in FOLDER.iterdir()} == WANTED | {"before-after.png"}  # CHANGELOG shows it
    for file in FOLDER.iterdir():
        content = file.read_bytes()
        assert content.startswith(PNG)
        assert len(content) < MOST_BYTES, file.name


def test_the_pictures_that_the_documents_show_are_there() -> None:
    named = {
        path
        for document in ("README.md", "DOCS.md", "CHANGELOG.md")
        for path in re.findall(r"docs/pictures/[\w-]+\.png", (ROOT / document).read_text(encoding="utf-8"))
    }
    assert len(named) >= 3
    assert [path for path in named if not (ROOT / path).exists()] == []


@pytest.mark.browser
def test_the_script_takes_a_picture_of_every_page(tmp_path: Path) -> None:
    taken = take(tmp_path / "pictures", tmp_path)
    assert {file.name for file in taken} == WANTED
    for file in taken:
        assert file.read_bytes().startswith(PNG)
        assert 5_000 < file.stat().st_size < MOST_BYTES, file.name
