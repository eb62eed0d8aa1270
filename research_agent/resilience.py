"""A model that keeps failing is left alone for a while, by all runs of the process together."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

MAX_FAILURES = 3  # calls in a row that failed for good, retries included
REST_SECONDS = 60.0


class ModelBreaker:
    """Closed: calls go through. Open after `MAX_FAILURES`: each is refused at once. After the rest the next call is a
    probe (half-open): it closes the breaker, or opens it for another rest.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._failures: dict[str, int] = {}
        self._rests_until: dict[str, float] = {}

    def seconds_left(self, model: str) -> float:
        """How long `model` still rests; 0 when it may be called. Whoever gets 0 after a rest is the probe."""
        until = self._rests_until.get(model, -math.inf)
        left = until - self._clock()
        if left <= 0 and until > -math.inf:
            self._rests_until[model] = self._clock() + REST_SECONDS  # the others wait for the probe
        return max(0.0, left)

    def answered(self, model: str) -> None:
        """A call of `model` gave an answer."""
        self._failures.pop(model, None)
        self._rests_until.pop(model, None)

    def failed(self, model: str) -> None:
        """A call of `model` failed for good."""
        self._failures[model] = self._failures.get(model, 0) + 1
        if self._failures[model] >= MAX_FAILURES:
            self._rests_until[model] = self._clock() + REST_SECONDS


PROCESS_BREAKER = ModelBreaker()
