"""The secrets, sessions and memory of projects, encrypted where they are secret."""
