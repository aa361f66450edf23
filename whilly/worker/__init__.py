"""Claims tasks, runs agents, gathers proof, reports."""
