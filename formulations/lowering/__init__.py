"""Exact lowering: functions with kinks, logic and products with binaries as linear rows."""
