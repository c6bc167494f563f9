"""What cannot be an executor."""

from agentic.core import Executor, WorkflowContext, executor, handler


@executor(id="none")  # error: mypy[arg-type] pyright[reportCallIssue,reportArgumentType]
async def none() -> None:
    pass


@executor(id="three")  # error: mypy[arg-type] pyright[reportCallIssue,reportArgumentType]
async def three(message: str, ctx: WorkflowContext, more: int) -> None:
    pass


@executor(id="sync-with-context")  # error: mypy[arg-type] pyright[reportCallIssue,reportArgumentType]
def sync_with_context(message: str, ctx: WorkflowContext) -> None:
    pass


@executor(id="no-context")  # error: mypy[arg-type] pyright[reportCallIssue,reportArgumentType]
async def no_context(message: str, times: int) -> None:
    pass


@executor  # error: mypy[arg-type] pyright[reportCallIssue,reportArgumentType]
async def bare_none() -> None:
    pass


@executor  # error: mypy[arg-type] pyright[reportCallIssue,reportArgumentType]
def bare_sync_with_context(message: str, ctx: WorkflowContext) -> None:
    pass


executor("positional")  # error: mypy[call-overload] pyright[reportCallIssue,reportArgumentType]


@executor(id="wrong-settings", timeout_s="1", retry=3)  # error: mypy[call-overload,untyped-decorator] pyright[reportArgumentType]
async def wrong_settings(message: str) -> None:
    pass


executor(id="no-function")(3)  # error: mypy[call-overload] pyright[reportCallIssue,reportArgumentType]


class Node(Executor):
    @handler  # error: mypy[type-var] pyright[reportArgumentType]
    def sync(self, message: str) -> str:
        return message

    @handler  # error: mypy[type-var] pyright[reportArgumentType]
    async def four(self, message: str, ctx: WorkflowContext, more: int) -> None:
        pass

    @handler  # error: mypy[type-var] pyright[reportArgumentType]
    async def nothing(self) -> None:
        pass

    @handler  # error: mypy[type-var] pyright[reportArgumentType]
    async def no_context(self, message: str, times: int) -> None:
        pass

    @handler
    async def fine(self, message: int) -> int:
        return message


class Heir(Node):
    async def fine(self, message: str) -> int:  # error: mypy[override] pyright[reportIncompatibleMethodOverride]
        return 1


Node()  # error: mypy[call-arg] pyright[reportCallIssue]
Node("a", 2)  # error: mypy[call-arg,arg-type] pyright[reportCallIssue]
