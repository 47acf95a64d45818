"""Responses to requests whose body was not read to its end, for both servers."""

from __future__ import annotations

import anyio
from starlette.types import Message, Receive, Send

# How long a body that is too large is taken, and forgotten, after the refusal.
LINGER_SECONDS = 2.0


def lingering(receive: Receive, send: Send) -> Send:
    """Return a ``send`` that ends the response only after the rest of the request was read, or LINGER_SECONDS.

    A client that is cut off while it sends does not read the response.
    """

    async def answer(message: Message) -> None:
        if message["type"] != "http.response.body":
            await send(message)
            return
        await send({**message, "more_body": True})
        with anyio.move_on_after(LINGER_SECONDS):
            while (piece := await receive())["type"] == "http.request" and piece.get("more_body"):
                pass
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    return answer


class Taken:
    """A ``receive`` that records whether the request was read to its end (``whole``)."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self.whole = False

    async def __call__(self) -> Message:
        message = await self._receive()
        self.whole = message["type"] != "http.request" or not message.get("more_body")
        return message
