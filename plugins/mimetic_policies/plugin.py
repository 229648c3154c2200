"""Hooks of mimetic_policies."""
