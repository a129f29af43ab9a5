"""Foreign model formats: programs as LP and MPS files, and such files as blueprints."""

from engiagent.formulations.exchange.to_blueprint import import_model
from engiagent.formulations.exchange.writers import write_lp, write_mps

__all__ = ["import_model", "write_lp", "write_mps"]
