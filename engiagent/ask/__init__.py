"""Questions answered over the registry of tools: planned, supervised, with figures from calls."""
