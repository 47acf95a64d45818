"""An import of an export leaves what the same rows leave that another machine sends."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.sharing.sync.replica import machines as net
from tests.sharing.sync.replica.test_convergence import EXAMPLES, STEPS, Replicas

# An import is a change of its own, made now. A file shows what a person sees: of two rows of one topic the hidden one
# is deleted there, and its texts are older versions of the other.
_OF_AN_IMPORT = ("clock", "folded_into")


@pytest.fixture(scope="module")
def empty_memory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return net.template(tmp_path_factory.mktemp("exported") / "empty")


class Exported(Replicas):
    """The histories of the replicas, whose first machine exports its memory, and sends it, to an empty one."""

    def _check(self) -> None:
        told = self.machines[0]
        # Nothing that is dated ahead has to wait, which an import never lets it.
        latest = max(machine.clock.now for machine in self.machines) - net.START + timedelta(days=400)
        imported, applied = (net.machine(name, self.folder, self.empty, skew=latest) for name in ("file", "line"))
        self.readers += [imported, applied]
        told.app.replica.changes()  # what is due here is in the file as well
        told.app.transfer.export(self.folder / "memory.json")

        result = imported.app.transfer.import_file(self.folder / "memory.json")
        received = net.receive(applied, net.send(told, applied, max_rows=100_000))

        assert result.trusted
        assert not received.refused
        of_file, sent = (net.contents(machine, without=_OF_AN_IMPORT) for machine in (imported, applied))
        # A file is the user's own: it names what was destroyed before any other machine had heard of it.
        assert {*sent.pop("buried")} <= {*of_file.pop("buried")}
        assert of_file == sent
        for word in ("wal", "lock", "retry", "cache"):
            assert net.found(imported, word) == net.found(applied, word)


@pytest.mark.timeout(600)
def test_an_import_of_an_export_is_what_its_rows_are_to_another_machine(empty_memory: Path) -> None:
    class Part(Exported):
        empty = empty_memory

    run_state_machine_as_test(
        Part,
        settings=settings(
            max_examples=EXAMPLES,
            derandomize=EXAMPLES <= 200,
            stateful_step_count=STEPS,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            database=None,
            phases=[Phase.generate],
        ),
    )
