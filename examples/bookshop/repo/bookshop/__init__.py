"""A small bookshop: what it sells, what it has, what it costs."""
