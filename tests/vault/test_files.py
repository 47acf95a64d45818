"""Files of the vault by their paths (spec/seed-capabilities.md section 4, rows 43 to 48)."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from engram_py import Engram
from engram_py.errors import InvalidInputError
from engram_py.interfaces.wording import render
from engram_py.vault.values import OutsideVaultError, VaultFileError


def test_row_43_a_write_makes_the_folders_and_a_second_one_replaces(app: Engram, root: Path) -> None:
    app.vault_files.write("knowledge/personal/housing.md", "a flat")
    assert (root / "knowledge/personal/housing.md").read_text() == "a flat"
    app.vault_files.write("knowledge/personal/housing.md", "a house")
    assert app.vault_files.read("knowledge/personal/housing.md").text == "a house"


def test_row_44_appending_concatenates(app: Engram, root: Path) -> None:
    for text in ("a\n", "b\n"):
        app.vault_files.write("log.md", text, append=True)
    assert app.vault_files.read("log.md").text == "a\nb\n"


def test_row_45_files_are_listed_relative_to_the_vault_also_below_a_folder(app: Engram, root: Path) -> None:
    app.vault_files.write("knowledge/a/b.md", "x")
    app.vault_files.write("knowledge/c.md", "x")
    assert app.vault_files.list("knowledge").files == ("knowledge/a/b.md", "knowledge/c.md")
    assert {"identity.md", "knowledge/c.md"} <= set(app.vault_files.list().files)


def test_row_46_a_file_that_is_missing_has_no_text_and_near_names(app: Engram, root: Path) -> None:
    app.vault_files.write("knowledge/databases.md", "x")
    missing = app.vault_files.read("knowledge/database.md")
    assert (missing.found, missing.text, missing.near[0]) == (False, "", "knowledge/databases.md")
    assert app.vault_files.exists("knowledge/databases.md")
    assert not app.vault_files.exists("knowledge/database.md")


@pytest.mark.parametrize("path", ["../x", "/etc/passwd", "a/../../x", "link/x", "", ".", "C:\\x", "~/x", "a\0b",
                                  ".git/config", "a/.git/hooks/x.md", ".GIT/x.md", ".vscode/tasks.json", ".hidden.md",
                                  ".engram-vault.json", "\u200c.git/x.md", "a/\u200b.md"])  # fmt: skip
def test_row_47_a_path_out_of_the_vault_is_refused(app: Engram, root: Path, tmp_path: Path, path: str) -> None:
    (tmp_path / "outside").mkdir()
    (root / "link").symlink_to(tmp_path / "outside")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(InvalidInputError):
        app.vault_files.write(path, "x")
    assert sorted(tmp_path.rglob("*")) == before


def test_a_write_to_a_file_of_the_memory_is_taken_in(app: Engram, root: Path) -> None:
    text = app.vault_files.read("identity.md").text
    done = app.vault_files.write("identity.md", f"{text}- Answer in English\n")
    assert [one.outcome for one in done.applied] == ["added"]
    assert "- Answer in English <!-- obs-" in app.vault_files.read("identity.md").text
    with pytest.raises(VaultFileError, match="the memory alone"):
        app.vault_files.write("life/index.json", "[]")


def test_without_a_vault_a_write_makes_one_beside_the_database(app: Engram, data_dir: Path) -> None:
    app.vault_files.write("preferences.md", "tabs")
    assert (data_dir / "vaults/widgets/preferences.md").read_text() == "tabs"
    assert app.vault.status().own == 1


def full(app: Engram, tokens: int | None = None) -> str:
    context = app.contexts.assemble(mode="full", budget_tokens=tokens)
    return render.text(context, now=app.journal.moment(), door="python")


def test_row_48_the_whole_memory_reads_as_its_files(app: Engram, root: Path) -> None:
    for path in ("b.md", "a/z.md"):
        app.vault_files.write(path, f"text of {path}")
    headers = [line for line in full(app).splitlines() if line.startswith("### ") and line.endswith(".md")]
    assert headers == ["### identity.md", "### observations.md", "### a/z.md", "### b.md"]
    assert "text of a/z.md" in full(app)


def test_rows_49_and_50_the_whole_memory_keeps_to_its_budget_and_says_what_is_cut(app: Engram, root: Path) -> None:
    app.vault_files.write("long.md", "word " * 20_000)
    for tokens, chars in ((100, 400), (None, 40_000)):
        text = full(app, tokens)
        assert len(text) <= chars
        assert "[...truncated]" in text


def test_row_51_an_empty_memory_is_empty(app: Engram) -> None:
    assert full(app) == ""


def test_what_the_person_writes_in_the_vault_is_a_document_and_what_the_memory_writes_is_not(
    app: Engram, root: Path
) -> None:
    (root / "knowledge").mkdir()
    (root / "knowledge/pumps.md").write_text("# Pumps\n\nThe narwhal pump needs oil every third week.\n")
    app.documents.update("vault")
    found = app.search_in("documents", "how often does the narwhal pump need oil?")
    assert [hit.source.partition(":")[0] for hit in found.results] == ["vault/knowledge/pumps.md"]  # type: ignore[union-attr]
    assert not app.documents.search("Readers do not wait for WAL").results


@pytest.mark.parametrize("path", ["Makefile", "run.sh", "conf.toml", "a.py", "a.md.exe", "HEAD", "page.html", "a.svg"])
def test_only_markdown_text_and_json_is_written(app: Engram, root: Path, path: str) -> None:
    before = sorted(root.rglob("*"))
    with pytest.raises(InvalidInputError):
        app.vault_files.write(path, "x")
    assert sorted(root.rglob("*")) == before


@pytest.mark.parametrize("kind", ["fifo", "folder", "device", "link"])
@pytest.mark.parametrize("append", [False, True])
def test_what_is_no_regular_file_is_left_as_it_is(app: Engram, root: Path, kind: str, append: bool) -> None:
    place = root / "a.md"
    makes: dict[str, Callable[[], object]] = {
        "fifo": lambda: os.mkfifo(place),
        "folder": place.mkdir,
        "link": lambda: place.symlink_to(root / "b.md"),
    }
    if kind == "device":
        if os.geteuid() != 0:
            pytest.skip("only root makes a device")
        makes["device"] = lambda: os.mknod(place, 0o600 | stat.S_IFCHR, os.makedev(1, 3))
    makes[kind]()
    with pytest.raises((VaultFileError, OutsideVaultError)):
        app.vault_files.write("a.md", "x", append=append)
    assert not stat.S_ISREG(place.lstat().st_mode)
    assert not (root / "b.md").exists()
