"""The address that is printed for other programs."""

from __future__ import annotations

import pytest
from psycopg.conninfo import conninfo_to_dict

from research_agent.errors import StorageError
from research_agent.settings import Settings
from research_agent.storage.psql import address


@pytest.mark.parametrize(
    "given",
    [
        "postgresql://u:s3cret%40x@db.example:5433/runs?sslmode=require",
        "host='/tmp/x y' user='a b' password='s3cret' dbname=r",
        "postgresql://u:s3cret@[::1]/runs",
        "postgresql:///runs?password=s3cret&host=h1,h2&port=1,2&sslpassword=s3cret",
        "postgresql://",
    ],
)
def test_it_names_the_same_database_without_a_password(given: str) -> None:
    url, command = address(Settings(database_url=given))
    assert "s3cret" not in url + command
    expected = {name: value for name, value in conninfo_to_dict(given).items() if "password" not in name}
    assert conninfo_to_dict(url) == expected
    assert command.startswith("psql ")


def test_a_malformed_address_is_said_without_repeating_it() -> None:
    with pytest.raises(StorageError, match="DATABASE_URL is malformed") as caught:
        address(Settings(database_url="postgresql://u:s3cret@h:x y/z"))
    assert "s3cret" not in str(caught.value)
