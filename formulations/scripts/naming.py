"""Python names in scripts, each used once."""

import keyword
from dataclasses import dataclass


@dataclass
class Names:
    """Python names for what a script speaks of.

    Attributes
    ----------
    taken
        Names in use, those of the script's own imports and functions from the start.
    """

    taken: set[str]

    def fresh(self, name: str) -> str:
        """Return an identifier like ``name`` that nothing else uses."""
        plain = "".join(c if c.isascii() and (c.isalnum() or c == "_") else "_" for c in name)
        plain = plain if plain[:1].isalpha() else f"v_{plain}"
        while plain in self.taken or keyword.iskeyword(plain):
            plain += "_"
        self.taken.add(plain)
        return plain
