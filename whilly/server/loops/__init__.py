"""What goes on without being asked."""
