"""The commands of evaluations; each is loaded when it is called."""
