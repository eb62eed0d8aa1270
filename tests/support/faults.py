"""Every way in which pages and servers go wrong, each under a path of the fake web that names it."""

from __future__ import annotations

import asyncio
import base64
import functools
import gzip
import zlib
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from tests.support.pdfs import LOCK, pdf

if TYPE_CHECKING:
    from tests.support.fake_web import Answer, FakeWeb, Handler, Reply, Request

MARKER = "The lighthouse keeper counted forty-one ships before breakfast."
PROSE = f"{MARKER} He wrote the number into a book, as he had done every morning for years.\n\n" + (
    "The harbour below was quiet, and the boats of the fishermen lay side by side along the wall. " * 5
)
RUSSIAN = "Смотритель маяка насчитал сорок один корабль до завтрака. " * 8

# 300 MB of zeros in 473 bytes of brotli, written by the reference encoder.
_BROTLI = (
    "y///P/gnAOKxQCD3/o///3/wTwDEYRGA7v0f////4J8AiMMCAN37P/7//8E/ARCHBQC693/8//+DfwIgDgsAdO//+P//B/8EQBwWAOje//H//w/+"
    "CYA4LADQvf/j//8f/BMAcVgAoHv/x///P/gnAOKwAED3/o///3/wTwDEYQGA7v0f////4J8AiMMCAN37P/7//8E/ARCHBQC693/8//+DfwIgDgsA"
    "dO//+P//B/8EQBwWAOje//H//w/+CYA4LADQvf/j//8f/BMAcVgAoHv/x///P/gnAOKwAED3/o///3/wTwDEYQGA7v0f////4J8AiMMCAN37P/7/"
    "/8E/ARCHBQC693/8//+DfwIgDgsAdO//+P//B/8EQBwWAOje//H//w/+CYA4LADQvf/j//8f/BMAcVgAoHv/x///P/gnAOKwAED3/o///3/wTwDE"
    "YQGA7v0f////4J8AiMMCAN37P/7//8E/ARCHBQC693/8//+DfwIgDgsAdO//+P//B/8EQBwWAOje//H//w/+CYA4LADQvf/j//8f/BMAcVgAoHv/"
    "x///P/gnAOKwAED3/o///3/wTwDEYQGA7v0f////4J8AiMMCAN37v/wXDcM/ARCHBQC6mmE="
)

# Pages with status 200 that are not what was asked for. {name: (title, body)}
NOT_EVIDENCE = {
    "/blocked": (
        "Attention Required! | Cloudflare",
        "<h1>Sorry, you have been blocked</h1><p>You are unable to access example.com</p><h2>Why have I been"
        " blocked?</h2><p>This website is using a security service to protect itself from online attacks. The action"
        " you just performed triggered the security solution. There are several actions that could trigger this block"
        " including submitting a certain word or phrase, a SQL command or malformed data.</p><p>Cloudflare Ray ID: 8c",
    ),
    "/moment": (
        "Just a moment...",
        "<noscript>Enable JavaScript and cookies to continue</noscript><script src=/cdn-cgi/challenge-platform/h/g>"
        "</script><h2>Verifying you are human. This may take a few seconds.</h2>",
    ),
    "/captcha": (
        "Are you a robot?",
        "<p>We've detected unusual traffic from your computer network. To continue, please complete the captcha"
        " below.</p>",
    ),
    "/denied": (
        "Access Denied",
        '<h1>Access Denied</h1>You don\'t have permission to access "http://example.com/a" on this server.<p>'
        "Reference #18.2d351ab8.1557333295.a4e16ab",
    ),
    "/cookies": (
        "Before you continue",
        "<h1>We value your privacy</h1><p>We and our 842 partners store and access cookies on your device and process"
        " personal data for ads and content measurement.</p><p>You can accept all or manage your privacy choices at any"
        " time. Our partners process some data on the basis of legitimate interest.</p><button>Accept all</button>",
    ),
    "/cookies-de": (
        "Zustimmung",
        "<p>Mit Werbung und Tracking weiterlesen: Besuchen Sie uns wie gewohnt mit Cookies.</p><p>Die Zustimmung ist"
        " jederzeit widerrufbar. Details in der Datenschutzerklärung.</p>",
    ),
    "/login": (
        "Log in - Journal",
        "<h1>Log in</h1><form><input name=user><input type=password name=p><button>Log in</button></form>"
        "<p>Forgot your password? Create an account.</p>",
    ),
    "/shell": (
        "App",
        '<noscript>You need to enable JavaScript to run this app.</noscript><div id="root"></div>'
        "<script src=/a.js></script>",
    ),
    "/redirecting": ("Example", "<p>Redirecting...</p><script>location.href = '/elsewhere'</script>"),
    "/soft404": (
        "Page not found - Example",
        "<nav><ul>" + "<li><a href=/x>A menu entry of some length</a></li>" * 30 + "</ul></nav>"
        "<h1>Oops!</h1><p>The page you are looking for does not exist. Try our search.</p>",
    ),
    "/soft404-fr": ("Page introuvable", "<h1>Page introuvable</h1><p>Désolé, cette page n'existe plus.</p>"),
    "/maintenance": ("Service unavailable", "<h1>Service temporarily unavailable</h1><p>We will be back soon.</p>"),
    "/for-sale": ("example.com", "<h1>This domain is for sale</h1><p>Buy this domain today.</p>"),
}  # fmt: skip


def add_faults(web: FakeWeb) -> None:
    """Add a route for each of them."""
    from tests.support.fake_web import Answer, article_html

    good = article_html(PROSE, title="The keeper").encode()
    web.route("/good", Answer(good))
    for path, (title, body) in NOT_EVIDENCE.items():
        web.route(path, Answer(f"<html><head><title>{title}</title></head><body>{body}</body></html>".encode()))
    for status in (401, 403, 404, 410, 418, 451, 500, 503):
        web.route(f"/{status}", Answer(b"<h1>No</h1>", status=status))
    _add_statuses(web, good)
    _add_redirects(web, good)
    _add_types(web)
    _add_slow(web)
    _add_compressed(web, good)
    _add_heavy(web)


def _add_statuses(web: FakeWeb, good: bytes) -> None:
    from tests.support.fake_web import Answer

    web.route("/429", Answer(b"slow down", status=429, headers={"Retry-After": "3600"}))
    web.route("/429-once", in_turn(Answer(status=429, headers={"Retry-After": "0"}), Answer(good)))
    web.route("/503-once", in_turn(Answer(status=503), Answer(good)))
    web.route("/broken-off-once", in_turn(_cut_off(good), Answer(good)))
    web.route("/broken-off", _cut_off(good))
    web.route("/garbage", b"SSH-2.0-OpenSSH_9.6\r\n")
    web.route("/only-http2", bytes.fromhex("00001204000000000000030000008000040000ffff000500004000"))
    web.route("/many-headers", b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 2_000_000)


def _add_redirects(web: FakeWeb, good: bytes) -> None:
    from tests.support.fake_web import Answer

    for path, target in {
        "/moved": "/good?from=%C3%A9&x=a+b#part",
        "/loop": "/loop-back",
        "/loop-back": "/loop",
        "/to-metadata": "http://169.254.169.254/latest/meta-data/",
        "/to-decimal": "http://2130706433/",
        "/to-file": "file:///etc/passwd",
        "/to-user": "http://user:secret@127.0.0.1/",
        "/to-nothing": "",
    }.items():
        web.route(path, Answer(status=302, headers={"Location": target}))
    web.route("/to-private", lambda request: Answer(status=302, headers={"Location": web.private_url}))
    web.route(
        "/cookie-first",
        lambda request: (
            Answer(good)
            if "seen=1" in request.headers.get("cookie", "")
            else Answer(status=302, headers={"Location": "/cookie-first", "Set-Cookie": "seen=1; Path=/"})
        ),
    )
    web.route("/refresh", Answer(b'<meta http-equiv="refresh" content="0; url=/good">'))
    web.route("/refresh-loop", Answer(b'<meta http-equiv="refresh" content="0; url=/refresh-loop">'))


def _add_types(web: FakeWeb) -> None:
    from tests.support.fake_web import Answer

    web.route("/paper", Answer(pdf(MARKER), "application/pdf"))
    web.route("/paper-untyped", Answer(pdf(MARKER), "application/octet-stream"))
    web.route("/paper-as-html", Answer(pdf(MARKER), "text/html"))
    web.route("/paper-locked", Answer(pdf(MARKER, encrypt=LOCK), "application/pdf"))
    web.route("/image", Answer(b"\x89PNG\r\n\x1a\n" + bytes(200), "image/png"))
    web.route("/binary", Answer(bytes(range(256)) * 20, "application/octet-stream"))
    web.route("/untyped", Answer(f"<!doctype html><html><body><p>{MARKER}</p></body></html>".encode(), None))
    web.route("/text", Answer(MARKER.encode(), "text/plain"))
    web.route("/notes", Answer(f"# Notes\n\n{MARKER}\n".encode(), "text/markdown"))
    web.route("/json", Answer(f'{{"note": {{"text": "{MARKER}", "ships": 41}}}}'.encode(), "application/json"))
    web.route("/feed", Answer(FEED.encode(), "application/rss+xml"))
    web.route(
        "/wrong-charset",
        Answer(
            f"<html><body><article><p>{RUSSIAN}</p></article></body></html>".encode("cp1251"),
            "text/html; charset=utf-8",
        ),
    )


def _add_slow(web: FakeWeb) -> None:
    from tests.support.fake_web import Answer

    web.route("/slow-header", Answer(b"late", delay=30))
    web.route("/slow-body", lambda request: Answer(_drip()))
    web.route("/endless", lambda request: Answer(_endless()))
    web.route("/endless-untyped", lambda request: Answer(_endless(b"\0\1\2" * 1000), "application/octet-stream"))


def _add_compressed(web: FakeWeb, good: bytes) -> None:
    from tests.support.fake_web import Answer

    def packed(body: bytes, encoding: str) -> Answer:
        return Answer(body, headers={"Content-Encoding": encoding})

    web.route("/gzip", packed(gzip.compress(good), "gzip"))
    web.route("/two-gzips", packed(gzip.compress(good[:300]) + gzip.compress(good[300:]) + b"\0" * 9, "gzip"))
    web.route("/deflate", packed(zlib.compress(good), "deflate"))
    web.route("/bare-deflate", packed(zlib.compress(good)[2:-4], "deflate"))
    web.route("/broken-gzip", packed(b"this is no gzip", "gzip"))
    web.route("/gzip-bomb", lambda request: packed(gzip_bomb(), "gzip"))
    web.route("/double-gzip-bomb", lambda request: packed(gzip.compress(gzip_bomb()), "gzip, gzip"))
    web.route("/brotli-bomb", packed(base64.b64decode(_BROTLI), "br"))
    web.route("/zstd-bomb", packed(zstd_bomb(), "zstd"))


def _add_heavy(web: FakeWeb) -> None:
    from tests.support.fake_web import Answer

    web.route("/10mb", lambda request: Answer(_ten_megabytes()))
    web.route("/nested", lambda request: Answer(_wrapped("<div>" * 100_000, "</div>" * 100_000)))
    flood = "".join(f' a{i}="<"' for i in range(40_000))
    web.route("/attributes", lambda request: Answer(_wrapped(f"<p{flood}>", "</p>")))


def _wrapped(before: str, after: str) -> bytes:
    return f"<html><body>{before}<p>{MARKER}</p>{after}</body></html>".encode()


def _ten_megabytes() -> bytes:
    filler = "<p>" + "Another sentence about nothing in particular. " * 40 + "</p>\n"
    return _wrapped("<article>", filler * (10_000_000 // len(filler)) + "</article>")


FEED = f"""<?xml version="1.0" encoding="utf-8"?>
<rss version="2.0"><channel><title>Harbour news</title><description>What ships do</description>
<item><title>Ships &amp; boats</title><link>https://example.org/ships</link>
<pubDate>Mon, 06 May 2024 10:00:00 GMT</pubDate><description>&lt;p&gt;{MARKER}&lt;/p&gt;</description></item>
<item><title>Second</title><link>https://example.org/second</link><description>More.</description></item>
</channel></rss>"""


def in_turn(*replies: Reply) -> Handler:
    """The first answer for the first request and so on; the last one for ever."""
    left = list(replies)

    def answer(request: Request) -> Reply:
        return left.pop(0) if len(left) > 1 else left[0]

    return answer


@functools.cache
def gzip_bomb(size: int = 300_000_000) -> bytes:
    """`size` zeros, a thousandth of that long."""
    packer = zlib.compressobj(1, wbits=31)
    million = bytes(1_000_000)
    return b"".join(packer.compress(million) for _ in range(size // len(million))) + packer.flush()


def zstd_bomb(blocks: int = 2400) -> bytes:
    """300 MB of zeros: blocks of 128 KB that each repeat one byte (RFC 8878, RLE blocks)."""
    header = bytes.fromhex("28b52ffd") + bytes([0x00, 0x38])
    block = (131_072 << 3 | 1 << 1).to_bytes(3, "little") + b"\0"
    last = (131_072 << 3 | 1 << 1 | 1).to_bytes(3, "little") + b"\0"
    return header + block * (blocks - 1) + last


def _cut_off(body: bytes) -> bytes:
    return b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n" % (len(body) + 1000) + body[:100]


async def _drip() -> AsyncIterator[bytes]:
    while True:
        yield b"x"
        await asyncio.sleep(0.1)


async def _endless(chunk: bytes = b"<p>And so on, and so on.</p>\n" * 1000) -> AsyncIterator[bytes]:
    while True:
        yield chunk
