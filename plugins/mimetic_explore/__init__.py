"""mimetic_explore, a plugin of mimetic."""
