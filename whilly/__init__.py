"""Whilly: a control plane for AI coding agents."""

__version__ = "5.0.0.dev0"
