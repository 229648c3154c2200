"""Hooks of mimetic_bc."""
