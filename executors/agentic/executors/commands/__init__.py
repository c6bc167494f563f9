"""The commands of this package. Their modules load nothing heavy until a command runs."""
