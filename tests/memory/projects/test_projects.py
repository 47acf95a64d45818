"""Which project a call belongs to, and how its answer says so."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from engram_py import Engram
from engram_py.base.reasons import reason
from engram_py.interfaces.wording import render
from engram_py.interfaces.wording.render import error_text
from engram_py.memory.projects.values import AmbiguousProjectError, InvalidProjectError
from tests.support import Git, Opener, RepoMaker, draft, names, rows_of, whole

REMOTE = "git@github.com:acme/rocket.git"


def test_what_names_a_project_most_closely_wins(tmp_path: Path, make_repo: RepoMaker, open_memory: Opener) -> None:
    """Argument, session, override, settings file, remote, folder: the first that is there."""
    open_memory().save(draft("One."), project="by-session", session_id="s-1")
    plain, cloned, configured = tmp_path / "by-folder", make_repo("a/x", remote=REMOTE), make_repo("b/x", remote=REMOTE)
    plain.mkdir()
    (configured / ".engram.json").write_text('{"project": "by-config"}', encoding="utf-8")
    overridden = open_memory(configured, project="by-override")

    found = [
        overridden.save(draft("Two."), project="by-argument", session_id="s-1"),
        overridden.save(draft("Three."), session_id="s-1"),
        overridden.save(draft("Four.")),
        open_memory(configured).save(draft("Five.")),
        open_memory(cloned).save(draft("Six.")),
        open_memory(plain).save(draft("Seven.")),
    ]
    assert [(saved.project, saved.project_source) for saved in found] == [
        ("by-argument", "explicit"),
        ("by-session", "session"),
        ("by-override", "override"),
        ("by-config", "config"),
        ("rocket", "git_remote"),
        ("by-folder", "dir_basename"),
    ]


def test_a_new_name_creates_its_project_and_says_which_names_are_like_it(app: Engram) -> None:
    app.save(draft("One."))
    saved = app.save(draft("Two."), project="widget")
    assert saved.outcome == "added"
    assert saved.warnings == (reason("created_project", project="widget", similar=("widgets",)),)
    assert app.save(draft("Three."), project="widget").warnings == ()
    assert {line.name for line in app.projects.list()} == {"widgets", "widget"}


@pytest.mark.parametrize(
    ("given", "name"),
    [
        pytest.param("Acme Rocket", "acme rocket", id="blank"),
        pytest.param("ACME--rocket", "acme-rocket", id="case-and-dashes"),
        pytest.param("Bu\u0308ro", "b\u00fcro", id="composed"),
    ],
)
def test_a_name_is_normalised_and_that_is_said(app: Engram, given: str, name: str) -> None:
    saved = app.save(draft("One."), project=given)
    assert saved.project == name
    assert reason("name_normalized", given=given, name=name) in saved.warnings
    assert app.save(draft("Two."), project=name).warnings == ()


@pytest.mark.parametrize("name", ["a/b", "..", "~", "a\0b", "---", "x" * 500, "C:\\work"])
def test_what_is_no_name_is_refused_and_writes_nothing(app: Engram, name: str) -> None:
    with pytest.raises(InvalidProjectError):
        app.save(draft("One."), project=name)
    with pytest.raises(InvalidProjectError):
        app.search("one", project=name)
    assert rows_of(app, "projects") == 0


def test_several_repositories_refuse_a_write_and_name_the_candidates(
    tmp_path: Path, make_repo: RepoMaker, open_memory: Opener
) -> None:
    make_repo("work/one")
    make_repo("work/two")
    app = open_memory(tmp_path / "work")
    calls: list[Callable[[], object]] = [
        lambda: app.save(draft("One.", operation_id="op-1"), session_id="s-1"),
        lambda: app.prompts.save("One."),
        lambda: app.episodes.summarize("One."),
        lambda: app.episodes.capture("One."),
        lambda: app.sessions.start("s-1"),
    ]
    for call in calls:
        with pytest.raises(AmbiguousProjectError) as refusal:
            call()
        assert sorted(refusal.value.candidates) == ["one", "two"]
        assert "project=" in refusal.value.hint
    for table in ("observations", "sessions", "projects", "sync_mutations", "save_operations", "meta"):
        assert rows_of(app, table) == 0
    assert app.save(draft("One."), project="one").project == "one"


def test_several_repositories_are_read_together_and_that_is_said(
    tmp_path: Path, make_repo: RepoMaker, open_memory: Opener
) -> None:
    for name in ("one", "two"):
        open_memory(make_repo(f"work/{name}")).save(draft(f"Text of {name}."))
    open_memory().save(draft("Text of widgets."))
    app = open_memory(tmp_path / "work")

    found = app.search("text")
    assert {hit.project for hit in found.results} == {"one", "two"}
    assert found.projects is not None
    assert sorted(found.projects) == ["one", "two"]
    assert "several_repositories" in names(found.warnings)
    assert {row.project for row in app.contexts.assemble().recent} == {"one", "two"}
    current = app.projects.current()
    assert (current.project, current.project_source) == (None, "ambiguous")
    assert sorted(current.candidates) == ["one", "two"]
    assert current.hint


def test_the_home_directory_is_no_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, open_memory: Opener, app: Engram
) -> None:
    home = tmp_path / "ada"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("USERPROFILE", str(home))
    app.save(draft("Text of widgets."))
    at_home = open_memory(home)

    with pytest.raises(AmbiguousProjectError) as refusal:
        at_home.save(draft("One."))
    assert refusal.value.candidates == ["widgets"]
    found = at_home.search("text")
    assert [hit.project for hit in found.results] == ["widgets"]
    assert "no_project_here" in names(found.warnings)
    assert at_home.projects.current().project_source == "none"


def test_where_no_project_is_a_context_is_empty_and_says_how_to_name_one(
    app: Engram, data_dir: Path, open_memory: Opener, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "nobody"))
    app.save(draft("Text of widgets."))
    anywhere = open_memory(Path(app.settings.data_dir.anchor))

    for mode in ("session", "cascade"):
        context = anywhere.contexts.assemble(mode=mode, query="text" if mode == "cascade" else None)
        assert not any(section.items for section in context.sections)
        told = render.text(context, now=anywhere.journal.moment(), door="mcp")
        assert "project=NAME" in told
        assert "Text of" not in told
    assert any(section.items for section in anywhere.contexts.assemble("widgets").sections)


def test_in_a_submodule_the_memory_of_the_repository_around_it_is_read_and_not_written(
    open_memory: Opener, make_repo: RepoMaker, git: Git
) -> None:
    outer, library = make_repo("work/outer"), make_repo("work/library")
    git(outer, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(library), "vendor/parser")
    around, inside = open_memory(outer), open_memory(outer / "vendor" / "parser")
    around.save(draft("The outer text."))
    saved = inside.save(draft("The inner text."))

    assert saved.project == "library"
    assert {hit.project for hit in inside.search("text").results} == {"library", "outer"}
    assert [hit.project for hit in around.search("text").results] == ["outer"]
    assert inside.bulk.select("type:manual").ids == (saved.id,)


def test_a_refusal_says_in_clauses_why_nothing_names_the_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, open_memory: Opener, make_repo: RepoMaker
) -> None:
    monkeypatch.setattr("engram_py.memory.projects.locate.CHILD_BUDGET_SECONDS", -1.0)
    monkeypatch.setenv("TMPDIR", str(tmp_path / "work"))
    make_repo("work/one")

    with pytest.raises(AmbiguousProjectError) as refusal:
        open_memory(tmp_path / "work").save(draft("One."))

    assert names(refusal.value.reasons) == ["no_project_here", "too_many_children"]
    told = error_text(refusal.value, "mcp")
    assert f"; {tmp_path / 'work'} has so many folders that not all could be read in time (candidates: " in told


@pytest.mark.parametrize("scope", ["personal", "global"])
def test_what_belongs_to_no_project_can_be_saved_where_there_is_none(open_memory: Opener, scope: str) -> None:
    nowhere = open_memory(Path("/"))
    saved = nowhere.save(draft("Tabs.", scope=scope))
    assert (saved.project, saved.scope) == (scope, scope)
    assert [hit.id for hit in open_memory().search("tabs").results] == [saved.id]


def test_reading_creates_no_project(app: Engram) -> None:
    app.search("anything")
    app.contexts.assemble("gadgets")
    app.projects.current()
    assert rows_of(app, "projects") == 0


def test_where_one_stands_is_said_without_writing(make_repo: RepoMaker, open_memory: Opener) -> None:
    app = open_memory(make_repo("clone", remote="https://ada:" + "s3cr" + "et@github.com/acme/rocket.git"))
    current = app.projects.current()
    assert (current.project, current.project_source, current.known) == ("rocket", "git_remote", False)
    assert (current.remote, current.branch) == ("github.com/acme/rocket", "main")
    app.save(draft("One."))
    assert app.projects.current().known


def test_a_row_remembers_its_branch_and_commit_however_its_project_was_named(
    make_repo: RepoMaker, open_memory: Opener, git: Git
) -> None:
    repo = make_repo("rocket")
    commit = git(repo, "rev-parse", "HEAD")
    app = open_memory(repo)
    app.sessions.start("s-1")
    ids = [
        app.save(draft("One.")).id,
        app.save(draft("Two."), project="rocket").id,
        app.save(draft("Three."), session_id="s-1").id,
        app.episodes.summarize("Four.").id,
        open_memory(repo, project="elsewhere").save(draft("Five.")).id,
    ]
    assert {(row.git_branch, row.git_commit) for row in (whole(app, one) for one in ids)} == {("main", commit)}
    foreign = whole(app, app.save(draft("Six."), project="elsewhere-too").id)
    assert (foreign.git_branch, foreign.git_commit) == (None, None)


def test_the_default_scope_of_the_settings_file_holds_for_its_project_and_no_other(
    folder: Path, open_memory: Opener
) -> None:
    (folder / ".engram.json").write_text('{"default_scope": "personal"}', encoding="utf-8")
    app = open_memory()
    assert app.save(draft("One.")).scope == "personal"
    assert app.save(draft("Two.", scope="project")).scope == "project"
    assert app.save(draft("Three."), project="widgets").scope == "personal"
    assert app.save(draft("Four."), project="gadgets").scope == "project"
    app.sessions.start("s-1")
    assert app.save(draft("Five.")).scope == "personal"


def test_projects_are_listed_the_last_active_first_with_their_counts(app: Engram) -> None:
    app.save(draft("One."), project="alpha")
    app.save(draft("Two."), project="alpha")
    app.prompts.save("Please.", project="beta")
    doomed = app.save(draft("Three."), project="beta")
    app.observations.delete(doomed.id)
    app.merging.alias("The First", "alpha")
    lines = {line.name: line for line in app.projects.list()}
    assert (lines["alpha"].observations, lines["alpha"].sessions, lines["alpha"].aliases) == (2, 1, ("the first",))
    assert (lines["beta"].observations, lines["beta"].prompts) == (0, 1)
    assert [line.name for line in app.projects.list()] == ["alpha", "beta"]


def test_a_search_does_not_read_where_head_is_whatever_names_its_project(
    make_repo: RepoMaker, open_memory: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = make_repo("by-folder")
    memory, overridden = open_memory(here), open_memory(here, project="by-override")
    memory.save(draft("Fifteen minutes."), session_id="s-1")
    asked: list[object] = []

    def read(repository: object) -> tuple[str, str]:
        asked.append(repository)
        return "main", "a1"

    overridden.searches.search("zebra")  # now both know the folder
    monkeypatch.setattr("engram_py.memory.projects.locate.read_head", read)
    memory.searches.search("zebra", project="by-folder")
    memory.searches.search("zebra", session_id="s-1")
    memory.searches.search("zebra")
    overridden.searches.search("zebra")
    assert asked == []  # a hit is asked, of which branch it is

    assert memory.projects.for_read("by-folder").commit == "a1"
    assert len(asked) == 1


def test_a_shared_config_file_names_the_project_that_engram_names(
    tmp_path: Path, make_repo: RepoMaker, open_memory: Opener
) -> None:
    repository = make_repo("x", remote=REMOTE)
    (repository / ".engram").mkdir()
    (repository / ".engram" / "config.json").write_text(
        '{"project_name": " Caf\u00e9 Orders--API__ "}', encoding="utf-8"
    )
    folder = tmp_path / "My Notes"
    folder.mkdir()

    assert open_memory(repository).save(draft("One.")).project == "caf\u00e9 orders-api_"
    assert open_memory(folder).save(draft("Two.")).project == "my notes"


@pytest.mark.parametrize("held", [False, True], ids=["no-project-of-the-very-name", "one-of-the-very-name"])
def test_what_an_earlier_version_kept_under_dashes_is_the_folders_project_unless_one_has_its_very_name(
    tmp_path: Path, open_memory: Opener, held: bool
) -> None:
    folder = tmp_path / "My Notes"
    folder.mkdir()
    if held:
        assert open_memory(folder).save(draft("One.")).project == "my notes"
    open_memory().save(draft("Kept by a version that wrote dashes for blanks."), project="my-notes")

    here = open_memory(folder)

    assert here.projects.current().project == ("my notes" if held else "my-notes")
    assert held or here.save(draft("Another."), project="My Notes").project == "my-notes"
