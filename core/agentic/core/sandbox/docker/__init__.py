"""Sandboxes made of containers, by the API of Docker, which podman also speaks."""
