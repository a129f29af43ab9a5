"""Studies: a blueprint's cases and sweeps, solved one after the other and put side by side."""
