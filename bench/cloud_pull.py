"""``python -m bench.cloud_pull``: what pulling a million rows from the team's server takes: time, and its memory.

Starts Debian's PostgreSQL in a temporary directory, fills it, and pulls all as one stream, as a new machine does.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path

import httpx
import psycopg

from tests.cloud.asking import Client, Running, entry, server_process
from tests.cloud.cluster import cluster

# Rows as a team's memory has them: some hundred bytes of text and two dozen fields.
FILL = """
insert into cloud_mutations (
    seq, project, entity, entity_key, op, clock, fingerprint, payload, payload_bytes, occurred_at, principal_id, device
)
select
    n, 'project' || n %% %(projects)s, 'observation', 'obs-' || lpad(to_hex(n), 16, '0'), 'upsert',
    lpad(to_hex(n), 12, '0') || '-0000-aa', md5(n::text), body, octet_length(body), '2026-01-01T00:00:00.000Z', 1, ''
from (
    select n, json_build_object(
        'sync_id', 'obs-' || lpad(to_hex(n), 16, '0'), 'session_id', 'session-' || n / 50, 'type', 'decision',
        'title', 'Title of row ' || n, 'content', repeat(md5(n::text) || ' ', 14), 'scope', 'project',
        'topic_key', null, 'revision_count', 1, 'created_at', '2026-01-01T00:00:00.000Z',
        'updated_at', '2026-01-01T00:00:00.000Z', 'engram_py', json_build_object('format', 1, 'clock', '0')
    )::text as body
    from generate_series(1, %(rows)s) as n
) as made
"""
PROJECTS = """
insert into cloud_projects (name, latest_seq)
select 'project' || n, %(rows)s from generate_series(0, %(projects)s - 1) as n
"""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.cloud_pull", description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--projects", type=int, default=3)
    chosen = parser.parse_args()
    with cluster() as postgres:
        url = postgres.create()
        with server_process(url) as (process, running):
            member = running.account(write=["*"])
            started = time.perf_counter()
            _fill(url, chosen.rows, chosen.projects)
            say(f"filled with {chosen.rows:,} rows in {time.perf_counter() - started:.0f} s")
            rate = _pushing(running)
            say(f"pushed in batches of 100 by one client: {rate:,.0f} rows/s")
            _pull(member, since=max(0, chosen.rows - 10_000), label="10,000 rows", process_id=process.pid)
            _pull(member, since=0, label=f"{chosen.rows:,} rows", process_id=process.pid)
            _pull(member, since=0, label="the same, as gzip", process_id=process.pid, encoding="gzip")
            _page(member, chosen.rows)
    return 0


def _fill(url: str, rows: int, projects: int) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        values = {"rows": rows, "projects": projects}
        connection.execute(PROJECTS.encode(), values)
        connection.execute(FILL.encode(), values)
        connection.execute("analyze")


def _pushing(running: Running) -> float:
    client = running.account(write=["pushed"])
    batches = [[entry("pushed", f"obs-{turn}-{n}", content="word " * 90) for n in range(100)] for turn in range(30)]
    started = time.perf_counter()
    for batch in batches:
        client.push(batch)
    return 3_000 / (time.perf_counter() - started)


def _pull(member: Client, *, since: int, label: str, process_id: int, encoding: str = "identity") -> None:
    """Read the stream like a client that counts, and ask the system for the server's highest memory until now."""
    headers = {
        "Authorization": f"Bearer {member.token}",
        "Accept": "application/x-ndjson",
        "Accept-Encoding": encoding,
    }
    address = f"{member.address}/sync/mutations/pull?since_seq={since}"
    started, size, lines, tail = time.perf_counter(), 0, 0, b""
    with httpx.stream("GET", address, headers=headers, timeout=120, trust_env=False) as answer:
        for piece in answer.iter_bytes():
            size += len(piece)
            lines += piece.count(b"\n")
            tail = (tail + piece)[-400:]
    took = time.perf_counter() - started
    assert b'"end":true' in tail, tail
    say(
        f"streamed {label}: {lines - 1:,} in {took:.1f} s ({(lines - 1) / took:,.0f} rows/s, {size / 1e6:,.0f} MB);"
        f" peak of the server {_peak(process_id):.0f} MB"
    )


def _page(member: Client, rows: int) -> None:
    """A poll that finds one row, and one that finds nothing: neither may depend on what is kept."""
    latest = member.pull(rows)["latest_seq"]
    calls: dict[str, Callable[[], object]] = {
        "/health, which reads one row": lambda: member.ask("GET", "/health"),
        "a poll with nothing new": lambda: member.pull(latest),
        "a page of 100 from the middle": lambda: member.pull(rows // 2),
    }
    for label, call in calls.items():
        times = []
        for _ in range(30):
            started = time.perf_counter()
            call()
            times.append(time.perf_counter() - started)
        say(f"{label}: median {sorted(times)[15] * 1000:.1f} ms")


def _peak(process_id: int) -> float:
    for line in Path(f"/proc/{process_id}/status").read_text(encoding="utf-8").splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    return float("nan")


def say(text: str) -> None:
    print(text, flush=True)


if __name__ == "__main__":
    sys.exit(main())
