"""Refusals of the page."""

from __future__ import annotations

from engram_py.errors import ServeError
from engram_py.interfaces.http.errors import HttpError


class NotEnteredError(HttpError):
    code = "not_entered"
    status = 401

    def __init__(self) -> None:
        super().__init__(
            "this browser was not let in, or not any more",
            hint="run `engram open`: it makes a link that works once, within ten minutes",
        )


class LinkUsedError(HttpError):
    code = "link_used"
    status = 401

    def __init__(self) -> None:
        super().__init__(
            "this link does not work any more: each works once, within ten minutes",
            hint="run `engram open` again. If nobody here used it, somebody else on this machine did: delete page.key "
            "in the data directory, which ends every visit",
        )


class ForeignFormError(HttpError):
    code = "foreign_form"
    status = 403

    def __init__(self) -> None:
        super().__init__("this form is not one of this page's own", hint="load the page again, and send its form")


class NoPageError(HttpError):
    code = "no_page"
    status = 404

    def __init__(self, path: str) -> None:
        super().__init__(f"no page is at {path[:200]}", hint="the links above lead to all there are")


class TooManyListenersError(HttpError):
    code = "too_many_listeners"
    status = 503

    def __init__(self, most: int) -> None:
        super().__init__(f"{most} pages are kept up to date already", hint="close some of them; a reload still works")


class PortTakenError(ServeError):
    code = "port_taken"

    def __init__(self, port: int, why: str) -> None:
        self.port = port
        super().__init__(f"port {port} {why}", hint="choose another: `engram open --port NUMBER`")


class NotStartedError(ServeError):
    code = "not_started"

    def __init__(self, port: int, seconds: float) -> None:
        self.port = port
        super().__init__(
            f"no server answered on port {port} within {seconds:.0f} seconds",
            hint=f"`engram serve {port}` in a terminal says why",
        )
