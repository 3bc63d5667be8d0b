"""What a network is trained for: one folder a task, and how a test looks at images."""
