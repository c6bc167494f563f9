"""Where threads of LangGraph are kept: in SQL, and in buckets of NATS."""
