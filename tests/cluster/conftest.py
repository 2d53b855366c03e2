"""One real cluster of two worker processes for all tests of a session."""

from collections.abc import Iterator
from typing import Any

import pytest

import ardchoice as ac


@pytest.fixture(scope="session")
def client() -> Iterator[Any]:
    pytest.importorskip("distributed")
    with ac.local_cluster(2) as found:
        found.wait_for_workers(2, timeout=60)
        yield found
