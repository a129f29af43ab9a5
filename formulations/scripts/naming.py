"""Python names in scripts, each used once."""

import keyword
from dataclasses import dataclass, field


@dataclass
class Names:
    """Python names for what a script speaks of.

    Attributes
    ----------
    taken
        Names in use, those of the script's own imports and functions from the start.
    known
        The Python name of each name of the blueprint.
    """

    taken: set[str]
    known: dict[str, str] = field(default_factory=dict)

    def of(self, name: str) -> str:
        """Return the Python name of a blueprint's name."""
        if name not in self.known:
            self.known[name] = self.fresh(name)
        return self.known[name]

    def helper(self, name: str) -> str:
        """Return the Python name of something that the script makes itself, always the same."""
        # No name of a blueprint ends with a blank, so both can share one table.
        return self.of(f"{name} ")

    def fresh(self, name: str) -> str:
        """Return an identifier like ``name`` that nothing else uses."""
        plain = "".join(
            c if c.isascii() and (c.isalnum() or c == "_") else "_" for c in name.rstrip()
        )
        plain = plain if plain[:1].isalpha() else f"v_{plain}"
        while plain in self.taken or keyword.iskeyword(plain):
            plain += "_"
        self.taken.add(plain)
        return plain
