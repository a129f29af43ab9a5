"""Cold: what makes it, keeps it and needs it."""
