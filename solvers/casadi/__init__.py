"""CasADi: programs as graphs with exact derivatives, its solvers, and C code from them."""
