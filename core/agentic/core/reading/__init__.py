"""Reading what sites write, for any plugin: dates, addresses, XML, feeds.

:mod:`~agentic.core.reading.feeds` needs the extra ``feeds``; no library is loaded before something is read.
"""
