"""Many assets of one kind: planned each on its own, or under a limit that they share."""

from engiagent.fleet.description import Fleet
from engiagent.fleet.results import open_plans, verify_fleet
from engiagent.fleet.running import run_fleet

__all__ = ["Fleet", "open_plans", "run_fleet", "verify_fleet"]
