"""When two addresses are the same page, and which addresses stand in a text.

The canonical form is for comparing only: what is fetched, shown and cited stays byte for byte what it was.
"""

from __future__ import annotations

import posixpath
import re
from functools import lru_cache
from urllib.parse import SplitResult, quote, unquote, urlsplit

# Keys that say where a reader came from, not what is read. A key that can be an identity (id, p, page, v) is not here.
_TRACKING = frozenset(
    """fbclid gclid gclsrc dclid gbraid wbraid msclkid yclid ysclid twclid ttclid igshid igsh li_fat_id mc_cid mc_eid
    _ga _gl _hsenc _hsmi __hssc __hstc __hsfp hsctatracking mkt_tok vero_id vero_conv oly_anon_id oly_enc_id wickedid
    s_cid ncid cmpid cmp icid ref ref_src ref_url referrer spm scm smid sr_share share srsltid epik _branch_match_id
    trk trkcampaign hss_channel guccounter guce_referrer guce_referrer_sig __twitter_impression ved usg sca_esv
    sc_campaign sc_channel ito xtor wt.mc_id at_medium at_campaign cn-reloaded __s ss_source rb_clickid feature
    phpsessid jsessionid sessionid aspsessionid amp""".split()  # noqa: SIM905
)
_TRACKING_PREFIXES = ("utm_", "pk_", "piwik_", "mtm_", "matomo_", "hsa_", "at_custom", "ns_", "itm_")
_VARIANTS = frozenset(("www", "m", "mobile", "amp"))  # first labels of a host that name another dress of the same page
_DEFAULT_PORTS = {"http": 80, "https": 443}
_INDEX = re.compile(r"/(?:index\.(?:html?|php)|default\.aspx?)\Z", re.IGNORECASE)
_SESSION = re.compile(r";(?:jsessionid|phpsessid|sid)=[^/;?]*", re.IGNORECASE)
_ESCAPE = re.compile(r"%([0-9A-Fa-f]{2})")
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_SAFE = "!$&'()*+,;=:@/%~-._"
_AMP_CACHE = re.compile(r"/[civ]/(s/)?([^/]+\.[^/]+/.*)|/amp/(s/)?([^/]+\.[^/]+/.*)")
_ARXIV = re.compile(r"(/(?:abs|pdf|html)/(?:[a-z-]+(?:\.[A-Z]{2})?/)?[\d.]*\d)(?:v\d+)?(?:\.pdf)?\Z")

# Quotes, brackets and full-width punctuation end an address in running text, a pipe in a table, "](" in Markdown.
_URL = re.compile(
    r"https?://(?:(?!\]\()[^\s<>\"`|\\^{}\x00-\x1f\u3000-\u3002\uff0c\uff1a\uff1b\u300a-\u3011\uff08\uff09”“]){1,4096}",
    re.IGNORECASE,
)
_MAX_URL = 4096  # characters; an address that was cut is another address
_TRAILING = ".,;:!?'*_…’»"


@lru_cache(maxsize=4096)
def canonical_url(url: str) -> str:
    """The comparison key of `url`: two addresses of one page have the same. Never raises.

    Without fragment, tracking parameters, default port, user name; with https, sorted parameters, the desktop
    host and the plain path. Addresses that are not http stay themselves.
    """
    text = re.sub(r"[\t\r\n\0]", "", url.strip())
    try:
        parts = urlsplit(text)
        if parts.scheme.lower() not in _DEFAULT_PORTS or not parts.hostname:
            return text
        if inner := _behind_amp_cache(parts):
            return canonical_url(inner)
        host = _canonical_host(parts)
        path, query = _canonical_path(parts.path), _canonical_query(parts.query, host)
    except (ValueError, UnicodeError, RecursionError):
        return text
    host, path, query = _site_rules(host, path, query)
    # In some applications the fragment is the page.
    route = f"#{parts.fragment}" if parts.fragment.startswith(("!", "/")) else ""
    return f"https://{host}{path}" + (f"?{query}" if query else "") + route


def url_host(url: str) -> str:
    """The canonical host of `url`, with its port where that is not the default; "" when there is none."""
    try:
        parts = urlsplit(url.strip())
        return _canonical_host(parts) if parts.scheme.lower() in _DEFAULT_PORTS and parts.hostname else ""
    except (ValueError, UnicodeError):
        return ""


def find_urls(text: str) -> list[str]:
    """The http(s) addresses in plain text or Markdown, in order, each once, without the punctuation after them."""
    whole = (found for found in _URL.findall(text) if len(found) < _MAX_URL)
    return list(dict.fromkeys(url for found in whole if url_host(url := _trimmed(found))))


def _trimmed(url: str) -> str:
    """Without what belongs to the sentence around: a closing bracket stays only if it was opened inside."""
    while url:
        last = url[-1]
        unopened = last in ")]" and url.count(last) > url.count("(" if last == ")" else "[")
        if last not in _TRAILING and not unopened:
            break
        url = url[:-1]
    return url


def _canonical_host(parts: SplitResult) -> str:
    import idna

    name = (parts.hostname or "").rstrip(".")
    if not name.isascii():
        try:
            name = idna.encode(name, uts46=True).decode("ascii")
        except idna.IDNAError:
            name = name.encode("idna").decode("ascii")
    labels = name.lower().split(".")
    labels = [label for label in labels[:-2] if label not in _VARIANTS] + labels[-2:]
    port = parts.port
    name = f"[{name}]" if ":" in name else ".".join(labels)
    return name if port in (None, _DEFAULT_PORTS[parts.scheme.lower()]) else f"{name}:{port}"


def _canonical_path(path: str) -> str:
    path = _SESSION.sub("", _escapes(path))
    path = posixpath.normpath("/" + path.lstrip("/")) if path else "/"
    path = re.sub("/{2,}", "/", _INDEX.sub("/", path))
    segments = path.strip("/").split("/")
    if len(segments) > 1 and segments[0] == "amp":
        segments = segments[1:]
    if len(segments) > 1 and segments[-1] in ("amp", "amp.html"):
        segments = segments[:-1]
    segments[-1] = re.sub(r"\.amp(?=\.html?\Z|\Z)", "", segments[-1]) or segments[-1]
    return "/" + "/".join(segments)


def _canonical_query(query: str, host: str) -> str:
    pairs: list[tuple[str, str]] = []
    for part in query.split("&"):
        key, _, value = part.partition("=")
        key, value = (_escapes(text.replace("+", "%20"), safe="!$'()*,;:@/?%~-._") for text in (key, value))
        if key and not _is_tracking(key, value, host):
            pairs.append((key, value))
    pairs.sort(key=lambda pair: pair[0])  # the values of one key keep their order
    return "&".join(f"{key}={value}" if value else key for key, value in pairs)


def _is_tracking(key: str, value: str, host: str) -> bool:
    name = key.lower()
    if name == "ref" and "git" in host:
        return False  # the branch
    if name == "outputtype":
        return value.lower() == "amp"
    return name in _TRACKING or name.startswith(_TRACKING_PREFIXES)


def _escapes(text: str, safe: str = _SAFE) -> str:
    """Percent-encoding in one spelling: upper case, and only where it is needed."""

    def one(match: re.Match[str]) -> str:
        char = chr(int(match[1], 16))
        return char if char in _UNRESERVED else match[0].upper()

    return quote(_ESCAPE.sub(one, text), safe=safe, errors="replace")


def _behind_amp_cache(parts: SplitResult) -> str:
    """The address that a copy on Google's AMP servers stands for."""
    host = (parts.hostname or "").lower()
    if not host.endswith(".cdn.ampproject.org") and not re.fullmatch(r"(www\.)?google\.[a-z.]{2,6}", host):
        return ""
    found = _AMP_CACHE.fullmatch(parts.path)
    if not found or (found[4] is None) != host.endswith(".cdn.ampproject.org"):
        return ""
    return f"https://{found[2] or found[4]}" + (f"?{parts.query}" if parts.query else "")


def _site_rules(host: str, path: str, query: str) -> tuple[str, str, str]:
    """Sites with several addresses for one page that research meets every day."""
    if host in ("arxiv.org", "export.arxiv.org"):
        return "arxiv.org", _ARXIV.sub(r"\1", path), query
    if host in ("doi.org", "dx.doi.org"):
        return "doi.org", path.lower().replace("%2f", "/"), query
    if host == "youtu.be" and len(path) > 1:
        return "youtube.com", "/watch", "&".join(filter(None, [query, f"v={path[1:]}"]))
    if host.endswith(".wikipedia.org"):
        return host, path.replace("%20", "_"), query
    return host, path, query


def short_address(url: str) -> str:
    """An address as far as a person needs it: a file's name, a page's host and path; as it is where it is none."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return url
    if parts.scheme == "file":
        return unquote(parts.path.rsplit("/", 1)[-1])
    return f"{parts.netloc}{parts.path}" if parts.netloc else url
