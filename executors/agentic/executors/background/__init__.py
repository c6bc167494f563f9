"""Background runs of agents as durable runs: any worker continues them."""
