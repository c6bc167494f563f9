"""Options, views and searches that several commands share."""
