"""SCIP: mixed-integer and nonlinear programs, to global optimality."""
