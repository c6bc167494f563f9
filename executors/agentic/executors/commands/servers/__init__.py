"""Commands that keep running: workers, beat, servers, exporters."""
