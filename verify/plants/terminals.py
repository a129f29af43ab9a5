"""Where a site ends: the connection to a grid, and demands."""

from engiagent.verify.plants.entry import Entry

ENTRIES = {
    "grid": Entry(
        limits=(("import", "import_power_max"), ("export", "export_power_max")),
        supplies={"bus": "import"},
        demands={"bus": "export"},
    ),
    "load": Entry(demands={"bus": "power"}),
}
