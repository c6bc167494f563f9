"""Fake servers for demos and tests: they speak a platform's wire format on loopback, without a network.

    from agentic.fakes.server import FakeServer

    with FakeServer(seed=1) as fakes:
        fakes.hackernews_url    # base URL of a Hacker News Firebase API
        fakes.algolia_url       # base URL of its search, Algolia's
        fakes.shop_url          # home page of a small shop
        fakes.jobs_url          # a job board behind a login, and its API
        fakes.feeds_url         # RSS, Atom, JSON Feed, podcasts, broken ones
        fakes.news_url          # articles with structured data, and sitemaps
        fakes.hostile_url       # everything a crawler should survive
        fakes.firecrawl_url     # a Firecrawl v2 API over all of these
        fakes.github_url        # a GitHub REST API
        fakes.reddit_url        # Reddit: tokens, feeds, pages; its API and an archive are below it
        fakes.sink_url          # keeps what webhooks send
        fakes.control           # faults to inject, requests counted

``agentic fakes serve`` does the same for the command line, and
:func:`agentic.fakes.app.create_app` gives the bare ASGI application. Starlette and uvicorn come with
``pip install 'agentic-pipelines[local]'`` and are loaded when a fake is started.
"""
