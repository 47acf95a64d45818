"""The vault: what an export writes, and what becomes of a person's edits (spec/seed-capabilities.md section 4)."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from engram_py import Draft, Engram
from engram_py.base.settings import Settings
from engram_py.memory.observations.values import Change
from engram_py.sharing.vault.folder import Folder, digest
from engram_py.sharing.vault.markdown import TAIL
from engram_py.sharing.vault.values import NotAVaultError, VaultEditedError
from tests.sharing.sync.git.conftest import run_git
from tests.support import FakeClock, RepoMaker, words


def everything(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def edited(path: Path, old: str, new: str) -> None:
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new), "utf-8")


def contents(app: Engram) -> set[str]:
    return {str(row[0]) for row in app.store.tuples("select content from observations where deleted_at is null")}


def test_two_exports_give_the_same_bytes(app: Engram, root: Path) -> None:
    first = everything(root)
    assert app.vault.export().written == ()
    assert everything(root) == first
    assert app.vault.take_in().applied == ()


def test_row_117_a_note_is_appended_and_the_first_is_unchanged(app: Engram, root: Path, clock: FakeClock) -> None:
    clock.advance(minutes=5)
    app.notes.add("Second")
    app.vault.export()
    lines = (root / "memory/2026-01-02.md").read_text().split("\n")
    assert lines[0] == "# Friday, January 2, 2026"
    assert [line[:8] for line in lines if line.startswith("## ")] == ["## 05:00", "## 05:05"]
    assert "Tried the new parser" in lines


def test_row_118_a_note_is_filed_under_the_day_of_the_reader(data_dir: Path, folder: Path, clock: FakeClock) -> None:
    settings = Settings(data_dir, clock=clock, timezone="America/Los_Angeles")
    with Engram(settings=settings, directory=folder) as app:
        app.notes.add("late")
        app.vault.init(data_dir.parent / "vault")
        assert (data_dir.parent / "vault/memory/2026-01-01.md").exists()
        assert [note.text for note in app.notes.of_day("2026-01-01").items] == ["late"]
        assert app.notes.of_day("2026-01-02").items == ()


def test_row_127_an_entity_has_a_page_and_its_facts_as_json(root: Path) -> None:
    page = (root / "life/resources/alice/summary.md").read_text()
    assert page.startswith('---\ntype: "unknown"\nupdated: "2026-01-02"\n')
    assert "Alice works at Globex these days (2026-01-02)" in page.partition("## History")[0]
    assert "Alice works at Acme since spring (until 2026-01-02)" in page.partition("## History")[2]
    items = json.loads((root / "life/resources/alice/items.json").read_text())
    assert [item["status"] for item in items] == ["active", "superseded"]
    assert {"fact", "timestamp", "relatedEntities", "accessCount"} <= set(items[0])


def test_row_127_each_fact_names_what_replaced_it_and_the_entities_it_is_about(app: Engram, root: Path) -> None:
    app.entities.link("alice", "works_at", "globex", fact="Alice leads the office of Globex", object_kind="company")
    app.facts.add("alice", "Alice plays chess on Fridays", category="preference", source="meeting", source_ref="7")
    app.vault.export()

    items = {one["fact"]: one for one in json.loads((root / "life/resources/alice/items.json").read_text())}
    old, new = items["Alice works at Acme since spring"], items["Alice works at Globex these days"]
    assert (old["supersededBy"], new["supersededBy"]) == (new["id"], None)
    related = {fact: one["relatedEntities"] for fact, one in items.items()}
    assert related["Alice leads the office of Globex"] == ["globex"]
    assert (related["Alice plays chess on Fridays"], related["Alice works at Globex these days"]) == ([], ["globex"])
    chess = items["Alice plays chess on Fridays"]
    assert (chess["category"], chess["source"], chess["sourceRef"]) == ("preference", "meeting", "7")


def test_row_126_every_level_has_an_index(app: Engram, root: Path) -> None:
    app.facts.add("bob", "Bob reviews every migration", kind="person")
    app.vault.export()

    levels = {str(path.parent.relative_to(root)) for path in (root / "life").rglob("_index.md")}
    assert levels >= {"life", "life/projects", "life/areas", "life/areas/people", "life/resources", "life/archives"}
    assert "[[life/areas/_index|areas]] (1)" in (root / "life/_index.md").read_text()
    assert "[[life/areas/people/_index|people]] (1)" in (root / "life/areas/_index.md").read_text()


def test_row_126_preferences_stand_in_memory_md_which_says_so(app: Engram, root: Path) -> None:
    app.save(Draft("Small commits", "The user wants small commits.", "preference"))
    app.vault.export()
    memory = (root / "MEMORY.md").read_text()
    assert "other programs keep these in ME.md" in memory
    assert "Small commits" in memory
    assert "Small commits" not in (root / "observations.md").read_text()


def test_row_128_a_changed_bullet_is_a_revision_with_history(app: Engram, root: Path) -> None:
    edited(root / "observations.md", "Readers do not wait.", "Readers never wait.")
    edited(root / "identity.md", "Call me Ada", "Call me Ada L.")
    name, decision = sorted(app.vault.take_in().applied, key=lambda one: one.path)
    assert (decision.outcome, name.outcome) == ("updated", "updated")
    detail = app.get(decision.id or 0, history=True)
    assert detail.observation.content.startswith("Readers never wait.\n\n- neither do writers\n\n```sh\npragma")
    assert detail.observation.type == "decision"
    assert detail.versions[0].content.startswith("Readers do not wait.")


@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo], ids=["folder", "pipe"])
def test_a_page_that_cannot_be_read_is_named_and_stops_no_other(
    app: Engram, root: Path, make: Callable[[Path], object]
) -> None:
    before = (root / "identity.md").read_bytes()
    (root / "identity.md").unlink()
    make(root / "identity.md")
    edited(root / "observations.md", "Readers do not wait.", "Readers never wait.")
    assert app.vault.status().edited == ("observations.md", "identity.md")

    done = app.vault.take_in()

    assert [(one.path, one.outcome) for one in done.applied] == [
        ("observations.md", "updated"),
        ("identity.md", "refused"),
    ]
    assert "identity.md was left as it is: not a regular file" in words(*app.vault.export().warnings)
    (root / "identity.md").rmdir() if make is Path.mkdir else (root / "identity.md").unlink()
    (root / "identity.md").write_bytes(before.replace(b"Call me Ada", b"Call me Ada L."))
    assert [one.outcome for one in app.vault.take_in().applied] == ["updated"]


def test_row_128_a_new_bullet_is_a_new_row_by_the_write_path(app: Engram, root: Path) -> None:
    with (root / "life/resources/alice/summary.md").open("a") as page:
        page.write("\n- Alice works at Initech from now on\n")
    [added] = app.vault.take_in().applied
    assert added.outcome == "superseded"  # the write rules of facts
    assert [fact.text for fact in app.facts.of("alice").items] == ["Alice works at Initech from now on"]
    assert app.vault.take_in().applied == ()


def test_row_128_a_missing_bullet_changes_nothing_unless_pruned(app: Engram, root: Path) -> None:
    before = contents(app)
    (root / "identity.md").write_text("# Identity\n")
    assert app.vault.take_in().applied == ()
    assert contents(app) == before
    assert "Call me Ada" in (root / "identity.md").read_text()

    (root / "identity.md").write_text("# Identity\n")
    [deleted] = app.vault.take_in(prune=True).applied
    assert deleted.outcome == "deleted"
    assert before - contents(app) == {"Call me Ada"}
    app.observations.undelete(deleted.id or 0)


def test_a_file_that_is_missing_says_nothing_even_when_pruned(app: Engram, root: Path) -> None:
    before = contents(app)
    (root / "observations.md").unlink()
    assert app.vault.take_in(prune=True).applied == ()
    assert contents(app) == before
    assert (root / "observations.md").exists()


def test_row_53_only_bullets_become_rows_and_prose_is_kept_below(app: Engram, root: Path) -> None:
    before = contents(app)
    with (root / "observations.md").open("a") as file:
        file.write("\n## 2026-01-03\n\nSome prose of mine.\n\n- one thing\n- another thing\n")
    outcomes = [one.outcome for one in app.vault.take_in().applied]
    assert outcomes == ["added", "added", "kept"]
    assert contents(app) - before == {"one thing", "another thing"}
    text = (root / "observations.md").read_text()
    assert text.partition(TAIL)[2].split("\n")[-2] == "Some prose of mine."
    assert app.vault.take_in().applied == ()
    app.save(Draft("Later", "Something later"))
    app.vault.export()
    assert "Some prose of mine." in (root / "observations.md").read_text()


def test_row_52_each_day_has_one_block_of_bullets(app: Engram, root: Path, clock: FakeClock) -> None:
    clock.advance(days=1)
    app.save(Draft("Next day", "It rained", "discovery"))
    app.vault.export()
    text = (root / "observations.md").read_text()
    assert [line for line in text.split("\n") if line.startswith("## ")] == ["## 2026-01-03", "## 2026-01-02"]


def test_two_edits_of_one_item_keep_both_texts(app: Engram, root: Path) -> None:
    row = app.store.value("select id from observations where type = 'decision'")
    app.observations.update(row, Change(content="The machine says this"))
    edited(root / "observations.md", "Readers do not wait.", "The person says that.")
    with pytest.raises(VaultEditedError):
        app.vault.export()
    [done] = app.vault.take_in().applied
    assert "version" in done.said
    detail = app.get(row, history=True)
    assert detail.observation.content.startswith("The person says that.")
    assert "The machine says this" in [version.content for version in detail.versions]


def test_a_refused_item_stays_in_its_file(app: Engram, root: Path) -> None:
    with (root / "life/resources/alice/summary.md").open("a") as page:
        page.write("\n- is tired\n")
    [refused] = app.vault.take_in().applied
    assert refused.outcome == "refused"
    assert "- is tired" in (root / "life/resources/alice/summary.md").read_text().partition(TAIL)[2]


def test_an_import_shows_what_it_would_do(app: Engram, root: Path) -> None:
    edited(root / "identity.md", "Call me Ada", "Call me Ada L.")
    before = everything(root)
    shown = app.vault.take_in(dry_run=True)
    assert [one.outcome for one in shown.applied] == ["would revise"]
    assert everything(root) == before
    assert app.vault.status().edited == ("identity.md",)


def test_a_copied_bullet_is_a_new_row(app: Engram, root: Path) -> None:
    text = (root / "identity.md").read_text()
    line = text.strip().split("\n")[-1]
    (root / "identity.md").write_text(text + line.replace("Call me Ada", "Write in English"))
    assert [one.outcome for one in app.vault.take_in().applied] == ["added"]
    assert {"Call me Ada", "Write in English"} <= contents(app)


@pytest.mark.parametrize("lines", [-1, 3], ids=["of Windows", "mixed"])
def test_other_line_ends_are_no_edit(app: Engram, root: Path, lines: int) -> None:
    for path in root.rglob("*.md"):
        path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n", lines))
    assert app.vault.take_in().applied == ()


def test_an_edited_view_is_kept_beside_what_the_memory_writes(app: Engram, root: Path) -> None:
    view = root / "life/resources/alice/items.json"
    edited(view, "Globex", "Hooli")
    with pytest.raises(VaultEditedError, match=r"items\.json"):
        app.vault.export()
    assert app.vault.status().edited == ("life/resources/alice/items.json",)
    assert [one.outcome for one in app.vault.take_in(dry_run=True).applied] == ["would keep"]
    [kept] = app.vault.take_in().applied
    assert "items.edited.json" in kept.said
    assert "Hooli" in (view.parent / "items.edited.json").read_text()
    assert "Globex" in view.read_text()
    assert app.vault.status().edited == ()


def test_two_files_of_one_entity_lose_nothing_and_add_nothing(app: Engram, root: Path) -> None:
    before = contents(app)
    copy = root / "life/areas/people/alice"
    shutil.copytree(root / "life/resources/alice", copy)
    (copy / "items.json").unlink()
    edited(copy / "summary.md", "at Globex", "at Globex AG")
    assert [one.outcome for one in app.vault.take_in().applied] == ["updated"]
    assert "at Globex AG" in (copy / "summary.edited.md").read_text()
    assert contents(app) - before == {"Alice works at Globex AG these days"}
    app.vault.export()


def test_a_vault_in_the_repository_is_no_document_twice(data_dir: Path, make_repo: RepoMaker, clock: FakeClock) -> None:
    repo = make_repo("work/widgets")
    with Engram(settings=Settings(data_dir, clock=clock, timezone="UTC"), directory=repo) as app:
        app.save(Draft("Use WAL mode", "Readers of the ledger do not wait.", "decision"))
        app.vault.init(repo / "notes")
        (repo / "notes/plan.md").write_text("# Plan\n\nThe ledger moves to Oslo in May.\n")
        app.documents.update()
        found = [hit.source for hit in app.documents.search("when does the ledger move to Oslo").results]
        assert [source.rpartition("/")[2] for source in found] == ["plan.md:3"]
        assert app.documents.search("readers of the ledger wait").results[1:] == ()


def test_an_interrupted_export_is_finished_by_the_next(
    app: Engram, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app.save(Draft("After the crash", "One more row"))
    app.notes.add("One more note")
    real, left = Folder.write, [2]

    def dying(self: Folder, path: str, text: str) -> bool:
        left[0] -= 1
        if left[0] < 0:
            raise KeyboardInterrupt
        return real(self, path, text)

    monkeypatch.setattr(Folder, "write", dying)
    with pytest.raises(KeyboardInterrupt):
        app.vault.export()
    monkeypatch.undo()
    before = contents(app)
    assert app.vault.take_in().applied == ()
    assert contents(app) == before
    assert app.vault.status().behind == ()


@pytest.mark.parametrize("inside", [False, True], ids=["a folder with files", "a folder in a vault"])
def test_a_folder_that_is_not_ours_is_refused(app: Engram, root: Path, tmp_path: Path, inside: bool) -> None:
    folder = root / "sub" if inside else tmp_path / "photos"
    folder.mkdir()
    if not inside:
        (folder / "a.jpg").write_bytes(b"x")
    before = everything(folder)
    with pytest.raises(NotAVaultError):
        app.vault.init(folder)
    assert everything(folder) == before


def test_the_vault_of_another_project_is_refused(app: Engram, root: Path) -> None:
    with pytest.raises(NotAVaultError, match="widgets"):
        app.vault.init(root, project="other")


FOREIGN = {".env": "mine", "notes.txt": "mine", "src/main.py": "mine", ".git/HEAD": "ref", "MEMORY.md": "mine"}


def clone(folder: Path, files: dict[str, str]) -> Path:
    """A repository of somebody else with a manifest of theirs that names files."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    named = {name: digest(text) for name, text in files.items()}
    values = {"version": 1, "project": "widgets", "files": named, "items": {}, "heads": {}}
    (folder / ".engram-vault.json").write_text(json.dumps(values))
    return folder


def test_a_folder_whose_manifest_this_memory_did_not_write_is_left_as_it_is(app: Engram, tmp_path: Path) -> None:
    app.save(Draft("One", "Text of one."))
    folder = clone(tmp_path / "clone", FOREIGN)
    before = everything(folder)
    with pytest.raises(NotAVaultError, match="did not write"):
        app.vault.init(folder)
    assert everything(folder) == before


def test_a_manifest_that_was_replaced_removes_no_file_of_the_persons(app: Engram, root: Path) -> None:
    clone(root, {name: text for name, text in FOREIGN.items() if name != "MEMORY.md"})
    app.vault.take_in()
    assert all((root / name).read_text() == text for name, text in FOREIGN.items() if name != "MEMORY.md")


def test_a_vault_that_was_moved_is_known_by_its_manifest(app: Engram, root: Path, tmp_path: Path) -> None:
    root.rename(tmp_path / "moved")
    assert app.vault.init(tmp_path / "moved").written == ()


def test_a_link_out_of_the_vault_is_not_written_through(app: Engram, root: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    shutil.rmtree(root / "memory")
    (root / "memory").symlink_to(outside)
    with pytest.raises(Exception, match="not a path inside the vault"):
        app.vault.export()
    assert not any(outside.iterdir())


def test_files_are_readable_by_their_owner_alone(root: Path) -> None:
    assert {path.stat().st_mode & 0o077 for path in root.rglob("*")} == {0}


@pytest.mark.parametrize("name", ["con", "nul", "../x", "a/b", "é☃e"])
def test_names_that_a_disk_does_not_take_have_a_folder(app: Engram, root: Path, name: str) -> None:
    app.facts.add(name, "It runs on Debian in the cellar")
    app.vault.export()
    page = next(path for path in root.rglob("summary.md") if "Debian" in path.read_text())
    assert page.is_relative_to(root / "life/resources")
    assert page.parent.name.lower() not in ("con", "nul")
    edited(page, "in the cellar", "in the attic")
    assert [one.outcome for one in app.vault.take_in().applied] == ["updated"]


def test_row_119_notes_of_today_and_yesterday_are_in_the_session_context(app: Engram, clock: FakeClock) -> None:
    app.notes.add("three days ago")
    clock.advance(days=2)
    app.notes.add("yesterday it rained")
    clock.advance(days=1)
    app.notes.add("today it snows")
    context = app.contexts.assemble()
    [notes] = [section for section in context.sections if section.name == "notes"]
    assert [getattr(item, "content", "") for item in notes.items] == ["today it snows", "yesterday it rained"]


@pytest.mark.parametrize(("kind", "folder"), [
    ("project", "life/projects/falcon"), ("person", "life/areas/people/falcon"),
    ("company", "life/areas/companies/falcon"), ("service", "life/areas/services/falcon"),
    ("library", "life/resources/falcon"),
])  # fmt: skip
def test_row_126_an_entity_lies_in_the_folder_of_its_kind_and_moves_to_the_archives(
    app: Engram, root: Path, kind: str, folder: str
) -> None:
    app.save(Draft("Falcon", "What is known of it.", "entity", topic_key="entity/falcon", entity_kind=kind))
    app.vault.export()
    page = (root / folder / "summary.md").read_text()
    assert f'type: "{kind}"' in page
    assert "What is known of it." in page

    app.entities.archive("falcon")
    gone = app.vault.export().removed
    assert f"{folder}/summary.md" in gone
    assert (root / "life/archives/falcon/summary.md").exists()
    assert not (root / folder).exists()


def test_a_vault_that_gets_a_place_takes_along_what_was_written_before(
    app: Engram, data_dir: Path, tmp_path: Path
) -> None:
    app.vault_files.write("knowledge/pumps.md", "The narwhal pump needs oil every third week.\n")
    app.vault_files.write("observations.md", "## Mine\n\nProse.\n", append=True)
    old = data_dir / "vaults/widgets"
    with (old / "identity.md").open("a") as file:
        file.write("- Call me Ada\n")

    made = app.vault.init(tmp_path / "vault")

    assert str(old) in words(*made.warnings)
    assert not old.exists()
    assert app.vault_files.read("knowledge/pumps.md").found
    assert "Prose." in app.vault_files.read("observations.md").text
    assert "Call me Ada" in contents(app)
    [vault] = [one for one in app.documents.collections().items if getattr(one, "name", "") == "vault"]
    assert getattr(vault, "root", "") == str(tmp_path / "vault")
    app.documents.update("vault")
    assert app.documents.search("how often does the narwhal pump need oil?").results


def test_an_init_of_an_older_vault_says_where_the_last_one_stays(app: Engram, root: Path, tmp_path: Path) -> None:
    shutil.copytree(root, tmp_path / "copy")
    (root / "mine.md").write_text("Mine.")

    made = app.vault.init(tmp_path / "copy")

    assert f"engram vault init {root}" in words(*made.warnings)
    assert (root / "mine.md").exists()


def test_an_edit_in_a_vault_that_git_shares_waits_until_somebody_says_that_it_is_theirs(
    app: Engram, tmp_path: Path
) -> None:
    app.save(Draft("Cache", "We use redis.", "decision"), project="widgets")
    app.vault.init(tmp_path / "vault", project="widgets")
    run_git(tmp_path / "vault", "init", "-q")
    run_git(tmp_path / "vault", "remote", "add", "origin", "https://git.example/team/vault.git")
    [path] = [path for path in (tmp_path / "vault").rglob("*.md") if "We use redis." in path.read_text()][:1]
    path.write_text(path.read_text().replace("We use redis.", "We use evilctl."))

    assert {one.outcome for one in app.vault.take_in(project="widgets").applied} == {"refused"}
    assert app.get(1).observation.content == "We use redis."
    assert "We use evilctl." in path.read_text()
    assert "updated" in {one.outcome for one in app.vault.take_in(project="widgets", mine=True).applied}
    assert app.get(1).observation.content == "We use evilctl."
