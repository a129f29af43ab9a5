"""Solvers of convex programs: PIQP, Clarabel, OSQP and SCS directly, others through CVXPY."""
