"""Many independent runs: in this process, in processes of this machine, or on a Dask cluster."""

from engiagent.scale.ledger import Ledger
from engiagent.scale.mapping import Runs, map_runs
from engiagent.scale.work import DEFAULT, Outcome, Spread

__all__ = ["DEFAULT", "Ledger", "Outcome", "Runs", "Spread", "map_runs"]
