"""The four questions of a check: data, algebra, physics, optimality."""
