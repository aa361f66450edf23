"""The JSON between processes."""
