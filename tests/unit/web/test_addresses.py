"""Where a request may go: whatever the spelling, and whatever the name server says."""

from __future__ import annotations

import ipaddress
from typing import Any

import httpcore
import pytest
from hypothesis import given
from hypothesis import strategies as st

from research_agent.errors import SourceError, UsageError
from research_agent.web.addresses import AddressPolicy, GuardedBackend, is_public
from research_agent.web.errors import AddressRefused, Unreachable

PRIVATE = """0.0.0.0 10.0.0.1 10.255.255.255 100.64.0.1 127.0.0.1 127.255.255.254 168.63.129.16 169.254.169.254
172.16.0.1 172.31.255.255 192.0.0.1 192.0.0.192 192.0.2.1 192.88.99.1 192.168.1.1 198.18.0.1 198.51.100.1 203.0.113.1
224.0.0.1 240.0.0.1 255.255.255.255 :: ::1 ::127.0.0.1 ::ffff:127.0.0.1 ::ffff:10.0.0.1 ::ffff:a9fe:a9fe 64:ff9b::7f00:1
64:ff9b::a9fe:a9fe 64:ff9b:1::a00:1 100::1 2001::1 2001:db8::1 2002:7f00:1:: 2002:a00:1:: fc00::1 fd00:ec2::254 fe80::1
fec0::1 ff02::1 3fff::1 4000::1""".split()  # noqa: SIM905
PUBLIC = [
    "93.184.216.34",
    "8.8.8.8",
    "1.1.1.1",
    "172.32.0.1",
    "2606:2800:220:1::1",
    "::ffff:8.8.8.8",
    "64:ff9b::808:808",
]

REFUSED_URLS = """http://127.1/ http://0/ http://2130706433/ http://0x7f000001/ http://0x7f.1/ http://0177.0.0.1/
http://0177.1/ http://127.0.0.1./ http://127.0.1/ http://①②⑦.⓪.⓪.①/ http://127。0。0。1/ http://localhost/ http://LOCALHOST./
http://a.localhost/ http://printer.local/ http://metadata.google.internal/ http://db.corp/ http://router.lan/ http://intranet/
http://[::1]/ http://[::ffff:7f00:1]/ http://[0:0:0:0:0:0:0:1]/ http://[fe80::1%25eth0]/ http://[::]/ http://user@example.org/
http://user:pass@example.org/ http://example.org:22/ http://example.org:8080/ http://example.org:6379/ https://example.org:25/
ftp://example.org/ file:///etc/passwd gopher://example.org/ data:text/html,x javascript:alert(1) unix:///run/x.sock
http:///path http:// https:// //example.org/ example.org http://example.org\\@127.0.0.1/ http://127.0.0.1\\.example.org/
http://exa%6dple..org/ http://-a-.org/ http://127.0.0.1%00.example.org/ http://%31%32%37.0.0.1/ http://[::1 http://a]b/""".split()  # noqa: SIM905


class Recorder(httpcore.AsyncNetworkBackend):
    """Connects nowhere and remembers where it was told to."""

    def __init__(self, *dead: str, peer: str = "") -> None:
        self.tried: list[str] = []
        self.dead, self.peer = dead, peer

    async def connect_tcp(self, host: str, port: int, *args: Any, **options: Any) -> httpcore.AsyncNetworkStream:
        self.tried.append(host)
        if host in self.dead:
            raise httpcore.ConnectError("dead")
        return Stream((self.peer or host, port))


class Stream(httpcore.AsyncNetworkStream):
    def __init__(self, peer: tuple[str, int]) -> None:
        self.peer, self.closed = peer, False

    def get_extra_info(self, info: str) -> Any:
        return self.peer if info == "server_addr" else None

    async def aclose(self) -> None:
        self.closed = True


class NameServer:
    """Answers in turn; the last answer for ever."""

    def __init__(self, *answers: list[str]) -> None:
        self.answers, self.asked = list(answers), 0

    async def __call__(self, host: str, port: int) -> list[str]:
        self.asked += 1
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


@pytest.mark.parametrize("text", PRIVATE)
def test_special_addresses_are_not_public(text: str) -> None:
    assert not is_public(ipaddress.ip_address(text))


@pytest.mark.parametrize("text", PUBLIC)
def test_ordinary_addresses_are_public(text: str) -> None:
    assert is_public(ipaddress.ip_address(text))


@given(st.ip_addresses())
def test_nothing_that_python_calls_private_is_public(ip: Any) -> None:
    # NAT64 is "private" for some versions of Python, and stands for the address inside.
    if is_public(ip) and not (ip.version == 6 and ip in ipaddress.ip_network("64:ff9b::/96")):
        assert ip.is_global or getattr(ip, "ipv4_mapped", None)
        assert not ip.is_multicast


@pytest.mark.parametrize(
    "url", REFUSED_URLS + [f"http://{ip}/" if ":" not in ip else f"http://[{ip}]/" for ip in PRIVATE]
)
def test_tricky_spellings_are_refused(url: str) -> None:
    with pytest.raises(AddressRefused):
        AddressPolicy().check_url(url)


def test_control_characters_and_endless_addresses_are_refused() -> None:
    for url in ("http://example.org/\r\nHost: x", "http://exa\tmple.org/", "http://example.org/" + "a" * 5000):
        with pytest.raises(AddressRefused):
            AddressPolicy().check_url(url)


@pytest.mark.parametrize(
    "url",
    ["http://example.org", "https://EXAMPLE.org:443/a?b=c#d", "http://example.org:80/", "https://bücher.example/ü?q=ß",
     "http://93.184.216.34/", "https://[2606:2800:220:1::1]/", "https://xn--bcher-kva.example./",
     "http://a_b.example.org/a b"],
)  # fmt: skip
def test_ordinary_addresses_pass(url: str) -> None:
    AddressPolicy().check_url(url)


@given(st.text(max_size=60))
def test_any_text_passes_or_is_refused(text: str) -> None:
    for url in (text, f"http://{text}", f"http://{text}/path", f"https://example.org/{text}"):
        try:
            AddressPolicy().check_url(url)
        except SourceError as error:
            assert "\n" not in str(error)


async def test_the_address_that_was_checked_is_connected_to() -> None:
    inner, names = Recorder(), NameServer(["93.184.216.34"], ["127.0.0.1"])
    backend = GuardedBackend(AddressPolicy(), resolver=names, inner=inner)
    await backend.connect_tcp("rebind.example", 80)
    assert (inner.tried, names.asked) == (["93.184.216.34"], 1)
    with pytest.raises(AddressRefused):  # a new connection is a new check
        await backend.connect_tcp("rebind.example", 80)
    assert inner.tried == ["93.184.216.34"]


@pytest.mark.parametrize(
    "answer", [["93.184.216.34", "127.0.0.1"], ["::1", "93.184.216.34"], ["fe80::1%eth0"], ["::ffff:10.0.0.1"]]
)
async def test_one_private_answer_refuses_the_name(answer: list[str]) -> None:
    inner = Recorder()
    with pytest.raises(AddressRefused, match="private"):
        await GuardedBackend(AddressPolicy(), resolver=NameServer(answer), inner=inner).connect_tcp(
            "mixed.example", 443
        )
    assert inner.tried == []


async def test_another_peer_than_the_checked_one_is_left() -> None:
    backend = GuardedBackend(AddressPolicy(), resolver=NameServer(["93.184.216.34"]), inner=Recorder(peer="10.0.0.1"))
    with pytest.raises(AddressRefused, match="another address"):
        await backend.connect_tcp("example.org", 80)


async def test_dead_addresses_are_passed_over() -> None:
    inner = Recorder("93.184.216.34")
    names = NameServer(["93.184.216.34", "93.184.216.35", "2606:2800:220:1::1"])
    await GuardedBackend(AddressPolicy(), resolver=names, inner=inner).connect_tcp("example.org", 80)
    assert inner.tried == ["93.184.216.34", "2606:2800:220:1::1"]
    dead = GuardedBackend(AddressPolicy(), resolver=NameServer(["93.184.216.34"]), inner=inner)
    with pytest.raises(httpcore.ConnectError):
        await dead.connect_tcp("example.org", 80)


async def test_unknown_names_and_sockets_are_refused() -> None:
    async def unknown(host: str, port: int) -> list[str]:
        raise OSError("no such host")

    with pytest.raises(Unreachable, match="no host"):
        await GuardedBackend(AddressPolicy(), resolver=unknown).connect_tcp("nowhere.example", 80)
    with pytest.raises(AddressRefused):
        await GuardedBackend(AddressPolicy()).connect_unix_socket("/run/docker.sock")


async def test_allowed_hosts_open_that_host_and_port_only() -> None:
    policy = AddressPolicy(["wiki.corp:8080", "127.0.0.1:5000", "[::1]:9", "Intranet"])
    for good in (
        "http://wiki.corp:8080/",
        "http://127.0.0.1:5000/",
        "http://[::1]:9/",
        "http://intranet/",
        "https://intranet/",
    ):
        policy.check_url(good)
    for bad in (
        "http://wiki.corp/",
        "http://127.0.0.1/",
        "http://127.0.0.1:5001/",
        "http://[::1]/",
        "http://intranet:8080/",
    ):
        with pytest.raises(AddressRefused):
            policy.check_url(bad)
    inner = Recorder()
    await GuardedBackend(policy, resolver=NameServer(["10.1.2.3"]), inner=inner).connect_tcp("wiki.corp", 8080)
    assert inner.tried == ["10.1.2.3"]


@pytest.mark.parametrize(
    "address", ["169.254.169.254", "fd00:ec2::254", "::ffff:169.254.169.254", "0.0.0.1", "fe80::1"]
)
async def test_even_an_allowed_name_does_not_lead_to_metadata(address: str) -> None:
    policy = AddressPolicy(["wiki.corp"])
    with pytest.raises(AddressRefused):
        await GuardedBackend(policy, resolver=NameServer([address]), inner=Recorder()).connect_tcp("wiki.corp", 80)


@pytest.mark.parametrize("entry", ["", "http://a.org", "a.org:x", "a.org:1:2", "a@b", "[::1", "a b"])
def test_entries_of_another_form_are_a_usage_error(entry: str) -> None:
    with pytest.raises(UsageError):
        AddressPolicy([entry])
