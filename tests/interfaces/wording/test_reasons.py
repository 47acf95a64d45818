"""The sentence of each reason that a room gives as a value."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from pathlib import Path
from string import Formatter

import pytest

import engram_py
from engram_py.interfaces.wording.phrases import amount, counted_as
from engram_py.interfaces.wording.reasons import WORDS, spelled
from engram_py.reasons import reason

PACKAGE = Path(engram_py.__file__).parent
DAY = {"start": "2026-03-04", "last": "2026-03-04", "open": False}
DAYS = {"start": "2026-03-04", "last": "2026-03-06", "open": False}
BEFORE = {"start": "0001-01-01", "last": "2026-03-04", "open": True}


WORDED = [
    (reason("gone", ids=(7,)), "there is no memory #7, or it was deleted"),
    (reason("gone", ids=(7, 8)), "there is no memory #7, #8, or they were deleted"),
    (reason("gone", ids=tuple(range(9))),
     "there is no memory #0, #1, #2, #3, #4, #5, #6, #7, …, or they were deleted"),
    (reason("no_change", **DAY), "nothing changed here on 2026-03-04"),
    (reason("no_change", **DAYS), "nothing changed here from 2026-03-04 to 2026-03-06"),
    (reason("no_change", **BEFORE), "nothing changed here until 2026-03-04"),
    (reason("nothing_passes", without_words=False), "nothing passes the filters"),
    (reason("nothing_passes", without_words=True), "nothing passes the filters without the words left out"),
    (reason("no_word"), "there is no word in it to search for"),
    (reason("no_content_word"), "no word of it says what to look for, so nothing was looked up"),
    (reason("filtered"), "what has these words was filtered away"),
    (reason("not_stale"), "the memories with these words are not stale"),
    (reason("not_sure"), "nothing is sure to answer it"),
    (reason("not_as_marked", quotes=True, minus=False), "no memory here has these words with the quotes of the query"),
    (reason("not_as_marked", quotes=False, minus=True), "no memory here has these words with the minus of the query"),
    (reason("not_as_marked", quotes=True, minus=True),
     "no memory here has these words with the quotes and the minus of the query"),
    (reason("only_elsewhere"), "no memory seen from here has any of its words"),
    (reason("unknown_words"), "no memory here has any of its words"),
    (reason("unknown_filter", key="note"),
     "note: is not a filter (type, topic, project, scope, file, branch, since, until, is, collection); "
     "it was searched as a word"),
    (reason("unknown_state", value="bogus"),
     "is:bogus is not one of pinned, stale, superseded, archived; it was searched as a word"),
    (reason("unread_filter", key="until"), "until: was not read as a filter here; it was searched as a word"),
    (reason("unknown_scope", filter="scope", value="team"),
     "scope:team is not one of project, personal, global; it was left out"),
    (reason("no_date", filter="since", value="soon"),
     "since:soon is not a date such as 2026-03-14, 2026-03 or 7d; it was left out"),
    (reason("no_project", problem="it is a path"), "project: it is a path; the filter was left out"),
    (reason("one_project", project="gadgets"), "one project at a time: searched gadgets"),
    (reason("pasted_marks", limit=30),
     "in a text of more than 30 words, quotes, -words and filters behind its beginning are words"),
    (reason("shortened", characters=8_000, words=False),
     "the query was long; its first 8,000 characters were read"),
    (reason("shortened", characters=0, words=True), "the query was long; its most telling words were used"),
    (reason("shortened", characters=8_000, words=True),
     "the query was long; its first 8,000 characters were read, and its most telling words were used"),
    (reason("left_out", words=("pool", "redis")), "left out: what has pool, redis"),
    (reason("idle_arguments", arguments=("scope", "type:bugfix"), layer="turns"),
     "scope, type:bugfix: says nothing of turns; left out"),
    (reason("idle_filters", words=("type:bugfix", "is:pinned")),
     "an id names one memory, so these filters were ignored: type:bugfix, is:pinned"),
    (reason("filters_alone", query="{the}"),
     '"{the}" does not say what to look for; the filters alone were asked'),
    (reason("unquoted"),
     "nothing here has what is quoted word for word; its words were looked up without the quotes"),
    (reason("many_named", named=30, limit=10), "30 memories were named; the first 10 were looked up"),
    (reason("replaced", old=3, new=9),
     "#3 has these words, but [#9] replaced it, which the filters leave out; is:superseded shows it"),
    (reason("read_as", word="pgbuoncer", forms=("pgbouncer", "bouncer")),
     "no memory contains pgbuoncer; the search used pgbouncer or bouncer instead"),
    (reason("known_elsewhere", words=("terraform", "apply")),
     "only other projects know terraform, apply; all_projects=true searches them"),
    (reason("dated", words="yesterday", **DAY, unchanged=False), "yesterday: 2026-03-04"),
    (reason("dated", words="these days", **DAYS, unchanged=False), "these days: 2026-03-04 to 2026-03-06"),
    (reason("dated", words="before 5 March", **BEFORE, unchanged=True),
     "before 5 March: until 2026-03-04, when nothing changed"),
    (reason("unusual_type", type="bug", usual="bugfix"),
     "type:bug is not one of the usual types; did you mean type:bugfix?"),
    (reason("one_id"), "an id names one observation"),
    (reason("ids"), "ids name observations"),
    (reason("topic_key"), "a topic key"),
    (reason("topic_key_first"), "a topic key; words follow"),
    (reason("no_telling_word"), "none says what to look for"),
    (reason("latest_first"), "no word to rank by: latest change first"),
    (reason("no_known_word"), "no word of the query is known here"),
    (reason("enough"), "enough"),
    (reason("too_few"), "fewer than asked for: any word follows"),
    (reason("too_common", words=("week", "day")), "too common to look up: week, day"),
    (reason("all_looked_up"), "every known word was looked up"),
    (reason("nothing_alike"), "nothing resembles the unknown words"),
    (reason("read", joined=("hardfault",), forms=(("timezone", ("time zone", "zone")),)),
     "read hardfault in one word, timezone as time zone or zone"),
    (reason("weighed", weight=1.2), "weighed at 1.20"),
    (reason("weighted_sum", vectors=0.7, words=0.3), "0.7 of vectors and 0.3 of words"),
    (reason("evidence", share=0.5, probability=0.1, least=0.5),
     "the best hit holds 50% of the weight of the words and answers with a probability of 10%; a search answers from "
     "50% on"),
    (reason("no_word_found"), "no word of the question was found"),
    (reason("near", forms=("token", "tokens")), "near: token, tokens"),
    (reason("unknown"), "unknown"),
    (reason("looked_up"), "looked up"),
    (reason("only_ranks"), "too common: only ranks"),
    (reason("not_in_repository"), "not in the repository of its project"),
    (reason("saved_outside"), "saved outside of its repository"),
    (reason("not_read"), "it was not read where it was saved"),
    (reason("not_in_history"), "not in the history of this HEAD"),
    (reason("only_on_branch", branch="topic"), "only on branch topic"),
    (reason("unreadable", problem="a directory"), "a directory"),
    (reason("unreadable_then", problem="a directory"), "a directory when it was saved"),
    (reason("clamped", name="limit", value=99, low=1, high=50, used=50),
     "limit 99 is outside 1..50; used 50"),
    (reason("not_stored", count=2), "redacted 2 secret or private parts; they were not stored"),
    (reason("unknown_entity", entity="acme"),
     'nothing else is known of "acme" yet: it is a candidate until it is mentioned more'),
    (reason("strange_roles", count=1_002, roles=("tool", "Narrator")),
     "left out 1,002 turns of role 'tool', 'Narrator'; only user and assistant are kept"),
    (reason("messages_cut", count=1, limit=50_000), "cut 1 message to 50,000 characters"),
    (reason("no_query_in_mode", mode="session"),
     "mode session takes no query; mode query or cascade does"),
    (reason("gate_without_model"),
     "gate llm works as heuristic, because no model is set; `engram config set gate heuristic` ends this note"),
    (reason("documents_busy"), "another process updates documents at this moment"),
    (reason("no_repository_now", folder="/a"), "/a is no repository now; its commits stay as they were"),
    (reason("documents_gone", folder="/a"), "/a is not there; its documents stay as they were"),
    (reason("redacted", count=2), "redacted 2 secret or private parts"),
    (reason("cut", original_bytes=90_000, stored_bytes=49_999, limit_bytes=50_000),
     "content cut: kept 49,999 of 90,000 bytes (limit 50,000)"),
    (reason("path_of_machine", path="/home/ada/auth.py"),
     "content names a path of this machine (/home/ada/auth.py); a path inside the repository travels better"),
    (reason("kept_as_type", type="decison", usual="decision"),
     "kept as type decison; decision is the usual one, if that was meant"),
    (reason("current_again", id=9, title="Redis"),
     'it is current again; [#9] "Redis" had replaced it'),
    (reason("recording_off", project="widgets", enabled=True),
     "recording is off in widgets (`engram on --record`); this save was explicit, so it was kept"),
    (reason("recording_off", project="widgets", enabled=False),
     "engram is off in widgets (`engram on`); this save was explicit, so it was kept"),
    (reason("not_anchored", files=(reason("blank_name"), reason("outside_directory", file="../x.py")), more=2),
     "not anchored: a blank name, ../x.py (outside the working directory) and 2 more"),
    (reason("kept_by_name", files=(reason("no_repository", file="a.py"),), more=0),
     "kept by name, their text was not read: a.py (no repository here)"),
    (reason("taken_otherwise", files=(reason("lines_kept", file="a.py:9-1", start=1, end=9, cut=False),), more=0),
     "taken otherwise: a.py:9-1 (lines 1-9)"),
    (reason("lines_kept", file="a.py:0", start=None, end=None, cut=False), "a.py:0 (the whole file)"),
    (reason("lines_kept", file="a.py:9-12", start=9, end=9, cut=True), "a.py:9-12 (line 9, it has no more)"),
    (reason("too_many_files", file="a.py", limit=32), "a.py (more than 32 files)"),
    (reason("fewer_lines", file="a.py:7", lines=1), "a.py:7 (the whole file, it has 1 line)"),
    (reason("binary_lines", file="logo.png"), "the lines of logo.png (a binary file, anchored as a whole)"),
    (reason("file_unread", file="a.py", problem="no such file"), "a.py (no such file)"),
    (reason("other_repository", project="gadgets"),
     "files were kept by name: this is not the repository of gadgets"),
    (reason("newest_checked", limit=2_000), "only the 2,000 newest observations with files were checked"),
    (reason("repository_not_here", project="gadgets"),
     "the repository of gadgets is not here; run this inside it"),
    (reason("no_project_here", nameless=False), "no project here"),
    (reason("no_project_here", nameless=True),
     "no project here (the home directory, / and folders for temporary files are never projects)"),
    (reason("several_repositories"), "several repositories here"),
    (reason("unconfirmed_name", file=".engram.json", project="shop"),
     ".engram.json names project shop, whose memories come from another folder; if it is the same project, the user "
     "runs `engram projects confirm` here; until then nothing is read or written"),
    (reason("no_memory_yet", project="widget", similar=()), 'project "widget" has no memory yet'),
    (reason("no_memory_yet", project="widget", similar=("widgets", "wicket")),
     'project "widget" has no memory yet (similar: widgets, wicket)'),
    (reason("name_normalized", given="A--b", name="a-b"), 'project name normalized: "A--b" → "a-b"'),
    (reason("created_project", project="widget", similar=()), 'created project "widget"'),
    (reason("created_project", project="widget", similar=("widgets",)),
     'created project "widget"; similar names exist: widgets (`engram projects merge` joins them)'),
    (reason("folder_gone", folder="/a/b", used="/a"), "/a/b is not there; /a is used instead"),
    (reason("no_directory", folder="/a"), "/a is not a directory"),
    (reason("one_repository", child="/a/b", folder="/a"),
     "/a/b is the one repository in /a, so its project is used"),
    (reason("too_many_children", folder="/a"), "/a has so many folders that not all could be read in time"),
    (reason("file_cannot_be_read", file="f", problem="permission denied"), "f cannot be read (permission denied)"),
    (reason("binding_no_json", file="f"), "f is damaged; delete it, and engram makes it again"),
    (reason("binding_of_other_version", file="f", version=1), "f is not of version 1; it was not changed"),
    (reason("binding_incomplete", file="f"),
     "f is damaged; delete it, and engram makes it again"),
    (reason("binding_without_project", file="f", problem="it is blank"), "f names no usable project: it is blank"),
    (reason("repository_unusable", file=".git", problem="not a regular file"),
     ".git cannot be used (not a regular file); the folder is used as the repository"),
    (reason("repository_elsewhere", file=".git", folder="/gone"),
     ".git points at /gone, which is not a git directory; run `git worktree repair`"),
    (reason("common_folder_gone", file="commondir"),
     "commondir names a directory that does not exist; run `git worktree repair`"),
    (reason("remote_unknown", file="config", problem="permission denied"),
     "config cannot be read (permission denied); its remote is unknown"),
    (reason("setting_ignored", setting="record 'perhaps'", accepted="on or off"),
     "record 'perhaps' was ignored: it is on or off"),
    (reason("setting_moved", setting="port 9999999", value=4_000, accepted="a whole number from 100 to 4,000"),
     "port 9999999 was taken as 4,000: it is a whole number from 100 to 4,000"),
    (reason("not_of_this_file", setting="config.json: port", variable="ENGRAM_PORT"),
     "config.json: port was ignored: ENGRAM_PORT alone sets it"),
    (reason("not_of_this_file", setting="config.json: colour", variable=""),
     "config.json: colour was ignored: it is not a setting of this file"),
    (reason("no_setting", setting="colour"), "colour was ignored: it is not a setting"),
    (reason("not_by_clone", setting="model"),
     "model was ignored: a file that can arrive with a clone cannot set it; use ENGRAM_* variables"),
    (reason("scope_of_clone", setting="default_scope"),
     "default_scope was ignored: a file that may come with a clone never writes into other projects"),
    (reason("no_project_name", setting="project", problem="it is blank"),
     "project was ignored: it is not a project name: it is blank"),
    (reason("alias_ignored", alias="project_name", setting="project"),
     "project_name is ignored, because project is given too"),
    (reason("more_in_file", file=".engram.json", count=3), ".engram.json: and 3 more"),
    (reason("file_ignored", file="config.json", problem="permission denied"),
     "config.json was ignored: permission denied"),
    (reason("file_no_json", file="f"), "f is not JSON and was ignored"),
    (reason("file_no_object", file="f"), "f is not a JSON object and was ignored"),
    (reason("file_no_text", file="f"), "f is not UTF-8 text and was ignored"),
    (reason("link_that_leaves", file="f", folder="/a"), "f is a link that leaves /a and was ignored"),
    (reason("no_vectors", problem="no model", hint="run `engram vectors on`"),
     "vectors were left out: no model; run `engram vectors on`"),
]  # fmt: skip


def test_a_reason_is_worded_with_its_facts() -> None:
    assert [spelled(value, "mcp") for value, _ in WORDED] == [words for _, words in WORDED]


def _given() -> Iterator[tuple[str, set[str] | None]]:
    """Yield each reason that the package gives: its name, and its facts where the call names them all."""
    for text in (path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py")):
        for call in ast.walk(ast.parse(text)) if "reason(" in text else ():
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "reason":
                facts = [one.arg for one in call.keywords]
                names = (
                    [one.value for one in ast.walk(call.args[0]) if isinstance(one, ast.Constant)] if call.args else []
                )
                for name in names:
                    if isinstance(name, str):
                        yield name, None if None in facts else {fact for fact in facts if fact}


def _taken(name: str) -> set[str]:
    words = WORDS[name]
    if isinstance(words, str):
        return {field for _, field, _, _ in Formatter().parse(words) if field}
    return set(inspect.signature(words).parameters)


def test_every_reason_that_a_room_gives_has_words_that_take_its_facts() -> None:
    given = list(_given())
    assert {name for name, _ in given} == WORDS.keys()
    assert [name for name, facts in given if facts is not None and facts != _taken(name)] == []


@pytest.mark.parametrize(
    ("thing", "several"),
    [("memory", "memories"), ("company", "companies"), ("person", "people"), ("day", "days"), ("time", "times")],
)
def test_a_number_of_things_is_said_as_one_says_it(thing: str, several: str) -> None:
    assert (amount(1, thing), amount(2, thing)) == (f"1 {thing}", f"2 {several}")
    assert (counted_as(1, "entities"), counted_as(2, "rows"), counted_as(1, "rows")) == ("1 entity", "2 rows", "1 row")
