"""The commands of chat agents; each is loaded when it is called."""
