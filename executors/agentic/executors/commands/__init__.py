"""The commands of this room. Their modules load nothing heavy until a command runs."""
