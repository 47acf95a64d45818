"""A model on loopback that plays a list of turns and remembers what it was asked: nobody's account is needed.

Speaks the Anthropic Messages format (``/v1/messages``), OpenAI's chat completions and responses, and Gemini's. A
request without tools is a side question of the client (a title, a summary): its short answer uses up no turn.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Json = dict[str, Any]


@dataclass(frozen=True)
class Call:
    """A turn in which the model calls the tool whose name ends in ``tool``."""

    tool: str
    arguments: Json


Turn = str | Call


@dataclass
class Model:
    """The turns still to be played, and every request for one so far.

    A client may ask before its servers are up: ``meanwhile`` is played until the tool of the next turn is there.
    """

    url: str = ""
    turns: list[Turn] = field(default_factory=list)
    requests: list[Json] = field(default_factory=list)
    others: list[str] = field(default_factory=list)
    meanwhile: Call | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def play(self, *turns: Turn) -> None:
        """Start over with these turns."""
        self.turns, self.requests = list(turns), []

    def next(self, request: Json) -> Turn:
        with self._lock:
            if not request.get("tools"):
                self.others.append("a request without tools")
                return "ok"
            self.requests.append(request)
            if self.meanwhile and len(self.requests) < 200 and not self._is_offered(request):
                return self.meanwhile
            return self.turns.pop(0) if self.turns else "Nothing more to say."

    def _is_offered(self, request: Json) -> bool:
        turn = self.turns[0] if self.turns else ""
        return isinstance(turn, str) or any(name.endswith(turn.tool) for name, _ in tools_of(request))


@contextmanager
def scripted_model() -> Iterator[Model]:
    """A model that answers on a free port of 127.0.0.1 until the block ends."""
    model = Model()

    class Handler(_Handler):
        plays = model

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    model.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield model
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    plays: Model
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        path = self.path.partition("?")[0]
        try:
            request = json.loads(body or b"{}")
        except ValueError:
            request = {}
        if path.endswith("/count_tokens"):
            self._whole({"input_tokens": 100})
        elif path.endswith("/messages"):
            self._answer(anthropic_events(self.plays.next(request), request), request)
        elif path.endswith("/chat/completions"):
            self._answer(openai_events(self.plays.next(request), request), request)
        elif path.endswith("/responses"):
            self._answer(responses_events(self.plays.next(request), request), request)
        elif path.endswith(":streamGenerateContent"):
            self._answer([("", generated_content(self.plays.next(request), request))], {"stream": True})
        elif path.endswith(":generateContent"):
            self._whole(generated_content("ok", request))
        else:
            self.plays.others.append(f"POST {path}")
            self._whole({})

    def do_GET(self) -> None:
        self.plays.others.append(f"GET {self.path}")
        self._whole({"data": []})

    def do_HEAD(self) -> None:
        self._whole({})

    def log_message(self, *_: Any) -> None:
        """Nothing: the requests are remembered."""

    def _answer(self, events: Sequence[tuple[str, Json]], request: Json) -> None:
        if not request.get("stream"):
            self._whole(whole_message(events))
            return
        lines = []
        for name, data in events:
            lines.append((f"event: {name}\n" if name else "") + f"data: {json.dumps(data)}\n\n")
        if not events[0][0] and "choices" in events[0][1]:
            lines.append("data: [DONE]\n\n")
        self._send("".join(lines).encode(), "text/event-stream")

    def _whole(self, value: Json) -> None:
        self._send(json.dumps(value).encode(), "application/json")

    def _send(self, data: bytes, kind: str) -> None:
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)


def anthropic_events(turn: Turn, request: Json) -> list[tuple[str, Json]]:
    """A turn as the events of a streamed message."""
    usage = {"input_tokens": 10, "output_tokens": 10}
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": request.get("model", "scripted"),
               "content": [], "stop_reason": None, "stop_sequence": None, "usage": usage}  # fmt: skip
    if isinstance(turn, Call):
        name, _ = tool_named(turn.tool, request)
        block: Json = {"type": "tool_use", "id": f"toolu_{len(json.dumps(request))}", "name": name, "input": {}}
        delta: Json = {"type": "input_json_delta", "partial_json": json.dumps(turn.arguments)}
    else:
        block, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": turn}
    stop = "tool_use" if isinstance(turn, Call) else "end_turn"
    events: list[Json] = [
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None}, "usage": usage},
        {"type": "message_stop"},
    ]
    return [(str(event["type"]), event) for event in events]


def openai_events(turn: Turn, request: Json) -> list[tuple[str, Json]]:
    """A turn as the chunks of a streamed chat completion."""
    if isinstance(turn, Call):
        function = {"name": tool_named(turn.tool, request)[0], "arguments": json.dumps(turn.arguments)}
        call = {"index": 0, "id": f"call_{len(json.dumps(request))}", "type": "function", "function": function}
        delta: Json = {"role": "assistant", "tool_calls": [call]}
    else:
        delta = {"role": "assistant", "content": turn}
    stop = "tool_calls" if isinstance(turn, Call) else "stop"
    base = {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": request.get("model", "scripted"),
    }
    usage = {"prompt_tokens": 10, "completion_tokens": 10, "total_tokens": 20}
    return [
        ("", base | {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]}),
        ("", base | {"choices": [{"index": 0, "delta": {}, "finish_reason": stop}], "usage": usage}),
    ]


def whole_message(events: Sequence[tuple[str, Json]]) -> Json:
    """The same turn for a client that did not ask for a stream."""
    first = events[0][1]
    if "message" in first:
        block, delta = dict(events[1][1]["content_block"]), events[2][1]["delta"]
        if block["type"] == "tool_use":
            block["input"] = json.loads(delta["partial_json"])
        else:
            block["text"] = delta["text"]
        return {**first["message"], "content": [block], "stop_reason": events[4][1]["delta"]["stop_reason"]}
    choice = {"index": 0, "message": first["choices"][0]["delta"]}
    choice["finish_reason"] = events[1][1]["choices"][0]["finish_reason"]
    return {**first, "object": "chat.completion", "choices": [choice], "usage": events[1][1]["usage"]}


def responses_events(turn: Turn, request: Json) -> list[tuple[str, Json]]:
    """A turn as the events of a streamed response."""
    if isinstance(turn, Call):
        name, namespace = tool_named(turn.tool, request)
        call_id, arguments = f"call_{len(json.dumps(request))}", json.dumps(turn.arguments)
        item: Json = {"type": "function_call", "id": "fc_1", "call_id": call_id, "name": name, "arguments": arguments}
        item |= {"namespace": namespace} if namespace else {}
    else:
        item = {
            "type": "message",
            "id": "msg_1",
            "role": "assistant",
            "content": [{"type": "output_text", "text": turn}],
        }
    usage = {"input_tokens": 10, "input_tokens_details": None, "output_tokens": 10, "output_tokens_details": None,
             "total_tokens": 20}  # fmt: skip
    events: list[Json] = [
        {"type": "response.created", "response": {"id": "resp_1"}},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": {"id": "resp_1", "usage": usage}},
    ]
    return [(str(event["type"]), event) for event in events]


def generated_content(turn: Turn, request: Json) -> Json:
    """A turn as Gemini's models answer it."""
    if isinstance(turn, Call):
        part: Json = {"functionCall": {"name": tool_named(turn.tool, request)[0], "args": turn.arguments}}
    else:
        part = {"text": turn}
    candidate = {"index": 0, "content": {"role": "model", "parts": [part]}, "finishReason": "STOP"}
    usage = {"promptTokenCount": 10, "candidatesTokenCount": 10, "totalTokenCount": 20}
    return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "scripted"}


def tools_of(request: Json) -> list[tuple[str, str]]:
    """The names of a request's tools, each with the namespace it stands in, in the dialect of any of the four."""
    found = []
    for tool in request.get("tools", []):
        if tool.get("type") == "namespace":
            found += [(str(inner.get("name", "")), str(tool.get("name", ""))) for inner in tool.get("tools", [])]
        elif "functionDeclarations" in tool:
            found += [(str(inner.get("name", "")), "") for inner in tool["functionDeclarations"]]
        else:
            found.append((str(tool.get("function", tool).get("name") or ""), ""))
    return found


def tool_named(suffix: str, request: Json) -> tuple[str, str]:
    """The client's own name of a tool, ``mcp__plugin_engram_engram__mem_save`` for ``mem_save``, and its namespace."""
    found = [one for one in tools_of(request) if one[0].endswith(suffix)]
    return min(found, key=lambda one: len(one[0]), default=(suffix, ""))  # `write`, not `todowrite`
