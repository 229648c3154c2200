"""Hooks of mimetic_video."""
