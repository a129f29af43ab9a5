"""Where a site ends: the connection to a grid, and demands."""

from engiagent.verify.plants.entry import Entry
from engiagent.verify.plants.slots import SLOTS

ENTRIES = {
    "grid": Entry(
        "grid",
        "connection to a grid, or any supply and sink beyond the site",
        SLOTS["grid"],
        limits=(("import", "import_power_max"), ("export", "export_power_max")),
        connections={"bus": "the bus of the site"},
        supplies={"bus": "import"},
        demands={"bus": "export"},
    ),
    "load": Entry(
        "load",
        "demand that has to be met",
        SLOTS["load"],
        connections={"bus": "the bus that meets it, of power, heat, cold or fuel"},
        demands={"bus": "power"},
    ),
}
