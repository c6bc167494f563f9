"""Reports of an execution as a self-contained page, and changes between two crawls."""
