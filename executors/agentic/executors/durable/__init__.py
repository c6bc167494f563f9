"""Durable runs: any worker goes on with any run, whatever happens to the others."""
