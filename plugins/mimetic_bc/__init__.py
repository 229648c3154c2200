"""mimetic_bc, a plugin of mimetic."""
