from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from tests.sharing.sync.replica import machines as net

MachineMaker = Callable[..., net.Machine]


@pytest.fixture(scope="session")
def empty_memory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return net.template(tmp_path_factory.mktemp("replicas") / "empty")


@pytest.fixture
def new_machine(tmp_path: Path, empty_memory: Path) -> Iterator[MachineMaker]:
    made: list[net.Machine] = []

    def make(name: str, *, skew: timedelta = timedelta()) -> net.Machine:
        made.append(net.machine(name, tmp_path, empty_memory, skew=skew))
        return made[-1]

    yield make
    for one in made:
        one.app.close()


@pytest.fixture
def desk(new_machine: MachineMaker) -> net.Machine:
    return new_machine("desk")


@pytest.fixture
def laptop(new_machine: MachineMaker) -> net.Machine:
    return new_machine("laptop", skew=timedelta(minutes=1))
