"""A stopwatch for the stages of a run."""

from dataclasses import dataclass, field
from time import perf_counter


@dataclass
class Lap:
    """Times of the stages of one run, in seconds."""

    times: dict[str, float] = field(default_factory=dict)
    started: float = field(default_factory=perf_counter)

    def stop(self, stage: str) -> None:
        """Give the time since the last stop to a stage."""
        now = perf_counter()
        self.times[stage] = self.times.get(stage, 0.0) + now - self.started
        self.started = now
