"""What a memory says runs nothing, fetches nothing and turns nothing around, wherever it is shown."""

from __future__ import annotations

import pytest

from engram_py import Draft, Engram
from engram_py.interfaces.web.rendering import markdown
from tests.interfaces.web.visiting import Seen, Visitor

EVIL = """<script>alert('tea')</script><img src=x onerror=alert(1)> <svg onload=alert(1)>
</pre></textarea></section><iframe src="https://evil.example"></iframe>
[click](javascript:alert%281%29) [two](JaVaScRiPt:alert) [three](data:text/html,<script>) <javascript:alert(1)>
![picture](https://evil.example/tea.png) [ref][r] {{ 7777 * 7 }} {% raw %}

[r]: vbscript:x "title"
<!-- <style>*{display:none}</style>
"""
TITLE = "Tea\u202egnp.exe \u2066<b onmouseover=alert(1)>'\"`{{7777*7}} " + "x" * 900
_ALLOWED = """
html head meta title link body a header nav main h1 h2 h3 h4 h5 h6 p form label input select option datalist button
article span bdi time details summary dl dt dd div table thead tbody tr th td caption code section ul ol li pre textarea
del strong em br hr blockquote s script figure figcaption
"""


def check(seen: Seen) -> None:
    """Only our own tags and scripts; no attribute that runs; every address our own, or a plain link of the text."""
    for tag, attributes in seen.page.tags:
        assert tag in _ALLOWED.split(), tag
        assert not [name for name in attributes if name.startswith(("on", "hx-on")) or name == "style"], (
            tag,
            attributes,
        )
        for name in ("href", "action", "src"):
            address = attributes.get(name, "/ui/")
            if not address.startswith(("/ui/", "#main")):
                assert tag == "a"
                assert address.startswith(("https://", "http://", "mailto:"))
                assert "noopener" in attributes["rel"]
    for turning in "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\x1b":
        assert turning not in seen.page.text.replace(_typed(seen), "")
    headers = seen.reply.headers
    assert "default-src 'none'" in headers["content-security-policy"]
    assert "script-src 'self';" in headers["content-security-policy"]
    assert headers["cache-control"] == "no-store"
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "DENY"
    assert seen.reply.body.count(b"<script") == seen.reply.body.count(b'<script src="/ui/static/')
    assert "54439" not in seen.text  # a template in a memory is text, too


def _typed(seen: Seen) -> str:
    """What the fields hold: it is sent back, so it is there as it is."""
    return "\0".join(value for form in seen.page.forms for value in form.fields.values()) or "\0"


@pytest.fixture
def rows(app: Engram) -> list[int]:
    session = app.sessions.start("evil<script>'\"&", project="widgets").session.id
    first = app.save(Draft(TITLE, EVIL, "<i>type"), session_id=session).id
    second = app.save(Draft(TITLE[:300] + " again", EVIL + " other", "note"), session_id=session).id
    app.relations.compare(second, first, "supersedes", confidence=1.0, reasoning="<script>alert(1)</script>")
    app.prompts.save(EVIL, session_id=session)
    app.citations.inject(session, {first: 100}, "session")
    app.sessions.end(session, summary=EVIL)
    return [first, second]


def test_a_hostile_memory_is_text_on_every_page(app: Engram, visitor: Visitor, rows: list[int]) -> None:
    paths = [
        "/ui/", "/ui/?q=tea", "/ui/?q=%3Cscript%3Ealert(1)%3C/script%3E&project=widgets", "/ui/?q=tea&type=%3Ci%3Etype",
        "/ui/given", "/ui/session?id=evil%3Cscript%3E%27%22%26", "/ui/ask?prompt=%3Cscript%3Etea&project=widgets",
        "/ui/ask?project=widgets", "/ui/today", "/ui/review", "/ui/worth", "/ui/projects", "/ui/timeline",
        *(f"/ui/memory/{row}" for row in rows), *(f"/ui/memory/{row}/edit" for row in rows),
        "/ui/memory/1?done=%3Cscript%3E&undo=%22%3E%3Cscript%3E", "/ui/?project=%3Cscript%3E", "/ui/%3Cscript%3E",
    ]  # fmt: skip
    for path in paths:
        seen = visitor.look(path)
        assert seen.status in (200, 400, 404), path
        check(seen)
    check(visitor.press(visitor.look(f"/ui/memory/{rows[0]}"), "Delete"))


def test_the_edit_form_holds_a_hostile_text_letter_for_letter(app: Engram, visitor: Visitor, rows: list[int]) -> None:
    kept = app.get(rows[0]).observation
    form = visitor.look(f"/ui/memory/{rows[0]}/edit").page.form("Save")
    assert form.fields["title"] == kept.title
    assert form.fields["content"].replace("\r\n", "\n") == kept.content
    assert "Nothing was changed" in visitor.send(form).text


@pytest.mark.parametrize(
    ("text", "shown"),
    [("**bold** `code`", "<strong>bold</strong> <code>code</code>"), ("<b>x</b>", "&lt;b&gt;x&lt;/b&gt;"),
     ("[x](javascript:alert(1))", "[x](javascript:alert(1))"), ("[x](/export)", "[x](/export)"),
     ("[x](//evil.example)", "[x](//evil.example)"), ("[x](https:evil)", "[x](https:evil)"),
     ("a\u202eb", "a⟦RLO⟧b"), ("a\x1b[31mb", "a␛[31mb"), ("&lt;b&gt;", "&lt;b&gt;"),
     ("one\ntwo", "one<br>"), ("[x](file:///etc/passwd)", "[x](file:///etc/passwd)")],
)  # fmt: skip
def test_markdown_gives_structure_and_nothing_that_runs(text: str, shown: str) -> None:
    assert shown in markdown(text)


def test_deep_and_long_markdown_is_rendered_in_time() -> None:
    for text in ("> " * 20_000, "[" * 50_000, "*" * 50_000, "`" * 49_999, "- " * 20_000, "|a" * 20_000 + "\n|-|"):
        assert len(markdown(text)) < 3_000_000


def test_a_markdown_link_shows_where_it_goes() -> None:
    assert 'title="https://evil.example/"' in markdown("[https://good.example](https://evil.example/)")
