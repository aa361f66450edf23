"""The page: rendered here, kept fresh by nudges, readable without a script."""
