"""Files in and out: guarded JSON, tables, grids, weather, atomic writes."""
