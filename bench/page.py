"""``python -m bench.page``: what each page of ``engram serve`` takes in a large memory, and what it leaves behind.

Asked in one process without a socket, so it is the server's time alone. The page that opens first has a budget.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
import time
from pathlib import Path

import psutil  # type: ignore[import-untyped]

from bench.filling import fill
from bench.keeping import copied, fingerprint, kept
from bench.memories import without_settings
from bench.workplace import Workplace, workplace

PAGES = (
    "/ui/", "/ui/?project=bench", "/ui/?q={word}", "/ui/?q={word}&project=bench", "/ui/memory/{id}",
    "/ui/memory/{id}/edit", "/ui/given", "/ui/session?id=bench-{session}", "/ui/ask?project=bench",
    "/ui/ask?project=bench&prompt={word}", "/ui/today", "/ui/review", "/ui/worth", "/ui/projects", "/ui/timeline",
    "/ui/timeline?project=bench",
)  # fmt: skip
FIRST, BUDGET_SECONDS = "/ui/", 0.200
_FILLED_BY = ("migrations/*.sql", "bench/filling.py", "bench/corpus.py", "engram_py/base/text/*.py")


def main() -> int:
    arguments = _arguments()
    without_settings()
    with workplace(quick=False, rows=0) as place:
        data_dir = place.data_dir("page")

        def filling(folder: Path) -> None:
            fill(folder, place.folder, place.corpus.many(arguments.rows - 1))

        if arguments.keep:
            wanted = fingerprint(_FILLED_BY, place.corpus.source, str(arguments.rows))
            copied(kept(arguments.keep, f"page-{arguments.rows}", wanted, filling), data_dir)
        else:
            filling(data_dir)
        return _measure(place, data_dir, arguments.rows, arguments.rounds)


def _measure(place: Workplace, data_dir: Path, rows: int, rounds: int) -> int:
    from engram_py import Engram
    from engram_py.interfaces.http.application import build_application
    from engram_py.interfaces.web import Page
    from engram_py.interfaces.web.access import Access

    me = psutil.Process()
    with Engram(data_dir, directory=place.folder) as app:
        begun = time.perf_counter()
        Page(app, port=7437).prepare()  # as `engram serve` does it before it takes requests
        print(f"{'prepared at the start of the server':44} {(time.perf_counter() - begun) * 1000:8.1f} ms")
        application = build_application(app, port=7437)
        access = Access(data_dir)
        cookie = access.enter(access.link_token()) or ""
        words = [query for query, _ in place.corpus.queries(rounds)]
        over = False
        held = 0
        for turn in (1, 2):  # the second shows what grows
            for page in PAGES:
                took = []
                for number in range(rounds):
                    word = "+".join(words[number].split())
                    row = 1 + number * 997 % rows
                    path = page.format(word=word, id=row, session=row // 20)
                    begun = time.perf_counter()
                    status, size = asyncio.run(_ask(application, path, f"engram_page_7437={cookie}"))
                    took.append(time.perf_counter() - begun)
                    assert status in (200, 404), (path, status)
                over |= page == FIRST and max(took) > BUDGET_SECONDS
                if turn == 1 and page == FIRST:
                    print(f"{page:44} {took[0] * 1000:8.1f} ms, the first of the process")
                if turn == 2:
                    median, most = statistics.median(took) * 1000, max(took) * 1000
                    print(f"{page:44} {median:8.1f} ms  {most:8.1f} ms at most  {size:9,} bytes")
            now = me.memory_info().rss
            print(f"after round {turn}: {now / 1e6:.0f} MB{f' ({(now - held) / 1e6:+.0f})' if held else ''}")
            held = now
    print(f"{rows:,} memories, {rounds} times each{'; OVER: ' + FIRST if over else ''}")
    return int(over)


async def _ask(application: object, path: str, cookie: str) -> tuple[int, int]:
    raw, _, query = path.partition("?")
    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "GET", "scheme": "http",
        "path": raw, "raw_path": raw.encode(), "query_string": query.encode("utf-8", "replace"), "root_path": "",
        "headers": [(b"host", b"127.0.0.1:7437"), (b"cookie", cookie.encode())],
        "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 7437),
    }  # fmt: skip
    status, size = 0, 0

    async def receive() -> dict[str, object]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: dict[str, object]) -> None:
        nonlocal status, size
        status = int(str(message.get("status", status)))
        body = message.get("body", b"")
        size += len(body) if isinstance(body, bytes) else 0

    await application(scope, receive, send)  # type: ignore[operator]
    return status, size


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.page", description=__doc__.split("\n", 1)[0])
    parser.add_argument("--rows", type=int, default=100_000, help="How many memories (default: %(default)s).")
    parser.add_argument("--rounds", type=int, default=10, help="How often each page is asked (default: %(default)s).")
    parser.add_argument("--keep", type=Path, help="Keep the filled memory below this folder, and use it again.")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
