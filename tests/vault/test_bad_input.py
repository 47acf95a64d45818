"""A vault in odd places and with odd files: nothing of the person's is lost, and every refusal says why."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from engram_py import Draft, Engram
from engram_py.errors import EngramError
from engram_py.vault import folder as vault_folder
from engram_py.vault.folder import FILE_LIMIT_BYTES
from engram_py.vault.values import VaultFileError
from tests.vault.test_vault import contents, edited, everything


def huge(path: Path) -> None:
    """A file of 200 MB that takes no room."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        file.truncate(200_000_000)


def test_a_second_edit_of_a_json_file_does_not_replace_the_first(app: Engram, root: Path) -> None:
    items = root / "life/resources/alice/items.json"
    for name in ("Initech", "Hooli"):
        items.write_text(items.read_text().replace("Globex", name))
        app.vault.take_in()

    assert "Initech" in (root / "life/resources/alice/items.edited.json").read_text()
    assert "Hooli" in (root / "life/resources/alice/items.edited-2.json").read_text()


def test_a_json_file_with_other_line_ends_is_no_edit(app: Engram, root: Path) -> None:
    items = root / "life/resources/alice/items.json"
    items.write_bytes(items.read_bytes().replace(b"\n", b"\r\n"))

    assert app.vault.status().edited == ()
    assert app.vault.export().written == ("life/resources/alice/items.json",)


@pytest.mark.parametrize(
    "front",
    [
        pytest.param('type: "person"\naliases: ["Al", "Alice Liddell"]', id="as the memory writes it"),
        pytest.param("type: person\naliases:\n  - Al\n  - Alice Liddell", id="as Obsidian writes it"),
    ],
)
def test_the_kind_and_the_aliases_of_an_entity_are_read_from_its_front_matter(
    app: Engram, root: Path, front: str
) -> None:
    edited(root / "life/resources/alice/summary.md", 'type: "unknown"', front)
    edited(root / "life/resources/alice/summary.md", "aliases: []\n", "")

    [done] = app.vault.take_in().applied

    assert (done.action, done.outcome) == ("describe", "updated")
    page = (root / "life/areas/people/alice/summary.md").read_text()
    assert page.startswith('---\ntype: "person"\n')
    assert 'aliases: ["Al", "Alice Liddell"]' in page
    assert app.vault.take_in().applied == ()


def test_front_matter_written_another_way_is_no_edit(app: Engram, root: Path) -> None:
    page = root / "life/resources/alice/summary.md"
    edited(page, 'type: "unknown"\nupdated: "2026-01-02"', "updated: 2026-03-01\ntype: unknown")

    assert app.vault.take_in().applied == ()


def test_a_line_of_front_matter_that_says_nothing_here_is_kept(app: Engram, root: Path) -> None:
    page = root / "life/resources/alice/summary.md"
    edited(page, 'type: "unknown"', 'type: "unknown"\ntags: [friend]')

    assert [one.outcome for one in app.vault.take_in().applied] == ["kept"]
    assert "tags: [friend]" in page.read_text()
    assert app.vault.take_in().applied == ()


def test_a_second_file_of_an_entity_is_taken_in_and_kept_aside(app: Engram, root: Path) -> None:
    text = (root / "life/resources/alice/summary.md").read_text()
    copy = root / "life/areas/people/alice/summary.md"
    copy.parent.mkdir(parents=True)
    copy.write_text(text + "\n- Alice speaks Finnish and Estonian\n\nMy own words.\n")

    taken = app.vault.take_in()

    assert "Alice speaks Finnish and Estonian" in (root / "life/resources/alice/summary.md").read_text()
    assert "My own words." in copy.with_name("summary.edited.md").read_text()
    assert any("summary.edited.md" in said for said in taken.warnings)
    assert app.vault.take_in().applied == ()
    assert app.vault.export().written == ()


def test_a_file_of_200_mb_is_refused_by_name_and_changes_nothing(app: Engram, root: Path) -> None:
    huge(root / "memory/2026-02-01.md")
    before = contents(app)

    with pytest.raises(VaultFileError, match=f"memory/2026-02-01.md: larger than {FILE_LIMIT_BYTES:,}"):
        app.vault.take_in()

    assert contents(app) == before


def test_a_file_of_the_persons_of_200_mb_is_left_out_and_the_others_are_read(app: Engram, root: Path) -> None:
    huge(root / "a.md")
    (root / "b.md").write_text("The narwhal pump needs oil.")
    app.vault.export()
    [updated] = app.documents.update("vault").items

    assert [(one.path, one.reason) for one in updated.skipped] == [("a.md", "larger than 1 MiB")]
    assert [path for path, _ in app.vault_files.own(app.projects.current().project or "")] == ["b.md"]


def test_mixed_line_ends_are_no_edit_and_an_edit_among_them_is_one(app: Engram, root: Path) -> None:
    log = root / "observations.md"
    lines = log.read_bytes().split(b"\n")
    log.write_bytes(b"".join(line + (b"\r\n" if at % 3 else b"\n") for at, line in enumerate(lines[:-1])))
    assert app.vault.take_in().applied == ()

    log.write_bytes(
        log.read_bytes().replace(b"do not wait.\n", b"never wait.\r\n").replace(b"do not wait.", b"never wait.")
    )
    [done] = app.vault.take_in().applied
    assert done.outcome == "updated"
    assert "\r" not in app.get(done.id or 0).observation.content


def test_a_full_or_read_only_disk_is_said_and_leaves_the_files_whole(
    app: Engram, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app.save(Draft("More", "More text"))
    before = everything(root)

    def refuses(*args: object, **options: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(vault_folder, "write_atomically", refuses)
    with pytest.raises(VaultFileError, match="read-only file system"):
        app.vault.export()
    monkeypatch.undo()

    assert everything(root) == before
    assert "observations.md" in app.vault.export().written


def test_a_crash_in_the_middle_of_an_import_is_finished_by_the_next(
    app: Engram, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (root / "observations.md").open("a") as log:
        log.write("\n- one thing\n- another thing\n")
    with (root / "life/resources/alice/summary.md").open("a") as page:
        page.write("\n- Alice speaks Finnish and Estonian\n")
    save, left = app.observations.save, [1]

    def dies(draft: Draft, **options: object) -> object:
        left[0] -= 1
        if left[0] < 0:
            raise KeyboardInterrupt
        return save(draft, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(app.observations, "save", dies)
    with pytest.raises(KeyboardInterrupt):
        app.vault.take_in()
    monkeypatch.undo()

    app.vault.take_in()

    sql = "select content, count(*) from observations where deleted_at is null group by content having count(*) > 1"
    assert app.store.tuples(sql) == []
    assert {"one thing", "another thing", "Alice speaks Finnish and Estonian"} <= contents(app)
    assert app.vault.take_in().applied == ()


def test_a_manifest_that_is_cut_in_half_is_refused_and_left(app: Engram, root: Path) -> None:
    manifest = root / ".engram-vault.json"
    manifest.write_bytes(manifest.read_bytes()[:40])
    before = everything(root)

    with pytest.raises(EngramError, match="cannot be read"):
        app.vault.export()

    assert everything(root) == before


def test_a_file_with_a_merge_conflict_changes_nothing_and_is_named_until_it_is_mended(app: Engram, root: Path) -> None:
    file = root / "observations.md"
    line = next(line for line in file.read_text().split("\n") if "Use WAL mode" in line)
    both = f"<<<<<<< HEAD\n{line.replace('WAL', 'DELETE')}\n=======\n{line.replace('WAL', 'MEMORY')}\n>>>>>>> other"
    file.write_text(broken := file.read_text().replace(line, both))
    (root / "identity.md").write_text((root / "identity.md").read_text().replace("Ada", "Ida"))
    done = app.vault.take_in(prune=True)

    assert [(one.path, one.outcome) for one in done.applied] == [("identity.md", "updated"), (file.name, "refused")]
    row = app.get(1).observation
    assert (row.title, row.revision_count, file.read_text()) == ("Use WAL mode", 1, broken)
    assert app.vault.take_in().applied == done.applied[1:]
    file.write_text(broken.replace(both, line.replace("WAL", "MEMORY")))
    assert [one.outcome for one in app.vault.take_in().applied] == ["updated"]
    assert app.get(1).observation.title == "Use MEMORY mode"


def test_a_note_that_quotes_a_conflict_is_none(app: Engram, root: Path) -> None:
    app.notes.add("Git wrote\n<<<<<<< HEAD\na\n=======\nb\n>>>>>>> other")
    app.vault.export()
    day = next((root / "memory").iterdir())
    day.write_text(day.read_text().replace("Git wrote", "Git had written"))
    assert [one.outcome for one in app.vault.take_in().applied] == ["updated"]
