"""The control plane seen from outside."""
