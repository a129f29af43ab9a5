"""The checker's part for blueprints of kind ``definitions``: the verdict ``reproduced``."""

from engiagent.verify.definitions.reproduction import reproduce

__all__ = ["reproduce"]
