"""Which characters the bytes of a page or text file stand for."""

from __future__ import annotations

import codecs
import re

from research_agent.errors import SourceError

_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_META_CHARSET = re.compile(rb"<meta\b[^>]{0,500}?charset\s*=\s*[\"']?\s*([\w.:+-]{2,40})", re.IGNORECASE)
_XML_CHARSET = re.compile(rb"\A\s*<\?xml\b[^<>]{0,200}?encoding\s*=\s*[\"']([\w.:+-]{2,40})", re.IGNORECASE)
# What browsers make of labels that are mostly used for a superset (https://encoding.spec.whatwg.org/#names-and-labels).
_SUPERSET = {
    "ascii": "cp1252", "iso8859-1": "cp1252", "gb2312": "gb18030", "gbk": "gb18030", "shift_jis": "cp932",
    "euc_kr": "cp949", "big5": "cp950", "iso8859-9": "cp1254", "tis-620": "cp874", "iso8859-11": "cp874",
}  # fmt: skip
_CONTROL = re.compile("[\x01-\x08\x0e-\x1a\x1c-\x1f]")


def decode(data: bytes, *, declared: str = "", html: bool = False) -> str:
    """`data` as text: byte order mark, UTF-8 that can be nothing else, declared charset, then a guess.

    `html` means that the text itself may declare it, in a ``<meta>`` tag or an XML declaration.
    Raises `SourceError` for bytes that are not text in any charset.
    """
    for mark, name in _BOMS:
        if data.startswith(mark):
            return data[len(mark) :].decode(name, "replace")
    if wide := _wide(data):
        return _not_binary(data.decode(wide, "replace"))
    meta = (_XML_CHARSET.search(data[:500]) or _META_CHARSET.search(data[:4096])) if html else None
    labels = [declared, meta[1].decode("ascii", "replace") if meta else ""]
    charsets = [name for name in map(_codec, labels) if name]
    stateful = [name for name in charsets if name.startswith(("iso2022", "hz"))]  # these look like ASCII
    # Bytes of another charset are next to never valid UTF-8, while a declaration is often wrong.
    for name in [*stateful, "utf-8", *charsets]:
        text = _strict(data, name)
        if text is not None:
            return _not_binary(text)
    return _not_binary(_guess(data, charsets))


def _wide(data: bytes) -> str:
    """UTF-16 without a mark: in most scripts with spaces, every other byte of it is zero."""
    sample = data[:4000]
    if len(sample) < 8 or sample.count(0) < len(sample) // 5:
        return ""
    even, odd = sample[::2].count(0), sample[1::2].count(0)
    if odd > 9 * even:
        return "utf-16-le"
    return "utf-16-be" if even > 9 * odd else ""


def _codec(label: str) -> str:
    try:
        found = codecs.lookup(label)
        b"a".decode(found.name)  # refuses codecs that are no charsets, such as rot13 and hex
    except (LookupError, ValueError, TypeError):
        return ""
    # A page whose declaration could be read byte by byte is not UTF-16 or UTF-32.
    return "" if found.name.startswith(("utf-16", "utf-32")) else _SUPERSET.get(found.name, found.name)


def _strict(data: bytes, name: str) -> str | None:
    """`data` in that charset; a few broken bytes are forgiven, as in a page that was cut or badly pasted."""
    try:
        return data.decode(name)
    except UnicodeDecodeError:
        text = data.decode(name, "replace")
    except (ValueError, LookupError):
        return None
    foreign = sum(map(len, re.findall("[^\x00-\x7f]+", text)))
    return text if text.count("\ufffd") <= max(1, foreign // 50) and foreign > 3 else None


def _guess(data: bytes, charsets: list[str]) -> str:
    from charset_normalizer import from_bytes

    # Markup is ASCII and says nothing about the charset; a short sample keeps the guess quick.
    sample = re.sub(rb"<[^<>]{0,5000}>", b" ", data[:200_000])[:20_000]
    found = from_bytes(sample, cp_exclusion=["utf_16", "utf_32", "utf_7"]).best()
    if found is None and not charsets:
        raise SourceError("it is not text in any known charset; save it as UTF-8 or use another source")
    return data.decode(found.encoding if found else charsets[0], "replace")


def _not_binary(text: str) -> str:
    sample = text[:20_000]
    if len(_CONTROL.findall(sample)) + sample.count("\0") // 4 > 3 + len(sample) // 20:
        raise SourceError("it is a binary file, not text; use another source")
    return text
