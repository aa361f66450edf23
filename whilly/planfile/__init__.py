"""Text in, Plan out: the only package that knows the plan file format."""
