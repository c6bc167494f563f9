"""Sandboxes made of virtual machines, by the API of Firecracker."""
