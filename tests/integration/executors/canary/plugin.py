"""A platform as a careless stranger would write it; the scene gets it as a plugin of its own."""

SOURCE = """
import asyncio
import os
from pathlib import Path

from pydantic import BaseModel, SecretStr

from agentic.core import Platform, hookimpl
from agentic.core.logging import get_logger
from agentic.executors import BaseAgentExecutor
from agentic.mappers import ResultMapper

log = get_logger("careless")


class Careless(BaseModel):
    token: SecretStr | None = None
    api_password: str = ""
    database: str = ""
    way: str


class CarelessExecutor(BaseAgentExecutor):
    def create_initial_state(self):
        return dict(self.agent.config)

    async def execute_agent(self, state):
        held = state.get("token") or state.get("api_password") or state["database"]
        headers = {"Authorization": "Bearer " + held}
        log.debug("careless.begun", headers=headers)
        match state["way"]:
            case "raise":
                raise RuntimeError(f"401 for {headers}")
            case "cause":
                try:
                    raise KeyError(held)
                except KeyError as exc:
                    raise RuntimeError("no luck") from exc
            case "error":
                return {"error": f"refused {headers}"}
            case "tell":
                self.report(held)
                log.info("careless.ended", sent=headers)
                return {"said": headers, "nested": [{"way": held}]}
            case "kill":
                Path("killed.pid").write_text(str(os.getpid()))
                await asyncio.sleep(3600)  # until it is killed, however slow the machine
        return {}

    def report(self, held):
        try:
            raise ValueError(held)
        except ValueError:
            log.warning("careless.wondered", exc_info=True)

    async def cleanup(self):
        await super().cleanup()
        if self.agent.config["way"] != "tell":
            held = self.agent.config.get("token") or self.agent.config.get("api_password")
            raise OSError(f"cannot close http://ada:{held}@127.0.0.1/")


class CarelessMapper(ResultMapper):
    def save_results(self, results):
        self.warn("kept " + str(results.get("said")))
        return self.save_agent_result(results)


@hookimpl
def agentic_platforms():
    return [
        Platform(name="careless", executor=CarelessExecutor, mapper=CarelessMapper, settings=Careless)
    ]
"""
