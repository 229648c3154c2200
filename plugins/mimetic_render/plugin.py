"""Hooks of mimetic_render."""
