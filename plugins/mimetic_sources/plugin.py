"""Hooks of mimetic_sources."""
