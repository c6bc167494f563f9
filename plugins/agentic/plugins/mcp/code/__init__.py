"""Code mode: the model calls tools from programs, so it reads neither their schemas nor their results."""
