"""A2A over NATS: requests to the subject of an agent, shared by its servers; answers to an inbox."""
