"""Which addresses may be talked to, checked for the very address that a connection is made to.

A name is resolved once, inside the connection: all its addresses are checked and one of them is connected to
as a number, so that a name server can't answer twice and differently.
"""

from __future__ import annotations

import asyncio
import ipaddress
import re
import time
from collections.abc import Collection, Iterable
from typing import Any
from urllib.parse import urldefrag, urljoin

import httpcore
import httpx

from research_agent.errors import UsageError
from research_agent.web.errors import AddressRefused, TimedOut, Unreachable
from research_agent.web.names import Resolver, system_resolver

IP = ipaddress.IPv4Address | ipaddress.IPv6Address
DNS_SECONDS = 5.0
CONNECT_SECONDS = 5.0
MAX_URL = 4096  # characters
_MAX_TRIES = 4  # addresses of one host
_PORTS = {"http": 80, "https": 443}

# IANA special-purpose registries, plus Azure's WireServer, which has a public number. `ipaddress.is_global` lets
# some 1,300 special addresses of a 27,000 sample pass.
_DENIED_V4 = tuple(
    map(
        ipaddress.IPv4Network,
        """0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 168.63.129.16/32 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24
        192.0.2.0/24 192.31.196.0/24 192.52.193.0/24 192.88.99.0/24 192.168.0.0/16 192.175.48.0/24 198.18.0.0/15
        198.51.100.0/24 203.0.113.0/24 224.0.0.0/3""".split(),  # noqa: SIM905
    )
)
_GLOBAL_V6 = ipaddress.IPv6Network("2000::/3")
_DENIED_V6 = tuple(
    map(ipaddress.IPv6Network, ("2001::/23", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20"))
)
_EMBEDDED_V4 = tuple(map(ipaddress.IPv6Network, ("::ffff:0:0/96", "64:ff9b::/96")))
# Not even for a name that the user allowed: clouds hand out credentials at link-local addresses.
_NEVER = tuple(
    map(ipaddress.ip_network, ("0.0.0.0/8", "169.254.0.0/16", "168.63.129.16/32", "224.0.0.0/3", "fe80::/10",
                               "ff00::/8", "fd00:ec2::254/128"))
)  # fmt: skip

# The last label begins with a letter: 127.1, 0x7f.1, 0177.0.0.1 and 2130706433 are no names.
_HOST = re.compile(
    r"(?=.{1,253}\Z)(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9])?\.)+(?:[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?)\.?\Z"
)
_PRIVATE_SUFFIXES = frozenset(
    ("localhost", "local", "internal", "localdomain", "home", "lan", "corp", "intranet", "onion", "arpa")
)
_UNSAFE = re.compile(r"[\x00-\x1f\x7f\\]")


def is_public(ip: IP) -> bool:
    """Whether `ip` is a unicast address of the public internet; IPv4 inside IPv6 counts as what it stands for."""
    if isinstance(ip, ipaddress.IPv4Address):
        return not any(ip in net for net in _DENIED_V4)
    if any(ip in net for net in _EMBEDDED_V4):
        return is_public(_inner_v4(ip))
    return ip in _GLOBAL_V6 and not any(ip in net for net in _DENIED_V6)


class AddressPolicy:
    """Public hosts on ports 80 and 443, and what is allowed on top.

    `allow_hosts` are ``host`` (ports 80 and 443) or ``host:port``; IPv6 addresses stand in brackets. `everything`
    opens all hosts and ports: for an address that the user configured, never for one that a page or model gave.
    Raises `UsageError` for entries of another form.
    """

    def __init__(self, allow_hosts: Collection[str] = (), *, everything: bool = False) -> None:
        self._allowed = frozenset(pair for entry in allow_hosts for pair in _host_ports(entry))
        self._everything = everything

    def check_url(self, url: str) -> httpx.URL:
        """`url` parsed; raises `AddressRefused` when nothing may be sent to it whatever its name resolves to."""
        if len(url) > MAX_URL or _UNSAFE.search(url):
            raise AddressRefused("that is not a usable address: copy one from a search result")
        try:
            parsed = httpx.URL(url)
            host = _plain(parsed.raw_host.decode("ascii"))
        except (httpx.InvalidURL, ValueError, TypeError):
            raise AddressRefused("that is not a usable address: copy one from a search result") from None
        if parsed.scheme not in _PORTS or not host:
            raise AddressRefused("only http and https addresses can be read: use another source")
        if parsed.userinfo:
            raise AddressRefused("addresses with a user name or password are not fetched: use another source")
        self.check_host(host, parsed.port or _PORTS[parsed.scheme])
        return parsed

    def check_host(self, host: str, port: int) -> None:
        """Raise `AddressRefused` for a port or a host that is refused by its spelling."""
        if self.allows(host, port):
            return
        if port not in _PORTS.values():
            raise AddressRefused(f"port {port} is not fetched from: use another source")
        if (ip := _literal(host)) is not None:
            if not is_public(ip):
                raise AddressRefused(f"{host} is not a public address: use another source")
        elif not _HOST.match(host) or host.rstrip(".").rpartition(".")[2] in _PRIVATE_SUFFIXES:
            raise AddressRefused(f"{host[:80]} is not a public host: use another source")

    def check_addresses(self, host: str, port: int, addresses: Iterable[IP]) -> None:
        """Raise `AddressRefused` unless every address that `host` resolved to may be connected to."""
        found = list(addresses)
        if self.allows(host, port):
            refused = _literal(host) is None and any(ip in net for ip in map(_unmapped, found) for net in _NEVER)
        else:
            refused = not all(map(is_public, found))
        if refused:
            raise AddressRefused(f"{host[:80]} leads to a private address: use another source")

    def allows(self, host: str, port: int) -> bool:
        """Whether the user opened this host and port."""
        return self._everything or (_plain(host), port) in self._allowed


class GuardedBackend(httpcore.AsyncNetworkBackend):
    """Connections to allowed addresses only. TLS, host names and pooling stay httpcore's own."""

    def __init__(
        self,
        policy: AddressPolicy,
        *,
        resolver: Resolver | None = None,
        inner: httpcore.AsyncNetworkBackend | None = None,
    ) -> None:
        self._policy = policy
        self._resolve = resolver or system_resolver
        self._inner = inner or httpcore.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - httpcore's interface
        local_address: str | None = None,
        socket_options: Any = None,
    ) -> httpcore.AsyncNetworkStream:
        """Connect to the first address of `host` that answers, after all of them were checked."""
        host = _plain(host)
        self._policy.check_host(host, port)
        addresses = await self._addresses(host, port)
        self._policy.check_addresses(host, port, addresses)
        ends = time.monotonic() + (timeout or CONNECT_SECONDS)
        candidates = _interleaved(addresses)[:_MAX_TRIES]
        for tries_left, ip in zip(range(len(candidates), 0, -1), candidates, strict=True):
            # A dead first address must not use up the time of the others.
            seconds = max(0.1, (ends - time.monotonic()) / min(2, tries_left))
            try:
                stream = await self._inner.connect_tcp(str(ip), port, seconds, local_address, socket_options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout):
                if tries_left == 1:
                    raise
                continue
            peer = stream.get_extra_info("server_addr")
            if peer and _unmapped(ipaddress.ip_address(str(peer[0]).partition("%")[0])) != _unmapped(ip):
                await stream.aclose()
                raise AddressRefused(f"{host[:80]} leads to another address than it says: use another source")
            return stream
        raise AssertionError("unreachable")

    async def connect_unix_socket(self, *args: Any, **options: Any) -> httpcore.AsyncNetworkStream:
        """Refused: nothing on the web is a Unix socket."""
        raise AddressRefused("Unix sockets are not fetched from: use another source")

    async def sleep(self, seconds: float) -> None:
        """Between httpcore's own connection attempts."""
        await asyncio.sleep(seconds)

    async def _addresses(self, host: str, port: int) -> list[IP]:
        if (literal := _literal(host)) is not None:
            return [literal]
        try:
            async with asyncio.timeout(DNS_SECONDS):
                found = await self._resolve(host, port)
        except TimeoutError:
            raise TimedOut(f"the name {host[:80]} was not resolved in time: try another source") from None
        except (OSError, UnicodeError):
            raise Unreachable(f"there is no host {host[:80]}: check the address, or try another source") from None
        addresses = list(dict.fromkeys(ipaddress.ip_address(text.partition("%")[0]) for text in found))
        if not addresses:
            raise Unreachable(f"there is no host {host[:80]}: check the address, or try another source")
        return addresses


def next_hop(url: str, location: str) -> str:
    """Where `url` sends its reader on to, without fragment. Raises `AddressRefused` for what is no address."""
    try:
        return urldefrag(urljoin(url, location.strip()))[0]
    except ValueError:
        raise AddressRefused("it redirects to something that is no address: use another source") from None


def _host_ports(entry: str) -> list[tuple[str, int]]:
    text = entry.strip().lower()
    found = re.fullmatch(r"(\[[0-9a-f:.]+\]|[^\s:/@\[\]]+)(?::(\d{1,5}))?", text)
    if not found:
        raise UsageError(f"allowed host {entry!r} is not host or host:port")
    try:
        host = _plain(httpx.URL(f"http://{found[1]}/").raw_host.decode("ascii"))
    except httpx.InvalidURL:
        raise UsageError(f"allowed host {entry!r} is not host or host:port") from None
    return [(host, int(found[2]))] if found[2] else [(host, port) for port in _PORTS.values()]


def _plain(host: str) -> str:
    return host.lower().strip("[]").removesuffix(".")


def _literal(host: str) -> IP | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def _inner_v4(ip: ipaddress.IPv6Address) -> ipaddress.IPv4Address:
    return ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)


def _unmapped(ip: IP) -> IP:
    return _inner_v4(ip) if isinstance(ip, ipaddress.IPv6Address) and ip in _EMBEDDED_V4[0] else ip


def _interleaved(addresses: list[IP]) -> list[IP]:
    """IPv4 and IPv6 in turn: on many machines one of the two leads nowhere."""
    v4 = [ip for ip in addresses if ip.version == 4]
    v6 = [ip for ip in addresses if ip.version == 6]
    pairs = [ip for pair in zip(v4, v6, strict=False) for ip in pair]
    return pairs + v4[len(v6) :] + v6[len(v4) :]
