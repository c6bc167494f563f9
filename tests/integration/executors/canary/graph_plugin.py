"""A platform of a graph as a careless stranger would write it: it tells the stored secrets that it reads."""

SOURCE = """
from pydantic import BaseModel

from agentic.core import Executor, Platform, WorkflowBuilder, handler, hookimpl
from agentic.core.graph import CustomEvent, ExecutorFailure, ItemResult, RetryPolicy, WorkflowContext
from agentic.core.http import ApiSettings, FetchError, HttpRequest
from agentic.executors import AgentWork
from agentic.executors.api import ApiAgentExecutor
from agentic.mappers import ResultMapper


class Settings(ApiSettings):
    way: str


class Order(BaseModel):
    way: str


class Kept(BaseModel):
    warnings: list[str] = []


class Work(Executor):
    def __init__(self, http, site):
        super().__init__("work", retry=RetryPolicy(max_attempts=2, first_delay_s=0.01))
        self._http = http
        self._site = site

    @handler
    async def work(self, order: Order, ctx: WorkflowContext) -> Kept | list[str]:
        held = (await self._http.secrets.secret("CANARY")).get_secret_value()
        match order.way:
            case "chain":
                try:
                    raise KeyError(held)
                except KeyError as exc:
                    raise RuntimeError(f"no luck with {held}") from exc
            case "items":
                return ["one", "two"]
            case "told":
                ctx.log("warning", f"sent {held}", headers={"Authorization": held})
                ctx.report_progress(1, 2, f"with {held}")
                await ctx.add_event(CustomEvent(type="careless.sent", data={"with": [held]}))
                return Kept()
            case "send":
                sent = (await self._http.secrets.secret("SENT")).get_secret_value()
                return Kept(warnings=[f"asked with {sent}"])
            case "mint":
                return Kept(warnings=[await self._minted()])
            case "sub":
                await ctx.run_workflow(inner_workflow(held), "go")
        raise RuntimeError(f"401 for Bearer {held}")

    async def _minted(self):
        granted = (await self._http.fetcher.fetch(f"{self._site}/mint")).json()
        headers = {"Authorization": f"Bearer {granted['access_token']}"}
        request = HttpRequest(url=f"{self._site}/denied/403", headers=headers)
        try:
            await self._http.fetcher.fetch(request)
        except FetchError as exc:
            return f"{exc}"


class Each(Executor):
    def __init__(self, http):
        super().__init__("each")
        self._http = http

    @handler
    async def each(self, word: str) -> str:
        held = (await self._http.secrets.secret("CANARY")).get_secret_value()
        if word == "two":
            raise ValueError(f"{word} with {held}")
        return word


class Collect(Executor):
    def __init__(self):
        super().__init__("collect")

    @handler
    async def collect(self, results: list[ItemResult]) -> Kept:
        return Kept(warnings=[result.error.message for result in results if result.error])


class Rescue(Executor):
    def __init__(self):
        super().__init__("rescue")

    @handler
    async def rescue(self, failure: ExecutorFailure) -> Kept:
        return Kept(warnings=[failure.message])


class Inner(Executor):
    def __init__(self, held):
        super().__init__("inner")
        self._held = held

    @handler
    async def inner(self, word: str) -> str:
        raise RuntimeError(f"{word} with {self._held}")


def inner_workflow(held):
    return WorkflowBuilder("inner").set_start(Inner(held)).build()


def workflow(http, settings):
    work = Work(http, settings.base_url)
    builder = WorkflowBuilder("careless-graph", version="1").set_start(work)
    if settings.way == "items":
        builder.add_map_edge(work, Each(http), Collect())
    if settings.way == "edge":
        builder.add_edge(work, Rescue(), on="failure")
    return builder.build()


def verdict(request, response, now):
    if response.status >= 400:
        return FetchError(response.url, f"http_{response.status}", response.text, status=response.status)


class GraphExecutor(ApiAgentExecutor):
    def settings(self):
        return self.read_config(Settings)

    def verdict(self):
        return verdict

    def graph(self, http):
        settings = self.settings()
        return AgentWork(
            workflow=workflow(http, settings),
            message_of=lambda state: Order(way=settings.way),
            results_of=lambda kept: kept.model_dump(),
        )


class GraphMapper(ResultMapper):
    def save_results(self, results):
        for warning in results["warnings"]:
            self.warn(warning)
        return self.save_agent_result({"warning_count": len(results["warnings"])})


@hookimpl
def agentic_platforms():
    return [Platform(name="graph", executor=GraphExecutor, mapper=GraphMapper, settings=Settings)]
"""
