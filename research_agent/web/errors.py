"""Why a page or an API could not be had. Each message is one short line for the model: what happened, what to try.

No message holds a full address: query strings and headers carry keys.
"""

from __future__ import annotations

from research_agent.errors import SourceError


class AddressRefused(SourceError):
    """The address is not on the public web (or not http, or another port): nothing was sent to it."""


class Unreachable(SourceError):
    """No usable answer: unknown host, refused connection, broken TLS, broken HTTP, broken compression.

    `passing` says that the same request may well work the next time.
    """

    def __init__(self, message: str, *, passing: bool = False) -> None:
        super().__init__(message)
        self.passing = passing


class TimedOut(SourceError):
    """The total time for one page or call is over."""


class TooManyRedirects(SourceError):
    """The redirects do not come to an end."""


class WrongType(SourceError):
    """Something that has no text: pictures, archives, programs."""


class RobotsDenied(SourceError):
    """The site's robots.txt asks programs to stay away from this page."""


class HostResting(SourceError):
    """The host failed several times in a row and is left alone for a while; nothing was sent."""


class HttpStatus(SourceError):
    """The server answered with an error. `retry_after` is in seconds, ``None`` when it did not say."""

    def __init__(self, message: str, status: int, retry_after: float | None = None) -> None:
        super().__init__(message, f"{status}")
        self.status = status
        self.retry_after = retry_after


class RateLimited(HttpStatus):
    """429: too many requests. `retry_after` is in seconds, ``None`` when the server did not say."""

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message, 429, retry_after)


class NotEvidence(SourceError):
    """A page came, but not the one that was asked for: block page, cookie wall, login, empty shell, soft 404."""
