"""mimetic_render, a plugin of mimetic."""
