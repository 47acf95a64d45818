"""Files of the vault by their paths (rows 43 to 48), read back as written, and bad files."""

from __future__ import annotations

import errno
import os
import random
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from engram_py import Draft, Engram
from engram_py.base.errors import EngramError, InvalidInputError
from engram_py.base.settings import Settings
from engram_py.base.text.normalize import plain_lines
from engram_py.interfaces.cli.main import cli
from engram_py.interfaces.wording import render
from engram_py.memory.observations.values import Observation
from engram_py.sharing.vault import folder as vault_folder
from engram_py.sharing.vault.folder import FILE_LIMIT_BYTES, shelved
from engram_py.sharing.vault.markdown import TAIL, anchor_of, parse, rendered, with_tail
from engram_py.sharing.vault.values import OutsideVaultError, VaultFileError
from tests.sharing.vault.test_vault import contents, edited, everything
from tests.support import FakeClock, words


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


def test_reading_and_listing_make_no_vault(app: Engram, data_dir: Path, tmp_path: Path) -> None:
    app.save(Draft("Pumps", "They drip.", "decision"))
    listed, text = app.vault_files.list().files, app.vault_files.read("observations.md").text
    assert app.vault_files.read("observation.md").near == ("observations.md",)
    assert app.vault_files.list("notes").files == ()
    assert not app.vault_files.exists("notes/a.md")
    assert not (data_dir / "vaults").exists()

    app.vault.init(tmp_path / "vault")
    assert app.vault_files.list().files == listed
    assert app.vault_files.read("observations.md").text == text


def test_row_46_a_command_says_by_its_exit_code_whether_a_file_exists(
    app: Engram, root: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app.vault_files.write("knowledge/databases.md", "x")
    monkeypatch.chdir(folder)

    def asked(path: str) -> tuple[int, str]:
        result = CliRunner().invoke(cli, ["vault", "exists", path], prog_name="engram")
        return result.exit_code, result.output

    assert asked("knowledge/databases.md") == (0, "")
    assert asked("knowledge/database.md") == (1, "")


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
    with pytest.raises(VaultFileError, match="only engram writes"):
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


@pytest.mark.parametrize(
    "seed", [1_000, 1_001, 1_002, *(pytest.param(seed, marks=pytest.mark.soak) for seed in range(200))]
)
def test_careless_edits_lose_no_text(data_dir: Path, folder: Path, tmp_path: Path, seed: int) -> None:
    _careless(data_dir, folder, tmp_path / "vault", random.Random(seed))


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
    assert "summary.edited.md" in words(*taken.warnings)
    assert app.vault.take_in().applied == ()
    assert app.vault.export().written == ()


def test_a_file_of_200_mb_is_refused_by_name_and_changes_nothing(app: Engram, root: Path) -> None:
    huge(root / "memory/2026-02-01.md")
    before = contents(app)

    [refused] = app.vault.take_in().applied

    assert (refused.path, refused.outcome) == ("memory/2026-02-01.md", "refused")
    assert f"larger than {FILE_LIMIT_BYTES:,}" in refused.said
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

    with pytest.raises(EngramError, match="unreadable"):
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


BLOCK = "## 2026-02-22\n- User accepted new job at TechCorp, starting March 1\n\n"


@pytest.mark.parametrize("earlier", ["", "## Plans of mine\n\nProse.\n", "## 2026-02-21\n- User lives in Bordeaux\n\n"])
def test_what_is_appended_is_found_whatever_stands_above_it(app: Engram, root: Path, earlier: str) -> None:
    if earlier:
        app.vault_files.write("observations.md", earlier, append=True)

    done = app.vault_files.write("observations.md", BLOCK, append=True)
    app.vault_files.write("observations.md", "- Now looking for apartments in Paris\n", append=True)

    assert [one.outcome for one in done.applied] == ["added"]
    added = app.get(done.applied[0].id or 0).observation
    assert added.created_at[:10] == "2026-02-22"
    text = (root / "observations.md").read_text()
    above, _, below = text.partition(TAIL)
    assert above.count("## 2026-02-22\n") == 1
    assert "apartments in Paris" in above
    assert "Prose." in below or "Plans" not in earlier
    assert "2026-02-2" not in below
    assert app.vault.take_in().applied == ()
    assert app.vault.export().written == ()


def test_a_heading_of_the_persons_in_memory_md_does_not_end_what_is_read(app: Engram, root: Path) -> None:
    for text in ("# My own\n", "- Likes tea\n"):
        with (root / "MEMORY.md").open("a") as file:
            file.write(text)
        app.vault.take_in()

    assert "Likes tea" in contents(app)
    assert (root / "MEMORY.md").read_text().partition(TAIL)[2] == "\n\n# My own\n"


def test_the_persons_text_below_a_file_keeps_its_lines_while_items_are_taken_out_of_it(app: Engram, root: Path) -> None:
    own = "## Plans\n\nOne.\n\nTwo.\n"
    app.vault_files.write("observations.md", own, append=True)
    log = root / "observations.md"
    log.write_text(log.read_text().replace("One.", "One.\n\n- A bullet of tomorrow\n\nOne and a half."))

    outcomes = [one.outcome for one in app.vault.take_in().applied]

    assert outcomes == ["added", "kept"]
    assert log.read_text().partition(TAIL)[2].endswith("One.\n\nOne and a half.\nTwo.\n")


@pytest.mark.parametrize("appended", [False, True])
def test_lines_in_identity_md_are_statements_about_the_person(app: Engram, root: Path, appended: bool) -> None:
    text = "Name: Alex\nLocation: Bordeaux\n\nAlex writes compilers\nfor a living.\n\n## Goals\n\n1. one\n"
    done = app.vault_files.write("identity.md", text, append=appended)

    assert [one.outcome for one in done.applied] == ["added", "added", "added", "kept"]
    said = {getattr(one, "text", "") for one in app.identity.listed().items}
    assert said >= {"Name: Alex", "Location: Bordeaux", "Alex writes compilers for a living."}
    assert "Location: Bordeaux" in render.text(app.contexts.assemble(), now=app.journal.moment(), door="python")
    assert (root / "identity.md").read_text().partition(TAIL)[2] == "\n\n## Goals\n1. one\n"
    assert "Call me Ada" in contents(app)
    assert app.vault.take_in().applied == ()


def test_prose_in_memory_md_is_an_item_and_what_the_memory_writes_there_is_none(app: Engram, root: Path) -> None:
    app.vault_files.write("MEMORY.md", "# Memory\n\nAlex tests first.\n")
    done = app.vault_files.write("MEMORY.md", "Alex likes tea.\n", append=True)

    assert [one.title for one in done.applied] == ["Alex likes tea."]
    assert {"Alex tests first.", "Alex likes tea."} <= contents(app)
    assert TAIL not in (root / "MEMORY.md").read_text()
    assert app.vault.take_in().applied == ()


DAY = "# Sunday, February 1, 2026\n\n- Met Sarah at the harbour\n- Paid the rent\n\nThe ferry was late again.\n\n"


def test_a_day_that_a_person_wrote_is_taken_in_as_notes_of_that_day(app: Engram, root: Path) -> None:
    day = root / "memory/2026-02-01.md"
    day.write_text(f"{DAY}```\nopen\n```\n")

    taken = app.vault.take_in()

    assert [one.outcome for one in taken.applied] == ["added", "added", "added", "kept"]
    notes = [getattr(one, "text", "") for one in app.notes.of_day("2026-02-01").items]
    assert notes == ["Met Sarah at the harbour", "Paid the rent", "The ferry was late again."]
    assert day.read_text().partition(TAIL)[2] == "\n\n```\nopen\n```\n"
    assert not taken.warnings
    day.write_text(f"{day.read_text()}# Sunday, February 1, 2026\n\n- Slept early\n")
    assert [one.outcome for one in app.vault.take_in().applied] == ["added"]
    assert "Slept early" in [getattr(one, "text", "") for one in app.notes.of_day("2026-02-01").items]
    assert app.vault.take_in().applied == ()


def test_a_day_of_which_nothing_is_an_item_keeps_its_name(app: Engram, root: Path) -> None:
    day = root / "memory/2026-02-01.md"
    day.write_text("```\nopen\n```\n")
    app.vault.take_in()

    assert [path.name for path in day.parent.iterdir() if "02-01" in path.name] == [day.name]
    assert "open" in day.read_text()
    assert app.vault.take_in().applied == ()
    assert app.vault.export().written == ()


def test_a_bullet_below_the_title_of_a_day_is_no_part_of_the_note_above(app: Engram, root: Path) -> None:
    [day] = (root / "memory").iterdir()
    day.write_text(f"{day.read_text()}\n# Friday, January 2, 2026\n- Slept early\n")

    assert [one.outcome for one in app.vault.take_in().applied] == ["added"]
    assert {"Slept early", "Tried the new parser\n## 10:00 it was slow"} <= contents(app)


JOE = """# Joe Bloggs

**Type:** Person

## Summary

Friend who lives in Los Angeles. Works in tech.

## Facts

- Lives in Los Angeles (2026-02-01)
- Works at TechCorp as engineer (2026-01-15)
"""


@pytest.mark.parametrize("page", [JOE, "# Joe Bloggs\n", None], ids=["whole", "a name", "none"])
def test_an_import_of_a_persons_entity_ends_where_an_export_works(app: Engram, root: Path, page: str | None) -> None:
    joe = root / "life/areas/people/joe-bloggs"
    joe.mkdir(parents=True)
    (joe / "items.json").write_text('[{"id": "joe-001", "fact": "Joined as CTO in March 2025"}]')
    if page:
        (joe / "summary.md").write_text(page)

    first = app.vault.take_in()

    assert [one.path for one in first.applied if one.action == "keep" and one.path.endswith("json")] != []
    assert app.vault.status().edited == ()
    assert app.vault.take_in().applied == ()
    assert app.vault.export().written == ()
    kept = "\n".join(path.read_text() for path in root.rglob("*") if path.suffix in (".md", ".json"))
    for line in (page or "").split("\n"):
        assert line.removeprefix("- ").partition(" (")[0] in kept
    assert "Joined as CTO" in (joe / "items.edited.json").read_text()
