"""A browser without a screen: keeps the cookie, follows redirects, reads a page's forms and sends them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from html.parser import HTMLParser
from urllib.parse import urlencode

from tests.interfaces.http.asking import Reply

Ask = Callable[[str, str, object, Mapping[str, str]], Reply]
# A browser may drop or close these, so they are never waited for.
_VOID = frozenset({"meta", "link", "input", "br", "hr", "option"})


@dataclass
class Form:
    action: str
    fields: dict[str, str] = field(default_factory=dict)
    buttons: list[str] = field(default_factory=list)


class Document(HTMLParser):
    """What a page holds: its tags, its visible text, its links, its forms."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.forms: list[Form] = []
        self.text = ""
        self.codes: list[str] = []
        self._open: list[str] = []
        self._area = ""
        self._select = ""
        self.feed(html)
        self.close()
        assert not self._open, f"left open: {self._open}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.tags.append((tag, given))
        if tag not in _VOID:
            self._open.append(tag)
        match tag:
            case "form":
                self.forms.append(Form(given["action"]))
            case "input" if self.forms and "form" in self._open and given.get("type") not in ("checkbox",):
                self.forms[-1].fields[given["name"]] = given.get("value", "")
            case "textarea":
                self._area = given["name"]
                self.forms[-1].fields[self._area] = ""
            case "select":
                self._select = given["name"]
            case "option" if self._select and ("selected" in given or self._select not in self.forms[-1].fields):
                self.forms[-1].fields[self._select] = given.get("value", "\0")
            case "button":
                self.forms[-1].buttons.append("")
            case "code":
                self.codes.append("")
            case "td" | "th" | "br" | "dd" | "li" | "p":
                self.text += " "
            case _:
                pass

    def handle_endtag(self, tag: str) -> None:
        if tag in _VOID:
            return
        assert self._open, f"</{tag}> closes nothing"
        assert self._open.pop() == tag, tag
        if tag == "textarea":
            # A browser drops one line end at the beginning, and sends every other as CR LF.
            text = self.forms[-1].fields[self._area].removeprefix("\n")
            self.forms[-1].fields[self._area] = text.replace("\r\n", "\n").replace("\n", "\r\n")
            self._area = ""
        if tag == "select":
            self._select = ""

    def handle_data(self, data: str) -> None:
        self.text += data
        if self._area:
            self.forms[-1].fields[self._area] += data
        if self._select and self.forms[-1].fields.get(self._select) == "\0":
            self.forms[-1].fields[self._select] = data
        if "button" in self._open:
            self.forms[-1].buttons[-1] += data
        if "code" in self._open:
            self.codes[-1] += data

    def form(self, button: str) -> Form:
        """The form that has this button."""
        found = [one for one in self.forms if button in one.buttons]
        assert len(found) == 1, f"{len(found)} forms have the button {button!r}: {[one.buttons for one in self.forms]}"
        return found[0]


@dataclass
class Seen:
    """A page that was loaded: where the browser ended, and what it shows."""

    path: str
    reply: Reply
    page: Document

    @property
    def status(self) -> int:
        return self.reply.status

    @property
    def text(self) -> str:
        return " ".join(self.page.text.split())


class Visitor:
    """One browser. ``ask`` sends a request to the server, ``origin`` is where it sees the page."""

    def __init__(self, ask: Ask, origin: str) -> None:
        self._ask = ask
        self.origin = origin
        self.cookie = ""

    def raw(
        self, method: str, path: str, fields: Mapping[str, str] | None = None, headers: Mapping[str, str] | None = None
    ) -> Reply:
        given = {"cookie": self.cookie} if self.cookie else {}
        body = None
        if method == "POST":
            given |= {"origin": self.origin, "content-type": "application/x-www-form-urlencoded"}
            body = urlencode(fields or {}).encode()
        return self._ask(method, path, body, given | dict(headers or {}))

    def look(self, path: str) -> Seen:
        return self._follow(path, self.raw("GET", path))

    def send(self, form: Form, **changed: str) -> Seen:
        return self._follow(form.action, self.raw("POST", form.action, form.fields | changed))

    def press(self, seen: Seen, button: str, **changed: str) -> Seen:
        return self.send(seen.page.form(button), **changed)

    def _follow(self, path: str, reply: Reply) -> Seen:
        if "set-cookie" in reply.headers:
            self.cookie = reply.headers["set-cookie"].partition(";")[0]
        if reply.status == 303:
            return self.look(reply.headers["location"])
        if "refresh" in reply.headers:
            return self.look(reply.headers["refresh"].partition("url=")[2])
        return Seen(path, reply, Document(reply.body.decode()))
