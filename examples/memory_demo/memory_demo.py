"""What a model sees of a conversation: all of it, what a reducer leaves, and memories of an earlier one."""

import argparse
import asyncio
from collections.abc import Mapping, Sequence

from agentic.core.agents import (
    AgentThread,
    ChainReducer,
    ChatAgent,
    ChatReducer,
    MessageCountingReducer,
    NoOpReducer,
    ProcessMemoryStore,
    SlidingWindowReducer,
    StoredMemoryProvider,
    TokenCountingReducer,
)
from agentic.core.llm import ChatMessage, LLMAdapter, ScriptedModel

INDENT = f"\n{'':>11} | "
TALK = ("My name is Ada.", "My lamp is broken.", "I prefer short answers.")
SCRIPT = [
    "Hello Ada.",
    "I am sorry.",
    "All right.",
    "Ada.",
    "I do not know.",
    "I do not know.",
    "Ada.",
    "Ada.",
]


class Show:
    """A reducer that removes nothing, and prints what the model gets."""

    def needs_reduction(self, messages: Sequence[ChatMessage]) -> bool:
        """Look at each request."""
        return len(messages) > 0

    async def reduce(self, messages: Sequence[ChatMessage], keep: object) -> Sequence[ChatMessage]:
        """Print the messages, and return them."""
        del keep  # for reducers that ask a model
        for message in messages:
            print(f"  {message.role.value:>9} | {message.text.replace(chr(10), INDENT)}")
        return messages


def has_name(message: ChatMessage) -> bool:
    """Whether a message is important here."""
    return message.text.startswith("My name")


REDUCERS: Mapping[str, ChatReducer] = {
    "NoOpReducer()": NoOpReducer(),
    "MessageCountingReducer(3)": MessageCountingReducer(3),
    "TokenCountingReducer(30)": TokenCountingReducer(30),
    "SlidingWindowReducer(1, max_important=1)": SlidingWindowReducer(
        1, max_important=1, is_important=has_name
    ),
}


async def run(model: LLMAdapter | str) -> None:
    """Talk, ask again with each reducer, and ask in a new conversation."""
    memory = StoredMemoryProvider(ProcessMemoryStore())
    host = ChatAgent(model, "Be brief.", name="host", memory=[memory])
    thread = host.new_thread(user_id="ada")
    for line in TALK:
        await host.run(line, thread)

    for title, reducer in REDUCERS.items():
        print(title)
        copy = AgentThread.deserialize(thread.serialize())
        forgetful = ChatAgent(model, "Be brief.", name="host", reducer=ChainReducer(reducer, Show()))
        print(f"     answer | {(await forgetful.run('Who am I?', copy)).text}")

    print("A new conversation, with a memory")
    reminded = ChatAgent(model, "Be brief.", name="host", memory=[memory], reducer=Show())
    print(f"     answer | {(await reminded.run('Who am I?', host.new_thread(user_id='ada'))).text}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", metavar="PROVIDER:NAME", help="a real model; without it, a script answers")
    asyncio.run(run(parser.parse_args().model or ScriptedModel(SCRIPT)))
