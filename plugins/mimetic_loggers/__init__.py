"""mimetic_loggers, a plugin of mimetic."""
