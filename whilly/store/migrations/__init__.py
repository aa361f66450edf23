"""Changes of the schema, oldest first. Never edit one that was released."""
