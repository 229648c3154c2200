"""Hooks of mimetic_explore."""
