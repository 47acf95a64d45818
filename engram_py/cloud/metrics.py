"""What /metrics tells Prometheus: how much and how fast; no name of a project or an account."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Metrics:
    """The numbers of one server."""

    def __init__(self, *, inside: Callable[[], int], pool: Callable[[str], int]) -> None:
        self._registry = own = CollectorRegistry()
        ProcessCollector(registry=own)
        self.requests = Counter(
            "engram_cloud_requests", "Requests answered, by route and status.", ["route", "status"], registry=own
        )
        self.seconds = Histogram(
            "engram_cloud_request_seconds", "Time to the end of an answer, by route.", ["route"], registry=own
        )
        self.pushed = Counter(
            "engram_cloud_pushed_rows", "Rows offered, by what became of them.", ["outcome"], registry=own
        )
        self.pulled = Counter("engram_cloud_pulled_rows", "Rows given.", registry=own)
        inflight = Gauge("engram_cloud_requests_in_progress", "Requests that are worked on.", registry=own)
        inflight.set_function(inside)
        connections = Gauge("engram_cloud_connections", "PostgreSQL connections, by state.", ["state"], registry=own)
        for state, key in (("open", "pool_size"), ("idle", "pool_available"), ("wanted", "requests_waiting")):
            connections.labels(state).set_function(partial(pool, key))

    def text(self) -> bytes:
        return generate_latest(self._registry)
