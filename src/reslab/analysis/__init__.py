"""What goes on inside trained networks: one folder an instrument."""
