"""Read the formats of sites, for any plugin: dates, addresses, XML, feeds.

:mod:`~agentic.core.reading.feeds` needs the extra ``feeds``; libraries are loaded at the first read.
"""
