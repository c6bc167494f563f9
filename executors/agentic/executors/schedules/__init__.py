"""Due times of schedules, and their firing."""
