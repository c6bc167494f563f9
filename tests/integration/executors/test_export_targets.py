"""Rows in object stores and in tables of the user's own."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow.parquet
import pytest
from moto.server import ThreadedMotoServer
from sqlalchemy import create_engine, inspect, text

from agentic.core.remote_files import RemoteFileError
from agentic.executors.exports.columns import columns_of
from agentic.executors.exports.errors import ExportError
from agentic.executors.exports.sql_tables import BATCH_ROWS, KEY, SOURCE, SqlTarget, is_database
from agentic.executors.exports.targets import ExportTarget

pytestmark = pytest.mark.integration

ROWS: list[dict[str, Any]] = [
    {"title": "Lämp", "price": {"amount": 9.5, "currency": "EUR"}, "day": "2026-02-28", "new": True},
    {"title": "Bulb", "price": {"amount": 2, "currency": "EUR"}, "day": None, "new": False},
]


@pytest.fixture(scope="module")
def bucket(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A bucket of a server that speaks the API of S3."""
    import fsspec

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    patch = pytest.MonkeyPatch()
    for name, value in {
        "AWS_ENDPOINT_URL": f"http://{host}:{port}",
        "AWS_ACCESS_KEY_ID": "key",
        "AWS_SECRET_ACCESS_KEY": "secret-of-s3",
        "AWS_DEFAULT_REGION": "us-east-1",
    }.items():
        patch.setenv(name, value)
    name = f"bucket-{uuid4().hex[:8]}"
    fsspec.filesystem("s3").mkdir(name)
    yield name
    patch.undo()
    server.stop()


def objects(bucket: str) -> dict[str, bytes]:
    import fsspec

    system = fsspec.filesystem("s3", use_listings_cache=False)
    return {path.removeprefix(f"{bucket}/"): system.cat_file(path) for path in system.find(bucket)}


def test_a_file_in_a_bucket_appears_whole_or_not_at_all(bucket: str) -> None:
    target = ExportTarget.parse(f"s3://{bucket}/daily/rows.csv.gz")
    target.check()
    assert objects(bucket) == {}

    def write_half() -> None:
        with target.opened() as file:
            file.write("half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        write_half()
    assert objects(bucket) == {}
    with target.opened() as file:
        file.write("a,b\r\n")
    assert [*objects(bucket)] == ["daily/rows.csv.gz"]
    assert str(target) == f"s3://{bucket}/daily/rows.csv.gz"


def test_parquet_in_a_bucket_is_read_by_others(bucket: str) -> None:
    from agentic.executors.exports.typed_files import write_parquet

    with ExportTarget.parse(f"s3://{bucket}/rows.parquet").raw() as file:
        write_parquet(file, columns_of(ROWS), ROWS)
    found = pyarrow.parquet.read_table(io.BytesIO(objects(bucket)["rows.parquet"])).to_pylist()
    assert [row["price_amount"] for row in found] == [9.5, 2.0]


def test_a_bucket_that_is_not_there_is_told_before_a_run(bucket: str) -> None:
    with pytest.raises(
        RemoteFileError, match=r"s3://no-such-bucket/rows\.csv cannot be written .*credentials"
    ):
        ExportTarget.parse("s3://no-such-bucket/rows.csv").check()


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("nope://a/rows.csv", "unknown scheme 'nope'"),
        ("gs://a/rows.csv", r"pip install 'agentic-pipelines\[gcs\]'"),
        ("s3://a/rows", "'s3://a/rows' has no known format"),
    ],
)
def test_a_url_that_cannot_be_used_says_what_to_do(
    url: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "gcsfs", None)
    with pytest.raises((ExportError, RemoteFileError), match=said):
        ExportTarget.parse(url).check()


def test_a_system_without_whole_uploads_gets_a_file_beside_first(tmp_path: Path) -> None:
    url = f"file://{tmp_path}/rows.jsonl"
    with ExportTarget.parse(url).opened() as file:
        file.write("{}\n")
        assert list(tmp_path.iterdir()) == []
    assert [path.name for path in tmp_path.iterdir()] == ["rows.jsonl"]


@pytest.fixture
def database(empty_url: str, backend: str) -> str:
    """The address of an empty database, as a user writes it."""
    if backend == "sqlite":
        Path(empty_url.removeprefix("sqlite:///")).parent.mkdir(parents=True)
        return empty_url
    return empty_url.replace("postgresql+psycopg://", "postgresql://")


def write(address: str, rows: Sequence[dict[str, Any]], source: str = "shop") -> int:
    keyed = ((source, str(row["title"]), row) for row in rows)
    return SqlTarget.parse(address).write(columns_of(rows), keyed)


def read(address: str, query: str) -> list[tuple[Any, ...]]:
    engine = create_engine(SqlTarget.parse(address).url)
    try:
        with engine.connect() as connection:
            return [tuple(row) for row in connection.execute(text(query))]
    finally:
        engine.dispose()


def test_rows_become_a_table_with_types(database: str) -> None:
    address = f"{database}#items"
    SqlTarget.parse(address).check()
    assert write(address, ROWS) == 2
    engine = create_engine(SqlTarget.parse(address).url)
    types = {str(one["name"]): str(one["type"]) for one in inspect(engine).get_columns("items")}
    engine.dispose()
    assert types["price_amount"].startswith(("DOUBLE", "FLOAT"))
    assert (types["day"], types["new"], types["title"]) == ("DATE", "BOOLEAN", "TEXT")
    found = read(address, "SELECT _source, _key, title, price_amount FROM items ORDER BY price_amount")
    assert found == [("shop", "Bulb", "Bulb", 2.0), ("shop", "Lämp", "Lämp", 9.5)]


def test_the_same_rows_again_update_and_new_columns_are_added(database: str) -> None:
    address = f"{database}#items"
    write(address, ROWS)
    write(address, [{"title": "Bulb", "price": {"amount": 3.5}, "stock": 4}])
    write(address, [{"title": "Bulb", "stock": 5}], source="other")
    found = read(
        address, "SELECT _source, _key, price_amount, price_currency, stock FROM items ORDER BY 1, 2"
    )
    assert found == [
        ("other", "Bulb", None, None, 5),
        ("shop", "Bulb", 3.5, "EUR", 4),
        ("shop", "Lämp", 9.5, "EUR", None),
    ]


def test_a_column_that_does_not_fit_stops_the_export_and_changes_nothing(database: str) -> None:
    address = f"{database}#items"
    write(address, ROWS)
    before = read(address, "SELECT * FROM items ORDER BY _key")
    with pytest.raises(ExportError, match=r"items\.price_amount is .*, and the rows have text there"):
        write(address, [{"title": "New", "price": {"amount": "free"}, "other": 1}])
    assert read(address, "SELECT * FROM items ORDER BY _key") == before


def test_an_export_that_is_broken_off_changes_nothing(database: str) -> None:
    address = f"{database}#items"
    write(address, ROWS)
    before = read(address, "SELECT * FROM items ORDER BY _key")

    def broken() -> Iterator[tuple[str, str, dict[str, Any]]]:
        for number in range(BATCH_ROWS + 1):
            yield "shop", str(number), {**ROWS[0], "more": 1}
        raise RuntimeError

    with pytest.raises(RuntimeError):
        SqlTarget.parse(address).write(columns_of([{**ROWS[0], "more": 1}]), broken())
    assert read(address, "SELECT * FROM items ORDER BY _key") == before


def test_numbers_and_days_fit_a_column_of_text(database: str) -> None:
    address = f"{database}#items"
    write(address, [{"title": "a", "x": "one", "y": "soon"}])
    write(address, [{"title": "b", "x": 2, "y": "2026-02-28"}])
    assert read(address, "SELECT x, y FROM items ORDER BY _key") == [("one", "soon"), ("2", "2026-02-28")]


def test_a_table_that_is_no_export_is_left_alone(database: str) -> None:
    engine = create_engine(SqlTarget.parse(f"{database}#x").url)
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE users (name TEXT)"))
    engine.dispose()
    for act in (
        lambda: SqlTarget.parse(f"{database}#users").check(),
        lambda: write(f"{database}#users", ROWS),
    ):
        with pytest.raises(ExportError, match="the table users was not made by an export"):
            act()


def test_fields_of_a_site_never_stand_for_the_key_and_may_have_odd_names(database: str) -> None:
    address = f"{database}#items"
    row = {
        "title": "a",
        "Title": "b",
        "_key": "other",
        "_SOURCE": 1,
        'x"; DROP TABLE items; --': 2,
        "100%": 3,
    }
    columns = columns_of([row], taken=(SOURCE, KEY))
    for _ in range(2):
        assert SqlTarget.parse(address).write(columns, [("shop", "k", row)]) == 1
    [found] = read(address, "SELECT * FROM items")
    assert found == ("shop", "k", "a", "b", "other", 1, 2, 3)


def test_a_schema_may_be_named(database: str, backend: str) -> None:
    if backend == "sqlite":
        write(f"{database}#main.items", ROWS)
        assert len(read(f"{database}#x", "SELECT * FROM items")) == 2
        return
    engine = create_engine(SqlTarget.parse(f"{database}#x").url)
    with engine.begin() as connection:
        connection.execute(text("CREATE SCHEMA shop"))
    engine.dispose()
    write(f"{database}#shop.items", ROWS)
    assert len(read(f"{database}#x", "SELECT * FROM shop.items")) == 2


def test_long_keys_stay_apart(database: str) -> None:
    address = f"{database}#items"
    long = "x" * 5_000
    assert write(address, [{"title": f"{long}1"}, {"title": f"{long}2"}]) == 2
    assert len(read(address, "SELECT * FROM items")) == 2


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("postgresql://me:secret@127.0.0.1:1/db", r"names no table; add it after a #, such as '.*/db#items'"),
        ("postgresql://me:secret@127.0.0.1:1/db#items", "cannot be reached"),
        ("mysql+nodriver://me:secret@h/db#items", "needs a driver that is not installed"),
        ("oracle://me:secret@h/db#items", "needs a driver that is not installed"),
    ],
)
def test_what_cannot_be_reached_says_why_and_hides_the_password(name: str, said: str) -> None:
    with pytest.raises(ExportError, match=said) as caught:
        SqlTarget.parse(name).check()
    assert "secret" not in str(caught.value)


def test_databases_are_told_from_files_and_buckets() -> None:
    names = ("sqlite:///x.db#a", "postgres://h/d#a", "s3://b/x.csv", "x.csv", "-")
    assert [name for name in names if is_database(name)] == ["sqlite:///x.db#a", "postgres://h/d#a"]
