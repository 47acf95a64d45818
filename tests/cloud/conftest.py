"""One PostgreSQL and one server for all tests of this folder; each test has accounts and projects of its own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from engram_py.cloud.accounts import CloudSettings
from tests.cloud.asking import ROOT_TOKEN, Client, Running, new_project, serving
from tests.cloud.cluster import Cluster, cluster


@pytest.fixture(scope="session")
def postgres() -> Iterator[Cluster]:
    with cluster() as running:
        yield running


@pytest.fixture(scope="session")
def server(postgres: Cluster) -> Iterator[Running]:
    settings = CloudSettings(postgres.create(), admin_token=ROOT_TOKEN, pepper="salt and pepper")
    with serving(settings) as running:
        yield running


@pytest.fixture(autouse=True)
def _no_rows_of_other_tests(request: pytest.FixtureRequest) -> None:
    """A key is one project's, and the tests call their rows alike."""
    if "server" in request.fixturenames:
        request.getfixturevalue("server").sql("delete from cloud_mutations")


@pytest.fixture
def project() -> str:
    return new_project()


@pytest.fixture
def account(server: Running, project: str) -> Client:
    """Somebody who may write to the test's project."""
    return server.account(write=[project])


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
