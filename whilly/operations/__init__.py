"""What can be done: one verb per file, one transaction each."""
