"""mimetic_video, a plugin of mimetic."""
