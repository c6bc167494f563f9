"""Secrets, sessions and the memory of a project, as rows."""

from __future__ import annotations

import asyncio

import pytest
from pydantic import SecretStr
from sqlalchemy import delete, select, update
from structlog.testing import capture_logs
from tests.databases import only_sqlite

from agentic.core.actors import UnknownSecretError
from agentic.core.http import CookieJar, HttpSession
from agentic.core.llm import Budget, BudgetAccount, BudgetAmount, BudgetExceededError
from agentic.core.types import JSONValue
from agentic.mappers import AgentModel, Database, ProjectModel, add_project
from agentic.mappers.tables.vault import SecretModel, SessionModel
from agentic.mappers.vault.budgets import SqlBudgets
from agentic.mappers.vault.environment import stray_variables
from agentic.mappers.vault.errors import NoSecretKeyError, SecretNameError, UnreadableSecretError
from agentic.mappers.vault.keys import SecretKeys
from agentic.mappers.vault.memory import SqlMemory
from agentic.mappers.vault.rotation import rotate, unreadable
from agentic.mappers.vault.sessions import SqlSessions
from agentic.mappers.vault.vault import (
    SqlSecrets,
    list_secrets,
    list_sessions,
    missing_secrets,
    remove_secret,
    set_secret,
)

OLD, NEW = SecretKeys.new_key(), SecretKeys.new_key()
KEYS = SecretKeys(OLD)
URL = "https://shop.example/"


class Vault:
    """The secrets of one project, with keys that a test may change."""

    def __init__(self, database: Database, project_id: str) -> None:
        self.database = database
        self.project_id = project_id
        self.keys = KEYS
        self.environment: dict[str, str] = {}

    def set(self, name: str, value: str) -> str:
        with self.database.writing() as session:
            return set_secret(session, self.project_id, self.keys, name, value)

    async def get(self, name: str) -> str:
        store = SqlSecrets(self.database, self.project_id, self.keys, environment=self.environment)
        return (await store.secret(name)).get_secret_value()

    def beside(self, project: str) -> Vault:
        """Return the vault of another project, made now, in the same database and environment."""
        with self.database.writing() as session:
            other = Vault(self.database, add_project(session, project).id)
        other.environment = self.environment
        return other

    def sessions(self) -> SqlSessions:
        return SqlSessions(self.database, self.project_id, self.keys)

    def names(self) -> list[tuple[str, str]]:
        with self.database.reading() as session:
            secrets = [(row.name, row.kind) for row in list_secrets(session, self.project_id)]
            return secrets + [(row.name, "session") for row in list_sessions(session, self.project_id)]

    def remove(self, name: str) -> None:
        with self.database.writing() as session:
            remove_secret(session, self.project_id, name)


@pytest.fixture
def vault(database: Database, project: ProjectModel) -> Vault:
    return Vault(database, project.id)


@pytest.fixture
def other(database: Database, stranger: AgentModel) -> Vault:
    return Vault(database, stranger.project_id)


def login(name: str = "shop", cookie: str = "sid=1", token: str = "tok") -> HttpSession:
    jar = CookieJar()
    jar.store(URL, [f"{cookie}; Path=/; HttpOnly"])
    return HttpSession(
        name=name,
        hosts=frozenset({"shop.example"}),
        headers={"Authorization": SecretStr(token)},
        cookies=jar,
        storage=[{"origin": URL, "localStorage": []}],
    )


async def test_a_secret_is_stored_encrypted_and_read_by_its_project_alone(vault: Vault, other: Vault) -> None:
    assert vault.set("api", "hunter2") == "text"
    with vault.database.reading() as session:
        [row] = session.scalars(select(SecretModel))
    assert "hunter2" not in row.sealed
    assert await vault.get("api") == "hunter2"
    with pytest.raises(UnknownSecretError, match="agentic secrets set api"):
        await other.get("api")


async def test_a_secret_is_found_whatever_the_case_of_its_name_and_replaced_by_it(vault: Vault) -> None:
    vault.set("LinkedIn", "one")
    vault.set("linkedin", "two")
    assert await vault.get("LINKEDIN") == await vault.get("LinkedIn") == "two"
    assert vault.names() == [("LinkedIn", "text")]


def test_what_is_replaced_keeps_the_time_it_was_made(vault: Vault) -> None:
    vault.set("api", "one")
    with vault.database.reading() as session:
        [before] = list_secrets(session, vault.project_id)
    vault.set("api", '{"strategy": "bearer"}')
    with vault.database.reading() as session:
        [after] = list_secrets(session, vault.project_id)
    assert (before.created_at, after.kind) == (after.created_at, "login")
    assert after.updated_at >= before.updated_at


async def test_the_environment_comes_first(vault: Vault) -> None:
    vault.set("my-api", "stored")
    vault.environment["AGENTIC_SECRET_MY_API"] = "given"
    assert await vault.get("my-api") == "given"
    vault.keys = SecretKeys()
    assert await vault.get("MY_api") == "given"


async def test_a_variable_of_a_project_comes_before_one_of_none(vault: Vault) -> None:
    vault.environment |= {"AGENTIC_SECRET_API": "of none", "AGENTIC_SECRET_OURS__API": "of ours"}
    assert await vault.get("api") == "of ours"


async def test_a_variable_is_the_secret_of_its_project_alone(vault: Vault) -> None:
    other = vault.beside("other")
    vault.environment |= {"AGENTIC_SECRET_OURS__API": "of ours", "AGENTIC_SECRET_OTHER__API": "of other"}
    assert (await vault.get("api"), await other.get("api")) == ("of ours", "of other")
    del vault.environment["AGENTIC_SECRET_OTHER__API"]
    with pytest.raises(UnknownSecretError):
        await other.get("api")
    with vault.database.reading() as session, pytest.MonkeyPatch.context() as patch:
        patch.setenv("AGENTIC_SECRET_OURS__API", "of ours")
        assert missing_secrets(session, other.project_id, ["api"]) == ["api"]
        assert missing_secrets(session, vault.project_id, ["api"]) == []


async def test_with_several_projects_a_variable_of_none_serves_none(vault: Vault) -> None:
    other = vault.beside("other")
    vault.environment["AGENTIC_SECRET_API"] = "shared"
    for one, better in ((vault, "AGENTIC_SECRET_OURS__API"), (other, "AGENTIC_SECRET_OTHER__API")):
        with pytest.raises(UnknownSecretError, match=f"several projects; set {better} instead"):
            await one.get("api")
    vault.set("api", "stored")
    assert await vault.get("api") == "stored"


@only_sqlite
async def test_the_single_project_that_reads_a_variable_of_none_is_warned_once(vault: Vault) -> None:
    vault.environment["AGENTIC_SECRET_WARNED"] = "value"
    with capture_logs() as logs:
        assert [await vault.get("warned") for _ in range(3)] == ["value"] * 3
    [said] = logs
    assert (said["event"], said["variable"]) == ("secret.unscoped", "AGENTIC_SECRET_WARNED")
    assert "AGENTIC_SECRET_OURS__WARNED" in said["advice"]
    assert "value" not in str(said)


@only_sqlite
@pytest.mark.parametrize(
    ("first", "second", "variable", "name"),
    [
        ("a-b", "a.b", "AGENTIC_SECRET_A_B__TOKEN", "token"),
        ("a-b", "a_b", "AGENTIC_SECRET_A_B__TOKEN", "token"),
        ("a b", "A-B", "AGENTIC_SECRET_A_B__TOKEN", "token"),
        ("Abc", "abc", "AGENTIC_SECRET_ABC__TOKEN", "token"),
        ("\u017fhop", "-hop", "AGENTIC_SECRET__HOP__TOKEN", "token"),
        ("a", "a__b", "AGENTIC_SECRET_A__B__TOKEN", "b__token"),
        ("a__b", "a", "AGENTIC_SECRET_A__B__TOKEN", "token"),
        ("a", "a_", "AGENTIC_SECRET_A___TOKEN", "_token"),
    ],
)
async def test_a_variable_that_several_projects_could_read_is_read_by_none(
    vault: Vault, first: str, second: str, variable: str, name: str
) -> None:
    one = vault.beside(first)
    vault.environment[variable] = "value"
    assert await one.get(name) == "value"
    two = vault.beside(second)
    for project in (one, two):
        with pytest.raises(UnknownSecretError):
            await project.get(name)
    with pytest.raises(UnknownSecretError, match="may be meant for several projects"):
        await one.get(name)


async def test_no_letter_of_another_alphabet_becomes_one_of_a_projects_name(vault: Vault) -> None:
    look_alike = vault.beside("our\u017f")
    vault.environment["AGENTIC_SECRET_OURS__API"] = "of ours"
    with pytest.raises(UnknownSecretError):
        await look_alike.get("api")
    assert await vault.get("api") == "of ours"


async def test_a_single_project_reads_no_variable_of_another_one(vault: Vault) -> None:
    vault.environment["AGENTIC_SECRET_OTHER__API"] = "of other"
    with pytest.raises(UnknownSecretError, match="another project"):
        await vault.get("other__api")


def test_variables_that_no_project_can_read_are_found(vault: Vault) -> None:
    environment = dict.fromkeys(
        [
            "AGENTIC_SECRET_KEYS",
            "AGENTIC_SECRET_OURS__API",
            "AGENTIC_SECRET_API",
            "AGENTIC_SECRET_GONE__API",
            "PATH",
        ],
        "x",
    )
    with vault.database.reading() as session:
        assert stray_variables(session, environment) == ["AGENTIC_SECRET_GONE__API"]
    vault.beside("other")
    with vault.database.reading() as session:
        assert stray_variables(session, environment) == ["AGENTIC_SECRET_API", "AGENTIC_SECRET_GONE__API"]


@pytest.mark.parametrize("name", ["keys", "KEYS"])
async def test_the_keys_themselves_are_no_secret_that_a_pipeline_can_name(vault: Vault, name: str) -> None:
    vault.environment["AGENTIC_SECRET_KEYS"] = OLD
    with pytest.raises(SecretNameError, match="AGENTIC_SECRET_KEYS"):
        await vault.get(name)
    with pytest.raises(SecretNameError, match="AGENTIC_SECRET_KEYS"):
        vault.set(name, "x")


@pytest.mark.parametrize("name", ["key\u017f", "\u212aeys", "KEY\uff33", "keys "])
async def test_no_look_alike_reads_the_keys(vault: Vault, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv("AGENTIC_SECRET_KEYS", OLD)
    vault.environment["AGENTIC_SECRET_KEYS"] = OLD
    with pytest.raises(SecretNameError, match="letters from a to z"):
        await vault.get(name)
    with vault.database.reading() as session:
        assert missing_secrets(session, vault.project_id, [name]) == [name]


async def test_a_look_alike_finds_no_stored_secret(vault: Vault) -> None:
    vault.set("token", "hunter2")
    with pytest.raises(SecretNameError):
        await vault.get("to\u212aen")


@pytest.mark.parametrize("name", ["", "1st", "a b", "a/b", "a.b", "é", "x" * 101, "a\n"])
def test_a_name_that_no_reference_could_hold_is_refused(vault: Vault, name: str) -> None:
    with pytest.raises(SecretNameError):
        vault.set(name, "x")


async def test_without_a_key_nothing_is_stored(vault: Vault) -> None:
    vault.keys = SecretKeys()
    with pytest.raises(NoSecretKeyError):
        vault.set("api", "hunter2")
    with pytest.raises(NoSecretKeyError):
        await vault.sessions().keep(login())
    assert vault.names() == []


async def test_a_row_copied_to_another_name_does_not_open(vault: Vault) -> None:
    vault.set("mine", "hunter2")
    vault.set("yours", "other")
    with vault.database.writing() as session:
        sealed = session.scalars(select(SecretModel.sealed).where(SecretModel.name == "mine")).one()
        session.execute(update(SecretModel).where(SecretModel.name == "yours").values(sealed=sealed))
    with pytest.raises(UnreadableSecretError, match="'yours'"):
        await vault.get("yours")


async def test_removing_a_secret_ends_its_session_and_that_of_no_other(vault: Vault, other: Vault) -> None:
    for owner in (vault, other):
        owner.set("shop", "x")
        for name in ("shop", "shop/login", "shop_2"):
            await owner.sessions().keep(login(name))
    vault.remove("Shop")
    assert vault.names() == [("shop_2", "session")]
    assert len(other.names()) == 4
    with pytest.raises(UnknownSecretError):
        vault.remove("shop")


async def test_a_session_comes_back_in_another_process_as_it_was_kept(vault: Vault, other: Vault) -> None:
    await vault.sessions().keep(login())
    found = await vault.sessions().load("shop")
    assert found is not None
    assert found.headers_for(URL) == {"authorization": "tok", "cookie": "sid=1"}
    assert (found.hosts, found.storage) == (frozenset({"shop.example"}), login().storage)
    assert await other.sessions().load("shop") is None
    with vault.database.reading() as session:
        [row] = session.scalars(select(SessionModel))
    # Letters alone may be in what is encrypted, by chance; these signs never are.
    assert not any(word in row.sealed for word in ('"tok"', '"sid"', "shop.example"))


async def test_all_in_a_process_share_a_session_until_another_one_writes_it(vault: Vault) -> None:
    here, there = vault.sessions(), vault.sessions()
    await here.keep(login(cookie="sid=1"))
    first, second = await asyncio.gather(here.load("shop"), here.load("shop"))
    assert first is second is not None
    await there.keep(login(cookie="sid=2"))
    newer = await here.load("shop")
    assert newer is not None
    assert newer.cookies.header_for(URL) == "sid=2"


async def test_a_session_made_again_after_it_was_removed_is_not_the_old_one(vault: Vault) -> None:
    here = vault.sessions()
    await here.keep(login(cookie="sid=1"))
    with vault.database.writing() as session:
        session.execute(delete(SessionModel))
    assert await here.load("shop") is None
    await vault.sessions().keep(login(cookie="sid=2"))
    newer = await here.load("shop")
    assert newer is not None
    assert newer.cookies.header_for(URL) == "sid=2"


async def test_rotation_leaves_all_projects_with_the_first_key(vault: Vault, other: Vault) -> None:
    for owner in (vault, other):
        for number in range(5):
            owner.set(f"s{number}", f"value {number}")
        await owner.sessions().keep(login())
    both = SecretKeys(f"{NEW},{OLD}")
    for _ in range(2):  # safe to repeat
        assert rotate(vault.database, both, batch_size=3).counts == {"secret": 10, "session": 2}
    vault.keys = other.keys = SecretKeys(NEW)
    assert [await other.get(f"s{number}") for number in range(5)] == [f"value {n}" for n in range(5)]
    assert await vault.sessions().load("shop") is not None


async def test_what_no_key_opens_is_named_and_left_while_the_others_are_rotated(vault: Vault) -> None:
    vault.set("good", "x")
    vault.keys = SecretKeys(SecretKeys.new_key())
    vault.set("lost", "y")
    both = SecretKeys(f"{NEW},{OLD}")
    done = rotate(vault.database, both)
    assert done.counts == {"secret": 1, "session": 0}
    assert ["'lost'" in said for said in done.unreadable] == [True]
    assert list(unreadable(vault.database, both)) == done.unreadable
    assert await vault.get("lost") == "y"


@pytest.mark.parametrize("value", [1, "text", [1, {"a": None}], {"k": "\0é\ud800"}, False, 0, ""])
async def test_a_memory_gives_back_what_was_put(vault: Vault, value: JSONValue) -> None:
    memory = SqlMemory(vault.database, vault.project_id)
    await memory.put("host/path", "earlier")
    await memory.put("host/path", value)
    assert await SqlMemory(vault.database, vault.project_id).get("host/path") == value


async def test_a_memory_belongs_to_its_project_and_forgets_what_is_put_to_none(
    vault: Vault, other: Vault
) -> None:
    memory = SqlMemory(vault.database, vault.project_id)
    await memory.put("key", 1)
    assert await SqlMemory(other.database, other.project_id).get("key") is None
    await memory.put("key", None)
    await memory.put("never", None)
    assert await memory.get("key") is None


async def test_two_that_write_one_key_at_once_are_both_taken(vault: Vault) -> None:
    stores = [SqlMemory(vault.database, vault.project_id) for _ in range(8)]
    await asyncio.gather(*(store.put("key", number) for number, store in enumerate(stores)))
    assert await stores[0].get("key") in range(8)


async def test_budgets_of_models_that_change_at_once_lose_no_change_and_belong_to_their_project(
    vault: Vault, other: Vault
) -> None:
    one = BudgetAmount(tokens=1, nano_usd=2)

    def reserved(account: BudgetAccount) -> BudgetAccount:
        return BudgetAccount(spent=account.spent, reserved=account.reserved + one)

    stores = [SqlBudgets(vault.database, vault.project_id) for _ in range(8)]
    await asyncio.gather(*(store.change("run 1", reserved) for store in stores))
    assert await stores[0].load("run 1") == BudgetAccount(reserved=BudgetAmount(tokens=8, nano_usd=16))
    assert await stores[0].load("run 2") == BudgetAccount()
    assert await SqlBudgets(other.database, other.project_id).load("run 1") == BudgetAccount()


async def test_a_change_of_a_budget_that_is_refused_leaves_it_as_it_was(vault: Vault) -> None:
    store = SqlBudgets(vault.database, vault.project_id)
    budget = Budget(max_tokens=10, name="run", store=store)
    await budget.reserve(BudgetAmount(tokens=8), "a:b")
    with pytest.raises(BudgetExceededError, match="8 tokens reserved of 10"):
        await budget.reserve(BudgetAmount(tokens=3), "a:b")
    await budget.settle(BudgetAmount(tokens=8), BudgetAmount(tokens=5))
    assert await budget.account() == BudgetAccount(spent=BudgetAmount(tokens=5))


async def test_a_number_that_is_no_json_is_refused(vault: Vault) -> None:
    with pytest.raises(ValueError, match="JSON"):
        await SqlMemory(vault.database, vault.project_id).put("key", float("nan"))
