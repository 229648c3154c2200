"""Hooks of mimetic_loggers."""
