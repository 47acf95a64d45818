"""A call beside an empty call of the one-tool server, on the clock and in time of the processor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import psutil  # type: ignore[import-untyped]

from bench.report import Line, above
from bench.wire import Server


@dataclass
class Times:
    """Seconds of calls and of the empty calls beside them; ``cpu`` is what the server's process spent on the former."""

    ours: list[float] = field(default_factory=list)
    empty: list[float] = field(default_factory=list)
    cpu: float = 0.0

    def add(self, other: Times) -> None:
        self.ours += other.ours
        self.empty += other.empty
        self.cpu += other.cpu

    def line(self, what: str, *, at_most: float | None = None, unit: Sequence[float] = ()) -> Line:
        """Time on the clock, and the processor's share of it: the one grows when others use the machine."""
        line = above(what, self.ours, self.empty, at_most=at_most, unit=unit)
        cpu = self.cpu / len(self.ours)
        compared = f"{line.compared}, cpu {cpu * 1000:.1f} ms"
        return replace(line, compared=compared, numbers={**line.numbers, "cpu_s": cpu})


@dataclass(frozen=True)
class Pair:
    """A running server and the empty one beside it."""

    engram: Server
    empty: Server

    def call(self, tool: str, **arguments: Any) -> Times:
        before = self._cpu()
        ours = self.engram.call(tool, **arguments)[1]
        cpu = self._cpu() - before
        return Times([ours], [self.empty.call("ping")[1]], cpu)

    def _cpu(self) -> float:
        spent = psutil.Process(self.engram.process.pid).cpu_times()
        return float(spent.user + spent.system)
