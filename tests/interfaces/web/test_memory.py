"""A memory on the page: what is shown of it, and each change with its undo."""

from __future__ import annotations

import pytest

from engram_py import Draft, Engram
from engram_py.interfaces.web.rendering import MOST_LINES, diff
from engram_py.interfaces.web.visit import MOST_KEPT
from engram_py.memory.observations.values import CONTENT_LIMIT_BYTES, Change
from tests.interfaces.web.visiting import Visitor


@pytest.fixture
def row(app: Engram) -> int:
    return app.save(Draft("Where the tea is", "On the second shelf.\nBehind the cups.", "note")).id


def content(app: Engram, row: int) -> str:
    return app.get(row).observation.content


def test_an_edit_is_kept_and_its_undo_brings_everything_back(app: Engram, visitor: Visitor, row: int) -> None:
    form = visitor.look(f"/ui/memory/{row}/edit")
    done = visitor.press(form, "Save", title="Tea", content="Third shelf.", type="decision", topic_key="kitchen/tea")
    assert (done.status, done.path.partition("?")[0]) == (200, f"/ui/memory/{row}")
    after = app.get(row).observation
    assert (after.title, after.content, after.type, after.topic_key) == (
        "Tea",
        "Third shelf.",
        "decision",
        "kitchen/tea",
    )

    undone = visitor.press(done, "Undo")
    assert "Edit undone" in undone.text
    before = app.get(row).observation
    assert (before.title, before.content) == ("Where the tea is", "On the second shelf.\nBehind the cups.")
    assert (before.type, before.topic_key) == ("note", None)


def test_a_form_sent_as_it_came_changes_nothing(app: Engram, visitor: Visitor) -> None:
    """A browser drops a first newline and sends every line end as CR LF."""
    texts = [
        "\n\nTwo empty lines first.\nThen this.",
        "Windows\r\nlines",
        "one <b>tag</b> & \"quotes\" 'both'",
        "tab\there",
    ]
    for number, text in enumerate(texts):
        row = app.save(Draft(f"Text {number} <i>&\"'", text)).id
        kept = app.get(row).observation
        seen = visitor.press(visitor.look(f"/ui/memory/{row}/edit"), "Save")
        assert "Nothing was changed" in seen.text
        assert app.get(row).observation.revision_count == kept.revision_count
        assert content(app, row) == kept.content


def test_an_edit_of_what_changed_meanwhile_is_refused_with_both_texts(app: Engram, visitor: Visitor, row: int) -> None:
    stale = visitor.look(f"/ui/memory/{row}/edit")
    app.observations.update(row, Change(content="An agent moved it to the cellar."))

    refused = visitor.press(stale, "Save", content="I moved it to the attic.")
    assert refused.status == 409
    assert "was changed while you were editing it" in refused.text
    assert "An agent moved it to the cellar." in refused.text
    assert refused.page.form("Save").fields["content"] == "I moved it to the attic."
    assert content(app, row) == "An agent moved it to the cellar."

    visitor.press(refused, "Save")
    assert content(app, row) == "I moved it to the attic."
    assert "An agent moved it to the cellar." in [one.content for one in app.get(row, history=True).versions]


@pytest.mark.parametrize("change", [Change(title="Tea"), Change(type="decision"), Change(topic_key="kitchen/tea")])
def test_any_change_of_what_the_form_holds_makes_it_stale(
    app: Engram, visitor: Visitor, row: int, change: Change
) -> None:
    stale = visitor.look(f"/ui/memory/{row}/edit")
    app.observations.update(row, change)
    assert visitor.press(stale, "Save", content="Mine.").status == 409


def test_an_undo_of_what_changed_meanwhile_is_refused_with_both_texts(app: Engram, visitor: Visitor, row: int) -> None:
    done = visitor.press(visitor.look(f"/ui/memory/{row}/edit"), "Save", content="Third shelf.")
    app.observations.update(row, Change(content="An agent moved it."))
    refused = visitor.press(done, "Undo")
    assert refused.status == 409
    assert "An agent moved it." in refused.text
    assert refused.page.form("Save").fields["content"].startswith("On the second shelf.")
    assert content(app, row) == "An agent moved it."


def test_a_page_that_shows_an_older_text_changes_nothing(app: Engram, visitor: Visitor, row: int) -> None:
    other = app.save(Draft("Gadgets", "They are blue."), project="gadgets").id
    app.observations.update(row, Change(content="Third shelf."))
    stale = visitor.look(f"/ui/memory/{row}")
    app.observations.update(row, Change(content="An agent moved it."))
    for button in ("Delete", "Restore this text"):
        assert visitor.press(stale, button).status == 409
    assert visitor.press(stale, "Replace", into=str(other)).status == 409
    assert visitor.press(stale, "Move", to="gadgets").status == 409
    assert (content(app, row), app.get(row).observation.project) == ("An agent moved it.", "widgets")


def test_a_deleted_memory_says_so_and_comes_back(app: Engram, visitor: Visitor, row: int) -> None:
    gone = visitor.press(visitor.look(f"/ui/memory/{row}"), "Delete")
    assert gone.status == 410
    assert "second shelf" not in gone.text
    assert "tea" not in visitor.look("/ui/?q=shelf").page.text.replace("Where the tea is", "")
    back = visitor.press(gone, "Undelete")
    assert "second shelf" in back.text
    assert visitor.press(back, "Undo").status == 410


def test_a_pin_and_the_archive_are_undone_where_they_are_done(app: Engram, visitor: Visitor, row: int) -> None:
    pinned = visitor.press(visitor.look(f"/ui/memory/{row}"), "Pin")
    assert app.get(row).observation.pinned
    visitor.press(pinned, "Undo")
    assert not app.get(row).observation.pinned
    archived = visitor.press(visitor.look(f"/ui/memory/{row}"), "Archive")
    assert app.get(row).observation.lifecycle == "archived"
    visitor.press(archived, "Undo")
    assert app.get(row).observation.lifecycle == "active"


def test_the_history_shows_what_each_text_changed_and_brings_one_back(app: Engram, visitor: Visitor, row: int) -> None:
    app.observations.update(row, Change(content="On the second shelf.\nBefore the cups."))
    seen = visitor.look(f"/ui/memory/{row}")
    assert "- Behind the cups." in seen.text
    assert "+ Before the cups." in seen.text
    back = visitor.press(seen, "Restore this text")
    assert content(app, row).endswith("Behind the cups.")
    visitor.press(back, "Undo")
    assert content(app, row).endswith("Before the cups.")


def test_what_replaced_what_is_a_chain_of_links(app: Engram, visitor: Visitor, row: int) -> None:
    newer = app.save(Draft("The tea moved", "It is in the cellar now.")).id
    app.relations.compare(newer, row, "supersedes", confidence=1.0, reasoning="It was moved.")
    for one in (row, newer):
        seen = visitor.look(f"/ui/memory/{one}")
        assert "Supersession chain" in seen.text
        assert "It was moved." in seen.text


def test_a_text_that_is_too_long_is_refused_and_not_cut(app: Engram, visitor: Visitor, row: int) -> None:
    long = "ä" * (CONTENT_LIMIT_BYTES // 2 + 1)
    refused = visitor.press(visitor.look(f"/ui/memory/{row}/edit"), "Save", content=long)
    assert refused.status == 400
    assert refused.page.form("Save").fields["content"] == long
    assert content(app, row).startswith("On the second shelf.")


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"title": "  "}, "title"),
        ({"content": ""}, "content"),
        ({"topic_key": "!!!"}, "topic"),
        ({"scope": "x"}, "scope"),
    ],
)
def test_what_is_no_memory_is_refused_beside_what_was_typed(
    app: Engram, visitor: Visitor, row: int, changed: dict[str, str], said: str
) -> None:
    typed = {"content": "Typed with care."} | changed
    refused = visitor.press(visitor.look(f"/ui/memory/{row}/edit"), "Save", **typed)
    assert refused.status == 400
    assert said in refused.text
    assert refused.page.form("Save").fields["content"] == typed["content"]
    assert content(app, row).startswith("On the second shelf.")


def test_a_secret_that_is_typed_is_redacted_and_the_page_says_so(app: Engram, visitor: Visitor, row: int) -> None:
    secret = "ghp_" + "a1B2" * 9
    done = visitor.press(visitor.look(f"/ui/memory/{row}/edit"), "Save", content=f"The token is {secret}")
    assert "secret in the text was redacted" in done.text
    assert secret not in content(app, row)
    assert secret not in done.reply.body.decode()


@pytest.mark.parametrize("path", ["/ui/memory/0", "/ui/memory/-1", "/ui/memory/1e3", "/ui/memory/%D9%A3",
                                  f"/ui/memory/{'9' * 5000}", "/ui/memory/99", "/ui/memory/99/edit", "/ui/nowhere",
                                  "/ui/memory/%00"])  # fmt: skip
def test_what_is_not_there_is_a_page_that_says_so(visitor: Visitor, path: str) -> None:
    seen = visitor.look(path)
    assert seen.status == 404
    assert "Request refused" in seen.text or "no page is at" in seen.text


def test_a_form_as_large_as_nothing_here_is_refused(visitor: Visitor, app: Engram, row: int) -> None:
    form = visitor.look(f"/ui/memory/{row}/edit").page.form("Save")
    assert visitor.send(form, content="x" * 1_100_000).status == 413
    assert visitor.send(form, **{f"f{n}": "x" for n in range(200)}).status == 400
    assert content(app, row).startswith("On the second shelf.")


def test_an_undo_that_is_forgotten_says_where_the_texts_are(app: Engram, visitor: Visitor, row: int) -> None:
    done = visitor.press(visitor.look(f"/ui/memory/{row}/edit"), "Save", content="Third shelf.")
    visitor.press(done, "Undo")
    again = visitor.press(done, "Undo")
    assert again.status == 404
    assert "history" in again.text
    assert MOST_KEPT >= 100


def test_a_diff_of_texts_without_end_is_the_one_and_then_the_other() -> None:
    long = "\n".join(["a"] * (MOST_LINES + 1))
    kinds = [line.kind for line in diff(long, "b")]
    assert kinds == ["gone"] * (MOST_LINES + 1) + ["new"]
    assert diff("same", "same") == ()
    assert [line.kind for line in diff("1\n2\n3\n4\n5\n6\n7\n8\n9", "0\n2\n3\n4\n5\n6\n7\n8\n0")].count("skipped") == 1


def test_a_memory_is_merged_into_another_and_the_merge_taken_back(app: Engram, visitor: Visitor, row: int) -> None:
    stays = app.save(Draft("The tea moved", "It is in the cellar now.")).id
    done = visitor.press(visitor.look(f"/ui/memory/{row}"), "Replace", into=f"#{stays}")
    assert "searches find the other memory instead" in done.text
    assert "second shelf" in done.text
    assert app.get(row).observation.lifecycle == "historical"
    assert [hit.id for hit in app.search("where is the tea").results] == [stays]

    assert "Replacement undone" in visitor.press(done, "Undo").text
    assert app.get(row).observation.lifecycle == "active"
    assert app.get(row).relations == ()


def test_an_earlier_verdict_comes_back_with_the_undo_of_a_merge(app: Engram, visitor: Visitor, row: int) -> None:
    other = app.save(Draft("The tea moved", "It is in the cellar now.")).id
    app.relations.compare(row, other, "conflicts_with", confidence=1.0, reasoning="Both cannot be.")
    done = visitor.press(visitor.look(f"/ui/memory/{row}"), "Replace", into=str(other))
    visitor.press(done, "Undo")
    verdict = app.relations.between(row, other)
    assert verdict is not None
    assert verdict.relation == "conflicts_with"
    assert verdict.source_id == app.get(row).observation.sync_id


@pytest.mark.parametrize("into", ["", "tea", "99", "-1", "1", "\u0663"])
def test_a_merge_into_what_is_no_other_memory_is_refused(app: Engram, visitor: Visitor, row: int, into: str) -> None:
    refused = visitor.press(visitor.look(f"/ui/memory/{row}"), "Replace", into=into)
    assert refused.status in (400, 404)
    assert app.get(row).observation.lifecycle == "active"


def test_a_memory_moves_to_another_project_and_back(app: Engram, visitor: Visitor, row: int) -> None:
    app.save(Draft("Gadgets", "They are blue."), project="gadgets")
    done = visitor.press(visitor.look(f"/ui/memory/{row}"), "Move", to="gadgets")
    assert "Moved to gadgets." in done.text
    assert app.get(row).observation.project == "gadgets"
    assert "Moved back to widgets." in visitor.press(done, "Undo").text
    assert app.get(row).observation.project == "widgets"


def test_what_was_deleted_is_destroyed_where_it_still_reads_the_same(app: Engram, visitor: Visitor, row: int) -> None:
    deleted = visitor.press(visitor.look(f"/ui/memory/{row}"), "Delete")
    form = deleted.page.form("Destroy")
    assert visitor.send(form, seen="another").status == 409
    assert visitor.send(form).status == 200
    assert visitor.look(f"/ui/memory/{row}").status == 404


def test_upkeep_takes_back_the_changes_that_the_command_line_lists(app: Engram, visitor: Visitor, row: int) -> None:
    app.observations.update(row, Change(title="Where the coffee is"))
    made = app.changes.listed()
    seen = visitor.look("/ui/upkeep")
    assert f"The edit of [#{row}]" in seen.text
    forms = [one for one in seen.page.forms if one.buttons == ["Undo"]]
    assert [one.fields["text"] for one in forms] == [str(one.change) for one in made]
    assert "Took back the edit of" in visitor.send(forms[0]).text
    assert app.get(row).observation.title == "Where the tea is"
    assert [one.change for one in app.changes.listed()] == [one.change for one in made[1:]]
