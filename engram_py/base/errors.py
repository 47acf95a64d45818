"""The root of the error tree: the families that a caller catches, and the refusals that every room shares.

A failure that one place raises is its family with a ``code``, worded there. One that several places raise, or that
somebody catches, is a class in the ``errors.py`` of its room: it takes the facts and words the message itself. Its code
is its name in small letters (``empty_field``) where it says no other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from engram_py.base.reasons import Sentence


class EngramError(Exception):
    """The root: a failure with a message that states the fact, and a hint that names the next step.

    ``told`` and ``next_step`` are the message and the hint with the operations and reasons that they name as values:
    an interface spells them its own way. ``code`` is stable and for programs; ``facts`` are what ``details`` adds.
    """

    code = "engram_error"
    exit_code = 1  # of the command that ends with it

    def __init_subclass__(cls) -> None:
        if "code" not in vars(cls):
            words = "".join(f"_{char.lower()}" if char.isupper() else char for char in cls.__name__)
            cls.code = words.removeprefix("_").removesuffix("_error")

    def __init__(
        self, message: str | Sentence, *, hint: str | Sentence, code: str = "", facts: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__(str(message))
        self.code = code or self.code
        self.facts = dict(facts or {})
        self.message = str(message)
        self.told, self.next_step = message, hint

    @property
    def hint(self) -> str:
        """The next step, with operations as Python calls them."""
        return str(self.next_step)

    def details(self) -> dict[str, Any]:
        """Return the failure as JSON-ready facts: ``error_code``, ``message``, ``hint``, and its own."""
        return {"error_code": self.code, "message": self.message, "hint": self.hint} | self.facts


class InvalidInputError(EngramError):
    """What a caller gave cannot be taken."""


class NotFoundError(EngramError):
    """There is no such thing here."""


class ConflictError(EngramError):
    """It contradicts what is here."""


class StoreError(EngramError):
    code = "store_error"


class TransferError(EngramError):
    code = "transfer_error"


class EmbedderError(EngramError):
    code = "embedder_error"


class ServeError(EngramError):
    code = "serve_error"


class TerminalError(EngramError):
    code = "terminal_error"


class SyncError(EngramError):
    code = "sync_error"


class SetupError(EngramError):
    code = "setup_error"


class CloudError(EngramError):
    code = "cloud_error"


class ResponseError(EngramError):
    """A failure that is the response to an HTTP request, with its status and headers."""

    status = 400
    headers: Mapping[str, str] = {}

    def __init__(
        self,
        message: str,
        *,
        hint: str,
        code: str = "",
        facts: Mapping[str, Any] | None = None,
        status: int | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message, hint=hint, code=code, facts=facts)
        self.status = status or self.status
        self.headers = headers or self.headers


class EmptyFieldError(InvalidInputError):
    def __init__(self, field: str) -> None:
        self.field = field
        hint = f"give {field} at least one visible character; nothing was saved"
        super().__init__(f"{field} is empty", hint=hint, facts={"field": field})


class TextTooLongError(InvalidInputError):
    def __init__(self, field: str, size: int, limit: int) -> None:
        self.field, self.size, self.limit = field, size, limit
        super().__init__(
            f"{field} has {size:,} characters, the limit is {limit:,}",
            hint=f"shorten {field}; longer text belongs in content",
            facts={"field": field, "size": size, "limit": limit},
        )


class InvalidTextError(InvalidInputError):
    def __init__(self, field: str, what: str) -> None:
        self.field, self.what = field, what
        super().__init__(
            f"{field} contains {what}, which is not text", hint=f"remove it from {field} and send the call again"
        )


class InvalidArgumentError(InvalidInputError):
    """One argument is invalid. Of arguments that do not go together ``said`` is the message, ``step`` the hint."""

    def __init__(
        self, argument: str, value: object = None, *, expected: str = "", said: str = "", step: str = ""
    ) -> None:
        self.argument, self.value, self.expected = argument, value, expected
        shown = repr(value)
        shown = shown if len(shown) <= 80 else shown[:77] + "..."
        told = f"{argument} is {'missing' if value is None else shown}"
        super().__init__(said or told, hint=step or f"{argument} must be {expected}", facts={"argument": argument})


class EmptyQueryError(InvalidInputError):
    def __init__(self, text: str) -> None:
        self.text = text[:80]
        super().__init__(f"nothing to search for in {self.text!r}", hint="give at least one word, number, #id or type")


class NotConfirmedError(InvalidInputError):
    def __init__(self, what: str, *, answered: bool = False) -> None:
        self.what = what
        told = "cancelled; nothing was changed" if answered else f"nothing was changed; nobody confirmed this: {what}"
        super().__init__(told, hint="run it again with --yes to skip the question")


class InvalidTopicKeyError(InvalidInputError):
    def __init__(self, topic_key: str) -> None:
        self.topic_key = topic_key[:80]
        super().__init__(
            f"topic_key {self.topic_key!r} has no letter or digit",
            hint="use family/name, for example decision/auth-tokens, or leave it out",
        )


class OperationExpiredError(NotFoundError):
    def __init__(self) -> None:
        super().__init__(
            "the memory that this operation_id saved is deleted",
            hint="use a new operation_id to save it again; nothing was written",
        )
