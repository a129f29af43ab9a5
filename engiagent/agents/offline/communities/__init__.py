"""The reader of energy communities: members by columns, trade among them, fees, fuses, a store."""
