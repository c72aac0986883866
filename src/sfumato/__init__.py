"""Sfumato: publish data about people without giving anyone away."""

__version__ = "0.1.0"
