"""Foreign model formats: programs as LP and MPS files, and such files as blueprints."""

from engiagent.formulations.exchange.lp_writer import write_lp
from engiagent.formulations.exchange.mps_writer import write_mps

__all__ = ["write_lp", "write_mps"]
