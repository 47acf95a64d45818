"""The sentence of each reason that a room gives as a value."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from pathlib import Path
from string import Formatter

import pytest

import engram_py
from engram_py.base.reasons import reason
from engram_py.interfaces.wording.phrases import amount, counted_as
from engram_py.interfaces.wording.reasons import WORDS, spelled

PACKAGE = Path(engram_py.__file__).parent
DAY = {"start": "2026-03-04", "last": "2026-03-04", "open": False}
DAYS = {"start": "2026-03-04", "last": "2026-03-06", "open": False}
BEFORE = {"start": "0001-01-01", "last": "2026-03-04", "open": True}


WORDED = [
    (reason("gone", ids=(7,)), "there is no memory #7, or it was deleted"),
    (reason("gone", ids=(7, 8)), "there is no memory #7, #8, or they were deleted"),
    (reason("gone", ids=tuple(range(9))),
     "there is no memory #0, #1, #2, #3, #4, #5, #6, #7, …, or they were deleted"),
    (reason("no_change", **DAY), "no memory changed on 2026-03-04"),
    (reason("no_change", **DAYS), "no memory changed from 2026-03-04 to 2026-03-06"),
    (reason("no_change", **BEFORE), "no memory changed until 2026-03-04"),
    (reason("nothing_passes", without_words=False), "no memory matches the filters"),
    (reason("nothing_passes", without_words=True), "no memory without the excluded words matches the filters"),
    (reason("no_word"), "the query has no words"),
    (reason("no_content_word"), "the query has only common words"),
    (reason("filtered"), "the filters exclude every memory with these words"),
    (reason("not_stale"), "the memories with these words are not stale"),
    (reason("not_as_marked", quotes=True, minus=False), "no memory has the quoted phrase"),
    (reason("not_as_marked", quotes=False, minus=True), "no memory without the excluded words matches"),
    (reason("not_as_marked", quotes=True, minus=True),
     "no memory has the quoted phrase without the excluded words"),
    (reason("only_elsewhere"), "no memory here has these words"),
    (reason("unknown_words"), "no memory here has these words"),
    (reason("words_alone"), "only words were compared; `engram vectors on` also finds the same said in other words"),
    (reason("unknown_filter", key="note"),
     "note: is not a filter (type, topic, project, scope, file, branch, since, until, is, collection); "
     "it was searched as a word"),
    (reason("unknown_state", value="bogus"),
     "is:bogus is not one of pinned, stale, superseded, archived; it was searched as a word"),
    (reason("unread_filter", key="until"), "until: is not a filter at this place; it was searched as a word"),
    (reason("unknown_scope", filter="scope", value="team"),
     "scope:team is not one of project, personal, global; it was ignored"),
    (reason("no_date", filter="since", value="soon"),
     "since:soon is not a date such as 2026-03-14, 2026-03 or 7d; it was ignored"),
    (reason("no_project", problem="it is a path"), "project: it is a path; the filter was ignored"),
    (reason("one_project", project="gadgets"), "a search takes one project: gadgets was searched"),
    (reason("pasted_marks", limit=30),
     "above 30 words, quotes and -words are plain words; filters count only at the beginning"),
    (reason("shortened", characters=8_000, words=False),
     "the query is long: only its first 8,000 characters were read"),
    (reason("shortened", characters=0, words=True), "the query is long: only its rarest words were used"),
    (reason("shortened", characters=8_000, words=True),
     "the query is long: only its first 8,000 characters were read, and only its rarest words were used"),
    (reason("left_out", words=("pool", "redis")), "excluded: memories with pool, redis"),
    (reason("idle_arguments", arguments=("scope", "type:bugfix"), layer="turns"),
     "scope, type:bugfix do not apply to turns and were ignored"),
    (reason("idle_filters", words=("type:bugfix", "is:pinned")),
     "an id names one memory, so these filters were ignored: type:bugfix, is:pinned"),
    (reason("filters_alone", query="{the}"),
     '"{the}" has no search words; only the filters were used'),
    (reason("unquoted"),
     "no memory has the quoted phrase; its words were searched without the quotes"),
    (reason("many_named", named=30, limit=10), "30 memories were named; the first 10 are shown"),
    (reason("replaced", old=3, new=9),
     "#3 has these words; the filters exclude [#9], which replaced it. is:superseded shows #3"),
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
    (reason("one_id"), "the query is an id"),
    (reason("ids"), "the query is a list of ids"),
    (reason("topic_key"), "the query is a topic key"),
    (reason("topic_key_first"), "topic key first, then words"),
    (reason("no_telling_word"), "the query has only common words"),
    (reason("latest_first"), "no word to rank by: latest change first"),
    (reason("no_known_word"), "no memory has a word of the query"),
    (reason("in_one_passage"), "every word in one passage"),
    (reason("too_common", words=("week", "day")), "too common to search: week, day"),
    (reason("all_looked_up"), "every known word was searched"),
    (reason("nothing_alike"), "no word is similar to the unknown words"),
    (reason("read", joined=("hardfault",), forms=(("timezone", ("time zone", "zone")),)),
     "read hardfault as one word, timezone as time zone or zone"),
    (reason("weighed", weight=1.2), "weight 1.20 in the score"),
    (reason("weighted_sum", vectors=0.7, words=0.3), "weight 0.7 for vectors, 0.3 for words"),
    (reason("near", forms=("token", "tokens")), "similar: token, tokens"),
    (reason("unknown"), "unknown"),
    (reason("looked_up"), "searched"),
    (reason("only_ranks"), "too common to search; used for ranking only"),
    (reason("not_in_repository"), "not in the repository of its project"),
    (reason("saved_outside"), "saved outside its repository"),
    (reason("not_read"), "the file was not read at the save"),
    (reason("not_in_history"), "not in the history of this HEAD"),
    (reason("only_on_branch", branch="topic"), "only on branch topic"),
    (reason("unreadable", problem="a directory"), "a directory"),
    (reason("unreadable_then", problem="a directory"), "a directory when it was saved"),
    (reason("clamped", name="limit", value=99, low=1, high=50, used=50),
     "limit 99 is outside 1..50; used 50"),
    (reason("not_stored", count=2), "redacted 2 secret or private parts; they were not stored"),
    (reason("unknown_entity", entity="acme"),
     'nothing else is known of "acme" yet: it is listed once it is mentioned more'),
    (reason("strange_roles", count=1_002, roles=("tool", "Narrator")),
     "left out 1,002 turns of role 'tool', 'Narrator'; only user and assistant are kept"),
    (reason("messages_cut", count=1, limit=50_000), "cut 1 message to 50,000 characters"),
    (reason("no_query_in_mode", mode="session"),
     "mode session takes no query; mode query or cascade does"),
    (reason("gate_without_model"),
     "gate llm works as heuristic; `engram config set gate heuristic` ends this note"),
    (reason("documents_busy"), "another process updates documents at this moment"),
    (reason("no_repository_now", folder="/a"), '/a is no longer a repository; its indexed commits are kept'),
    (reason("documents_gone", folder="/a"), '/a does not exist; its indexed documents are kept'),
    (reason("redacted", count=2), "redacted 2 secret or private parts"),
    (reason("cut", original_bytes=90_000, stored_bytes=49_999, limit_bytes=50_000),
     "content cut: kept 49,999 of 90,000 bytes (limit 50,000)"),
    (reason("path_of_machine", path="/home/ada/auth.py"),
     "the text names a path of this machine (/home/ada/auth.py); use a path relative to the repository"),
    (reason("kept_as_type", type="decison", usual="decision"),
     "saved with type decison; did you mean decision?"),
    (reason("current_again", id=9, title="Redis"),
     'it is current again; [#9] "Redis" had replaced it'),
    (reason("recording_off", project="widgets", enabled=True),
     "recording is off in widgets; this memory was saved anyway, as it was asked for "
     "(`engram on --record` turns it on)"),
    (reason("recording_off", project="widgets", enabled=False),
     "engram is off in widgets; this memory was saved anyway, as it was asked for (`engram on` turns it on)"),
    (reason("not_anchored", files=(reason("blank_name"), reason("outside_directory", file="../x.py")), more=2),
     "not linked to: a blank name, ../x.py (outside the working directory) and 2 more"),
    (reason("kept_by_name", files=(reason("no_repository", file="a.py"),), more=0),
     "linked by path only, their text was not read: a.py (no repository here)"),
    (reason("taken_otherwise", files=(reason("lines_kept", file="a.py:9-1", start=1, end=9, cut=False),), more=0),
     "linked differently: a.py:9-1 (lines 1-9)"),
    (reason("lines_kept", file="a.py:0", start=None, end=None, cut=False), "a.py:0 (the whole file)"),
    (reason("lines_kept", file="a.py:9-12", start=9, end=9, cut=True), "a.py:9-12 (line 9, the file ends there)"),
    (reason("too_many_files", file="a.py", limit=32), "a.py (more than 32 files)"),
    (reason("fewer_lines", file="a.py:7", lines=1), "a.py:7 (the whole file, it has 1 line)"),
    (reason("binary_lines", file="logo.png"), "logo.png (a binary file, linked as a whole)"),
    (reason("file_unread", file="a.py", problem="no such file"), "a.py (no such file)"),
    (reason("other_repository", project="gadgets"),
     "files were linked by path only: this is not the repository of gadgets"),
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
    (reason("folder_gone", folder="/a/b", used="/a"), "/a/b does not exist; /a is used instead"),
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
     "record 'perhaps' was ignored: it must be on or off"),
    (reason("setting_moved", setting="port 9999999", value=4_000, accepted="a whole number from 100 to 4,000"),
     "port 9999999 must be a whole number from 100 to 4,000; 4,000 is used"),
    (reason("not_of_this_file", setting="config.json: port", variable="ENGRAM_PORT"),
     "config.json: port was ignored: only ENGRAM_PORT sets it"),
    (reason("not_of_this_file", setting="config.json: colour", variable=""),
     "config.json: colour was ignored: it is not a setting of this file"),
    (reason("no_setting", setting="colour"), "colour was ignored: it is not a setting"),
    (reason("not_by_clone", setting="model"),
     "model was ignored: a file that can arrive with a clone cannot set it; use ENGRAM_* variables"),
    (reason("scope_of_clone", setting="default_scope"),
     "default_scope was ignored: a file that can arrive with a clone cannot set it to global"),
    (reason("no_project_name", setting="project", problem="it is blank"),
     "project was ignored: it is not a project name: it is blank"),
    (reason("alias_ignored", alias="project_name", setting="project"),
     "project_name is ignored, because project is given too"),
    (reason("more_in_file", file=".engram.json", count=3), ".engram.json: 3 more notes"),
    (reason("file_ignored", file="config.json", problem="permission denied"),
     "config.json was ignored: permission denied"),
    (reason("file_no_json", file="f"), "f is not JSON and was ignored"),
    (reason("file_no_object", file="f"), "f is not a JSON object and was ignored"),
    (reason("file_no_text", file="f"), "f is not UTF-8 text and was ignored"),
    (reason("link_that_leaves", file="f", folder="/a"), "f is a link that leaves /a and was ignored"),
    (reason("no_vectors", problem="no model", hint="run `engram vectors on`"),
     "the search used no vectors: no model; run `engram vectors on`"),
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
