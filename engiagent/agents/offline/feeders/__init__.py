"""The reader of radial feeders: line tables, loads at nodes, voltages, and the laws of flow."""
