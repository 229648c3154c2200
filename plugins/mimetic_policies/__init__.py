"""mimetic_policies, a plugin of mimetic."""
