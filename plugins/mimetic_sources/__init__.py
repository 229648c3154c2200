"""mimetic_sources, a plugin of mimetic."""
