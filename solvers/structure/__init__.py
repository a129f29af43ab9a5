"""Structure in programs, recognised from their arrays alone, never from names."""
