"""From a spec to a workflow."""
