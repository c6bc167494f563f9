"""Traces and metrics of agents, by the names of OpenTelemetry."""
