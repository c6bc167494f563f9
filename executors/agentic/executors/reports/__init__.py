"""What an execution did, to be shown: a page that needs nothing else, and changes between two crawls."""
