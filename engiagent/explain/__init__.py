"""Why a problem has no plan, has no best plan, or has just this one, in the blueprint's words."""
