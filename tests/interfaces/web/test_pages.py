"""Each page: search, sessions, days, review, worth, and the files of a memory."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest

from engram_py import Draft, Engram
from engram_py.base.dataclass import replace
from engram_py.base.settings import Settings
from engram_py.interfaces.cli.main import cli
from engram_py.interfaces.screen_values import injected
from engram_py.interfaces.serve import build_application
from engram_py.interfaces.web.access import Access
from engram_py.interfaces.web.rendering import diff
from engram_py.memory.observations.values import Change
from tests.interfaces.http.asking import HOST, PORT, Asker, asker
from tests.interfaces.web.visiting import Visitor
from tests.memory.anchors.repositories import AUTH, Repo, lines
from tests.support import FakeClock, clock, git, here, make_repo, open_memory, root

PAGES = (
    "/ui/", "/ui/given", "/ui/ask", "/ui/today", "/ui/review", "/ui/worth", "/ui/entities", "/ui/projects",
    "/ui/timeline", "/ui/settings", "/ui/upkeep", "/ui/guards",
)  # fmt: skip


def save(app: Engram, title: str, text: str, **more: str) -> int:
    return app.save(Draft(title, text, more.get("type", "note")), session_id=more.get("session")).id


@pytest.fixture
def repository(folder: Path) -> Path:
    """The folder of the memory as a git repository."""
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    return folder


@pytest.mark.parametrize("path", PAGES)
def test_a_new_memory_has_every_page(visitor: Visitor, path: str) -> None:
    seen = visitor.look(path)
    assert seen.status == 200
    assert len([one for tag, one in seen.page.tags if tag == "a" and one.get("aria-current") == "page"]) == 1
    assert ("html", {"lang": "en"}) in seen.page.tags
    assert len([tag for tag, _ in seen.page.tags if tag == "h1"]) == 1


def test_a_server_that_takes_requests_has_loaded_its_first_page(folder: Path) -> None:
    code = """
import sys
from engram_py import Draft, Engram
from engram_py.base.dataclass import replace
from engram_py.interfaces.web import Page
from engram_py.interfaces.web.rendering import templates
with Engram() as app:
    app.save(Draft("Tea", "On the *second* shelf."))
    page = Page(app, port=7437)
    page.prepare()
    before = set(sys.modules)
    page.prepare()
    print(sorted(set(sys.modules) - before), len(templates().cache))
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[] 3", "modules of the second page, and the templates of the first"


def test_a_search_finds_what_the_tool_finds_and_says_why(app: Engram, visitor: Visitor) -> None:
    port = save(app, "Port of the API", "The API listens on port 8080.", type="config")
    save(app, "Tea", "The tea is on the second shelf.")
    [numbers] = app.search("api port", explain=True).explain.hits  # type: ignore[union-attr]
    seen = visitor.look("/ui/?q=api+port")
    assert f"#{port} Port of the API" in seen.text
    assert "second shelf" not in seen.text
    assert "The API listens on port 8080." in seen.text
    for number in (numbers.passage, numbers.whole, numbers.relevance, numbers.score):
        assert f"{number:.3f}" in seen.text
    assert ", ".join(numbers.words) in seen.text


def test_a_search_shows_what_the_repositorys_documents_say(app: Engram, folder: Path, visitor: Visitor) -> None:
    subprocess.run(["git", "init", "--quiet", str(folder)], check=True)
    (folder / "docs").mkdir()
    (folder / "docs" / "queue.md").write_text("# Queue\n\nJobs wait in PostgreSQL, because it was there.\n")
    app.documents.update()
    seen = visitor.look("/ui/?q=where+do+jobs+wait")
    assert "docs/queue.md:3" in seen.text
    assert "Jobs wait in PostgreSQL" in seen.text


def test_an_empty_answer_explains_itself_as_the_tool_does(app: Engram, visitor: Visitor) -> None:
    save(app, "Tea", "The tea is on the second shelf.")
    seen = visitor.look("/ui/?q=zeppelin")
    assert "zeppelin" in seen.text
    assert "No memory" in seen.text


def test_filters_are_chips_that_take_themselves_away(app: Engram, visitor: Visitor) -> None:
    note, fix = save(app, "Tea note", "Tea."), save(app, "Tea fix", "Tea again.", type="bugfix")
    seen = visitor.look("/ui/?q=tea&type=bugfix&project=widgets")
    assert f"#{fix}" in seen.text
    assert f"#{note}" not in seen.text
    [chip] = [one for tag, one in seen.page.tags if one.get("aria-label") == "Remove filter type bugfix"]
    assert f"#{note}" in visitor.look(chip["href"]).text


def test_a_query_that_cannot_be_read_is_refused_above_its_form(app: Engram, visitor: Visitor) -> None:
    seen = visitor.look("/ui/?q=tea&scope=nobody")
    assert seen.status == 400
    assert "scope" in seen.text
    assert visitor.look("/ui/?project=nowhere").status == 404


@pytest.fixture
def worked(app: Engram) -> str:
    """A session that was given one memory at its start and one with its second prompt, and cited that."""
    first, second = save(app, "Port of the API", "The API listens on port 8080."), save(app, "Tea", "Second shelf.")
    app.sessions.start("s1", project="widgets")
    app.citations.inject("s1", {second: 40}, "session")
    app.prompts.save("hello there", session_id="s1")
    app.prompts.save("which port does the API listen on?", session_id="s1")
    app.citations.inject("s1", {first: 60}, "prompt")
    app.citations.cite("s1", [first])
    return "s1"


def test_a_session_a_memory_and_worth_show_what_was_given_and_what_was_cited(visitor: Visitor, worked: str) -> None:
    assert "s1" in visitor.look("/ui/given").text
    text = visitor.look(f"/ui/session?id={worked}").text.partition("tokens")[2]
    start, asked, port = text.index("Given at the start"), text.index("hello there"), text.index("which port")
    assert start < text.index("Tea") < asked < text.index("Nothing given. Reason today:") < port
    assert port < text.index("Port of the API") < text.index("cited", port)
    text = visitor.look("/ui/memory/1").text
    assert "Sessions that got or cited it" in text
    assert "given with a prompt · cited" in text
    text = visitor.look("/ui/worth").text
    cited, in_vain = text.index("Cited most often"), text.index("Given, and never cited")
    assert cited < text.index("Port of the API", cited) < in_vain < text.index("Tea", in_vain)
    assert "memories 2 1 1 0 0 0 25" in text, "heeded, ignored, repeated, harmful, unknown, tokens"
    assert "memories: 2 with a known outcome, too few for a percentage" in text


def test_a_rule_in_a_text_is_accepted_or_declined_with_one_button(app: Engram, visitor: Visitor) -> None:
    save(app, "Use pnpm, not npm", "Agreed.", type="decision")
    seen = visitor.look("/ui/review")
    assert "no `npm *`; use pnpm" in seen.text

    done = visitor.press(seen, "Accept")
    assert "Guard on: agents are warned before they break this decision." in done.text
    assert [one.rule.command for one in app.guards.listed()] == ["npm *"]

    save(app, "Stop using yarn", "Agreed.", type="decision")
    assert "Declined: its guard is not suggested again." in visitor.press(visitor.look("/ui/review"), "Decline").text
    assert "yarn *" not in visitor.look("/ui/review").text


def test_a_memory_that_did_more_harm_than_help_waits_for_review(app: Engram, visitor: Visitor) -> None:
    row = save(app, "Use npm", "The lock file is npm's.")
    for number in range(3):
        app.sessions.start(f"s{number}", project="widgets")
        app.moments.add(f"s{number}", row, "guard", "pnpm install")
        app.moments.came(f"s{number}", row, "guard", "overruled")

    assert "more harm than help; agents get it only when they ask" in visitor.look("/ui/review").text
    assert "Use npm (off until reviewed)" in visitor.look("/ui/worth").text
    app.observations.mark_reviewed(row)
    assert "more harm than help" not in visitor.look("/ui/review").text


def test_what_a_prompt_would_be_given_is_what_the_hook_says(app: Engram, visitor: Visitor) -> None:
    save(app, "Port of the API", "The API listens on port 8080.")
    given = visitor.look("/ui/ask?project=widgets&prompt=which+port+does+the+API+listen+on")
    assert "<engram-memory" in given.text
    assert "8080" in given.text
    assert "Nothing given:" in visitor.look("/ui/ask?project=widgets&prompt=which+zeppelin+is+it").text
    assert "is only a continuation" in visitor.look("/ui/ask?project=widgets&prompt=yes").text
    assert "Given to a new session" in visitor.look("/ui/ask?project=widgets").text


def test_a_pair_that_may_contradict_gets_its_verdict(app: Engram, visitor: Visitor) -> None:
    save(app, "The API listens on port 8080", "It was moved there.", type="config")
    saved = app.save(Draft("The API listens on port 9090", "It was moved there again.", "config"))
    assert saved.judgment_required
    seen = visitor.look("/ui/review")
    form = seen.page.form("supersedes")
    done = visitor.send(form, relation="supersedes")
    assert "Saved: the first supersedes the second" in done.text
    other = visitor.send(done.page.form("applies in another scope than"), relation="scoped")
    assert "Saved: the first applies in another scope than the second" in other.text
    visitor.send(other.page.form("applies in another scope than"), relation="supersedes")
    [relation] = app.relations.page(status="judged").relations
    assert relation.relation == "supersedes"
    assert visitor.send(form, relation="<nonsense>").status == 400


def test_a_session_that_its_distiller_failed_on_is_named_and_tried_again(
    app: Engram, visitor: Visitor, worked: str
) -> None:
    with app.store.transaction():
        failed = {"distill_state": "dead", "distill_attempts": 3, "distill_detail": "exit code 7"}
        app.store.update("sessions", {"id": worked}, failed)
    seen = visitor.look("/ui/review?project=widgets")
    assert "given up · exit code 7" in seen.text
    assert "s1 (widgets): summarized" in visitor.press(seen, "Try again").text


@pytest.fixture
def later(app: Engram, data_dir: object) -> Iterator[Visitor]:
    """The page seven months after what the fixture's test saved."""
    clock = FakeClock()
    settings = Settings(app.settings.data_dir, clock=clock)
    with Engram(settings=settings, directory=app.projects.settings_here().directory) as old:
        save(old, "Use one database", "It is enough.", type="decision")
        clock.advance(days=220)
        visitor = Visitor(Asker(build_application(old, port=PORT)), f"http://{HOST}")
        visitor.look(f"/ui/enter?token={Access(app.settings.data_dir).link_token()}")
        yield visitor


def test_what_is_overdue_is_confirmed(later: Visitor) -> None:
    seen = later.look("/ui/review")
    assert "Use one database" in seen.text
    assert "Confirm" in seen.text
    assert "Confirmed" in later.press(seen, "Confirm").text
    assert "Use one database" not in later.look("/ui/review").text


def test_the_day_shows_its_own_memories_and_the_timeline_all(later: Visitor) -> None:
    assert "Use one database" not in later.look("/ui/today").text
    assert "2026-03-01" in later.look("/ui/timeline").text


def test_a_pinned_memory_is_in_every_list(app: Engram, visitor: Visitor) -> None:
    app.observations.pin(save(app, "Tea", "Second shelf."))
    for path in ("/ui/", "/ui/?project=widgets", "/ui/today", "/ui/timeline"):
        assert "#1 Tea" in visitor.look(path).text


def test_the_timeline_leaves_none_out_between_those_it_shows(app: Engram, visitor: Visitor) -> None:
    """What was saved early and corrected late is read first, and belongs last."""
    rows = [save(app, f"Note {number}", f"Number {number} of many.") for number in range(520)]
    app.observations.update(rows[0], Change(content="Corrected."))
    shown, path = [], "/ui/timeline"
    while path:
        seen = visitor.look(path)
        shown += re.findall(r"#(\d+) Note", seen.text)
        path = next((one["href"] for _, one in seen.page.tags if one.get("rel") == "next"), "")
    assert shown == [str(row) for row in sorted(rows, reverse=True)]
    assert visitor.look("/ui/timeline?before=2026-01-01,x").status == 400
    assert f"#{rows[0]} Note" in visitor.look("/ui/").text


def test_every_command_that_a_page_names_is_one(app: Engram, visitor: Visitor, worked: str) -> None:
    app.save(Draft("Tea", "Now with a 'quoted' $(part)", topic_key="tea/place"))
    app.save(Draft("Tea", "On the third shelf, as a new text", topic_key="tea/place"))
    paths = [*PAGES, "/ui/?q=-tea%20%27;%20rm%20x&type=note&scope=project&match=all", "/ui/?q=tea&project=widgets",
             "/ui/memory/1", "/ui/memory/3", "/ui/memory/1/edit", "/ui/session?id=s1",
             "/ui/worth?days=30&project=widgets", "/ui/ask?project=widgets&prompt=--json%20%24(x)",
             "/ui/ask?project=widgets"]  # fmt: skip
    pages = [visitor.look(path).page for path in paths]
    titles = [one.get("title", "") for page in pages for _, one in page.tags]
    codes = [code for page in pages for code in page.codes] + titles
    codes = [code for code in codes if code.startswith("engram ")]
    assert len(codes) > 20
    for code in codes:
        assert_runs(code)


def assert_runs(code: str) -> None:
    """The command line is read by the program's own parser, to the last word."""
    words = shlex.split(code)[1:]
    context = click.Context(cli, info_name="engram")
    command = cli.get_command(context, words[0])
    assert command is not None, code
    command.make_context(words[0], words[1:], parent=context)


def test_an_entity_is_shown_with_its_facts_links_and_mentions(app: Engram, visitor: Visitor) -> None:
    app.facts.add("billing", "Billing runs on Debian in the cellar")
    app.facts.add("billing", "Billing runs on Fedora in the attic")
    app.entities.link("billing", "depends_on", "ledger")
    app.entities.alias("billing", ["invoicing"])
    app.entities.archive("ledger")
    project = app.projects.list()[0].name

    listed = visitor.look(f"/ui/entities?project={project}")
    active, archived = listed.text.split("Active")[1].split("Archived")
    assert "Billing" in active
    assert "invoicing" in active
    assert "Ledger" in archived

    shown = visitor.look(f"/ui/entities?project={project}&name=invoicing")
    present, past = shown.text.split("Past facts")
    assert "Billing runs on Fedora in the attic" in present
    assert "Billing runs on Debian in the cellar" in past
    for said in (
        "Billing runs on Fedora in the attic",
        "depends on ledger",
        "Billing runs on Debian in the cellar",
        "engram entity show billing",
    ):
        assert said in shown.text


def test_people_are_shown_apart_from_other_entities_active_and_archived(app: Engram, visitor: Visitor) -> None:
    app.entities.link("Ada", "owns", "billing", kind="person", object_kind="service", project="widgets")
    app.entities.link("Grace", "owns", "ledger", kind="person", object_kind="service", project="widgets")
    app.entities.archive("Grace", project="widgets")
    seen = visitor.look("/ui/entities?project=widgets")
    [address] = [one["href"] for _, one in seen.page.tags if "kind=person" in one.get("href", "")]
    people = visitor.look(address).text
    active, archived = people.split("Active")[1].split("Archived")
    assert "Ada" in active
    assert "Grace" in archived
    assert "Ledger" not in people


def test_a_memory_is_written_on_the_page_as_the_users_own(app: Engram, visitor: Visitor) -> None:
    seen = visitor.press(visitor.look("/ui/new"), "Save", title="Tea", content="Second shelf.", project="widgets")
    assert "Saved." in seen.text
    [row] = app.browsing.recent(project="widgets")
    assert (row.title, row.content, row.origin) == ("Tea", "Second shelf.", "user")
    assert "1 memory" in visitor.look("/ui/?project=widgets").text
    assert "0 memories" in visitor.press(seen, "Delete").text
    refused = visitor.press(visitor.look("/ui/new"), "Save", title="Tea", content="x" * 50_001, project="widgets")
    assert (refused.status, "Not saved" in refused.text) == (400, True)


def test_a_session_is_named_by_its_first_prompt_and_an_empty_one_is_folded(app: Engram, visitor: Visitor) -> None:
    for name in ("s1", "s2"):
        app.sessions.start(name, project="widgets")
    for prompt in ("yes", "Why is the kettle blue?", "And the cup?"):
        app.prompts.save(prompt, session_id="s1")
    summary = "## Goal\nPaint the kettle\n\n## Done\n- Bought paint"
    row = app.save(Draft("Session summary: widgets", summary, "session_summary"), session_id="s1").id
    named, empty = visitor.look("/ui/given").text.split("1 session without prompts or memories")
    assert "Why is the kettle blue?" in named
    assert "s2" in empty
    assert f"#{row} Paint the kettle" in visitor.look("/ui/").text


def test_sessions_are_read_page_by_page(app: Engram, visitor: Visitor) -> None:
    for number in range(60):
        app.sessions.start(f"run-{number:02}", project="widgets")
        app.prompts.save(f"Question number {number}?", session_id=f"run-{number:02}")
    found, path = [], "/ui/given?project=widgets"
    while path:
        seen = visitor.look(path)
        found += re.findall(r"run-\d\d", seen.text)
        path = next((one["href"] for _, one in seen.page.tags if one.get("rel") == "next"), "")
    assert len(found) == len(set(found)) == 60


def test_a_guard_is_shown_with_what_came_of_it_and_taken_away(app: Engram, visitor: Visitor) -> None:
    row = save(app, "Use pnpm, not npm", "Agreed.", type="decision")
    app.guards.accept(row)
    app.sessions.start("s1", project="widgets")
    app.moments.add("s1", row, "guard", "npm install")
    app.moments.came("s1", row, "guard", "heeded")
    seen = visitor.look("/ui/guards")
    assert "1 warning 1 heeded 0 ignored 0 overruled" in seen.text
    assert "None yet. Decisions" in visitor.press(seen, "Remove").text
    assert app.guards.listed() == ()


def app_nearest(app: Engram) -> list[dict[str, Any]]:
    """What the hook finds nearest to the one prompt of the session."""
    [prompt] = app.prompts.recent(project="widgets")
    view = app.for_caller(None, project="widgets")
    return list(injected(view, prompt.content, "s1")["nearest"])[:1]


def test_a_prompt_that_got_nothing_names_its_words_and_the_nearest_memories(app: Engram, visitor: Visitor) -> None:
    near = save(app, "Port of the sextant", "The sextant listens on port 8080 behind the proxy.")
    app.sessions.start("s1", project="widgets")
    prompt = "Should the zeppelin moor at the mast, or the kiln, turbine, gyroscope, sextant and ferry wait overnight?"
    app.prompts.save(prompt, session_id="s1")
    [nearest] = app_nearest(app)
    text = visitor.look("/ui/session?id=s1").text
    assert "Nothing given." in text
    assert nearest["id"] == near
    asked = text[text.index("Reason today") :]
    assert f"#{near} Port of the sextant matched words: " in asked
    assert f"{nearest['probability']:.0%} likely, {nearest['needed']:.0%} needed" in asked


def test_an_address_of_a_person_is_hidden_in_previews_and_kept_in_the_memory(app: Engram, visitor: Visitor) -> None:
    secret = "sk-" + "a1B2c3D4" * 6
    row = save(app, "Support", f"Ask ada@example.org, the key is {secret}.")
    app.save(Draft("Derived support", "Ask ada@example.org about keys.", "fact", origin="derived"))
    for path in ("/ui/?q=support+key", "/ui/review"):
        seen = visitor.look(path)
        assert "Ask [e-mail]" in seen.text
        assert "ada@example.org" not in seen.text
    text = visitor.look(f"/ui/memory/{row}").text
    assert "ada@example.org" in text
    assert secret not in text
    assert "ada@example.org" in app.get(row).observation.content


def test_review_shows_both_texts_of_a_pair_and_only_what_waits(app: Engram, visitor: Visitor) -> None:
    assert "Nothing to review" in visitor.look("/ui/review").text
    save(app, "The API listens on port 8080", "It was moved there in May.", type="config")
    save(app, "The API listens on port 9090", "It was moved there in June.", type="config")
    text = visitor.look("/ui/review").text
    assert "in May" in text
    assert "in June" in text
    assert "Possible contradictions 1" in text
    assert "Overdue" not in text


def test_review_shows_both_texts_of_a_memory_that_two_edited_and_takes_the_one_that_is_chosen(
    app: Engram, visitor: Visitor
) -> None:
    row = save(app, "One", "Before.")
    [before] = app.replica.states("observation", [app.get(row).observation.sync_id])
    app.observations.update(row, Change(content="By Ada."))
    theirs = before.payload | {"content": "By Bob.", "revision_count": 2}
    app.replica.apply([replace(before, payload=theirs, clock=before.clock[:-4] + "ffff")], source="git:widgets")

    text = visitor.look("/ui/review").text
    assert "Two edits of one memory 1" in text
    assert "By Ada." in text
    assert "By Bob." in text

    visitor.press(visitor.look("/ui/review"), "Take the second")
    assert app.get(row).observation.content == "By Bob."
    assert "Two edits" not in visitor.look("/ui/review").text


def test_review_lists_an_edit_by_hand_that_waits_and_accepts_it(
    repository: Path, app: Engram, visitor: Visitor
) -> None:
    row = save(app, "Ports", "8080.")
    app.git_sync.sync()
    [file] = (repository / ".engram" / "memories").glob("*.md")
    file.write_text(file.read_text(encoding="utf-8").replace("8080", "9090"), encoding="utf-8")
    app.git_sync.sync()

    text = visitor.look("/ui/review").text
    assert "Edited by hand, not signed 1" in text
    assert file.name in text
    visitor.press(visitor.look("/ui/review"), "The edit is mine")

    assert app.get(row).observation.content == "9090."
    assert "not signed" not in visitor.look("/ui/review").text


@pytest.mark.parametrize("address", ["", "/people", "/projects", "/timeline", "/search?q=ledger"])
def test_row_129_the_addresses_of_aurelius_lead_to_the_pages(app: Engram, visitor: Visitor, address: str) -> None:
    save(app, "Ledger in Oslo", "The ledger moved to Oslo.")
    shown = visitor.look(f"/memory{address}").text
    assert ("Ledger in Oslo" in shown) == (address in ("", "/timeline", "/search?q=ledger"))


def test_a_type_without_words_is_listed_page_by_page_with_its_number(app: Engram, visitor: Visitor) -> None:
    ids = [save(app, f"Tea {number}", f"Shelf {number}.", type="bugfix") for number in range(23)]
    save(app, "Coffee", "Below.")
    app.observations.update(ids[0], Change(archived=True))
    first = visitor.look("/ui/?type=bugfix")
    assert "1 to 20 of 23 kept" in first.text
    assert "Coffee" not in first.text
    older = next(given["href"] for tag, given in first.page.tags if given.get("rel") == "next")
    text = visitor.look(older).text
    assert "21 to 22 of 23 kept; 1 archived or superseded not listed" in text
    assert f"#{ids[1]} Tea 1" in text
    assert "1 to 20 of 24 kept" in visitor.look("/ui/").text
    assert visitor.look("/ui/?scope=nonsense").status == 400


def test_row_129_people_and_projects_are_entities_by_kind_with_the_archived_apart(
    app: Engram, visitor: Visitor
) -> None:
    app.facts.add("alice", "Alice works at Acme since May", kind="person")
    app.facts.add("apollo", "Apollo ships in March to every customer", kind="project")
    app.facts.add("gemini", "Gemini was stopped after the first trial", kind="project")
    app.entities.archive("gemini")

    people, projects = (visitor.look(f"/memory/{name}").text for name in ("people", "projects"))
    assert ("Alice" in people, "Apollo" in people) == (True, False)
    active, archived = projects.split("Archived")
    assert ("Apollo" in active, "Gemini" in active, "Gemini" in archived) == (True, False, True)
    assert "fact 3" in visitor.look("/memory").text  # the overview counts by type


def test_row_129_the_memory_of_aurelius_is_read_by_paths(app: Engram) -> None:
    app.facts.add("alice", "Alice works at Acme since May", kind="person", category="milestone")
    app.notes.add("Met Alice at the conference")
    ask = asker(app)

    overview = ask.ok("GET", "/api/memory")
    assert [one["slug"] for one in overview["entities"]] == ["alice"]
    assert (overview["counts"], len(overview["notes"])) == ({"person": 1, "notes": 1}, 1)
    folder = ask.ok("GET", "/api/memory/life/areas/people/alice")
    assert (folder["kind"], folder["entries"]) == ("directory", ["items.json", "summary.md"])
    [fact] = ask.ok("GET", "/api/memory/life/areas/people/alice/items.json")["content"]
    assert (fact["fact"], fact["category"]) == ("Alice works at Acme since May", "milestone")
    assert ask("GET", "/api/memory/life/areas/people/bob").status == 404


def test_row_58_the_page_of_upkeep_edits_what_holds_always(app: Engram, visitor: Visitor) -> None:
    save(app, "Something", "A project to keep it in.")
    seen = visitor.press(visitor.look("/ui/upkeep"), "Add", text="Always reply in English")
    assert "Saved" in seen.text
    [statement] = app.identity.listed().items
    assert (statement.text, statement.origin) == ("Always reply in English", "user")
    visitor.press(seen, "Remove")
    assert app.identity.listed().items == ()


def test_row_111_the_page_of_upkeep_runs_passes_and_shows_weight_use_and_figures(app: Engram, visitor: Visitor) -> None:
    app.facts.add("alice", "Alice works at Acme since May")
    app.save(Draft("Session", "Moved the parser.", "session_summary"))
    app.search("alice acme")
    seen = visitor.look("/ui/upkeep")
    for button in ("Archive unused derived memories now", "Write entity summaries now", "Summarize waiting sessions"):
        seen = visitor.press(seen, button)
    assert {"consolidate", "synthesize"} <= {run.name for run in app.upkeep_reports.runs().runs}
    text = visitor.look("/ui/upkeep").text
    for said in ("Alice works at Acme", "0.50", "Session", "consolidate", "100%", "KB"):
        assert said in text


def test_row_129_the_search_of_aurelius_answers_a_list(app: Engram) -> None:
    save(app, "Ledger in Oslo", "The ledger moved to Oslo.")
    ask = asker(app)
    assert ask.ok("GET", "/api/memory/search?q=") == []
    assert [hit["title"] for hit in ask.ok("GET", "/api/memory/search?q=ledger")] == ["Ledger in Oslo"]


__all__ = ["clock", "git", "here", "make_repo", "open_memory", "root"]


@pytest.fixture
def reader(here: Engram, folder: Path) -> Visitor:
    """A browser of the server that runs in another folder than the repository."""
    made = Visitor(Asker(build_application(here.for_caller(folder), port=PORT)), f"http://{HOST}")
    made.look(f"/ui/enter?token={Access(here.settings.data_dir).link_token()}")
    return made


def saved(app: Engram, root: Path, *files: str) -> int:
    app.sessions.start("s1", project="widgets", directory=str(root))
    return app.save(Draft("A race", "Lock first.", files=files), session_id="s1").id


def test_a_changed_file_is_shown_with_what_changed_since(here: Engram, reader: Visitor, root: Path) -> None:
    row = saved(here, root, AUTH, "src/login.py")
    (root / AUTH).write_text("\n".join(["first = 1", *lines("auth")[1:]]) + "\n", encoding="utf-8")
    text = reader.look(f"/ui/memory/{row}").text
    assert f"{AUTH} changed, not committed yet" in text
    assert f"- {lines('auth')[0]}" in text
    assert "+ first = 1" in text
    assert "src/login.py unchanged" in text


def test_of_a_memory_about_some_lines_only_their_changes_are_shown(here: Engram, reader: Visitor, root: Path) -> None:
    row = saved(here, root, f"{AUTH}:30-32")
    text = [*lines("auth")]
    text[0], text[30] = "far = 1", "near = 1"
    (root / AUTH).write_text("\n".join(text) + "\n", encoding="utf-8")
    shown = reader.look(f"/ui/memory/{row}").text
    assert "+ near = 1" in shown
    assert "far = 1" not in shown


def test_a_repository_that_is_not_on_this_disk_is_said_to_be_missing(here: Engram, reader: Visitor, root: Path) -> None:
    row = saved(here, root, AUTH)
    shutil.rmtree(root)
    text = reader.look(f"/ui/memory/{row}").text
    assert "unknown" in text
    assert f"The folder that it was saved in is not on this disk: {root}" in text


def test_a_hostile_file_is_text(here: Engram, reader: Visitor, root: Path, git: object) -> None:
    repo = Repo(root, git)  # type: ignore[arg-type]
    repo.commit("evil", {"evil.html": ["<script>alert(1)</script>", "a"]})
    row = saved(here, root, "evil.html")
    repo.write("evil.html", ["<img src=x onerror=alert(2)>", "a\u202eb"])
    seen = reader.look(f"/ui/memory/{row}")
    assert "- <script>alert(1)</script>" in seen.text
    assert "a⟦RLO⟧b" in seen.text
    assert "img" not in [tag for tag, _ in seen.page.tags]
    assert all(one["src"].startswith("/ui/static/") for tag, one in seen.page.tags if tag == "script")


def test_a_diff_of_a_long_file_shows_its_changes_alone() -> None:
    long = [f"line {number}" for number in range(20_000)]
    other = [*long[:9_999], "new", *long[10_000:]]
    shown = [line.text for line in diff("\n".join(long), "\n".join(other))]
    assert shown == ["line 9997", "line 9998", "line 9999", "new", "line 10000", "line 10001"]
    assert [line.kind for line in diff("", "a\nb")] == ["new", "new"]
    assert diff("a\r\nb", "a\nb\n") == ()


@pytest.mark.parametrize(("span", "shown"), [((1, 1), False), ((2, 2), True), ((3, 3), False), ((1, 3), True)])
def test_a_span_is_counted_in_the_earlier_text(span: tuple[int, int], shown: bool) -> None:
    assert bool(diff("a\nb\nc", "a\nB\nc", span=span)) == shown
    assert bool(diff("a\nb\nc\nd", "a\nb\nnew\nc\nd", span=(1, 2))) is False
    assert bool(diff("a\nb\nc\nd", "a\nb\nnew\nc\nd", span=(2, 3))) is True
