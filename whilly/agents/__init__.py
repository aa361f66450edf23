"""One file per agent CLI, over one protocol."""
