"""Foreign model formats: programs as LP and MPS files, and such files as blueprints."""

from engiagent.formulations.exchange.lp_writer import write_lp
from engiagent.formulations.exchange.mps_writer import write_mps
from engiagent.formulations.exchange.to_blueprint import import_model

__all__ = ["import_model", "write_lp", "write_mps"]
