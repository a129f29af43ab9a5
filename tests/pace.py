"""How long a piece of work may take, on a slow machine as on a fast one."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

USUAL_S = 0.045
"""Processor time of ``_yardstick`` on the machines for which the bounds were written.

Reckoned, not measured there: 0.117 s on a machine that takes 2.6 times as long for a fleet.
"""


@contextmanager
def soon(seconds: float) -> Iterator[None]:
    """Hold a block to processor time [s], and to more where the machine itself is slower."""
    begun = time.process_time()
    yield
    spent = time.process_time() - begun
    assert spent < seconds or spent < seconds * _yardstick() / USUAL_S


def _yardstick() -> float:
    begun = time.process_time()
    assert sum(k * k for k in range(1_000_000))
    return time.process_time() - begun
