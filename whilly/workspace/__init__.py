"""Private clones and the trusted side of git."""
