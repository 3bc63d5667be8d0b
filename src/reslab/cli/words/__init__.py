"""What a verb is told: subjects and fields."""
