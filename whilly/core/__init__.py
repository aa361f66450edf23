"""What is true: plans, tasks, their lifecycle and the rules. Standard library only; no I/O, no clock, no randomness."""
