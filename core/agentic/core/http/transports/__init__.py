"""Client libraries behind one port."""
