"""The search index of a corpus: a SQLite file with the text of each document and an FTS5 table of its words.

The file is a cache. Whatever is wrong with it, it can be deleted; whoever opens it next builds it again.
"""

from __future__ import annotations

import contextlib
import hashlib
import math
import re
import sqlite3
import threading
import time
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from research_agent.documents import Page, SearchHit
from research_agent.text import content_words, words

MAX_TERMS = 64  # different words of a query that are used
SNIPPET = 240  # characters
_MAX_QUERY = 8_000  # characters of a query that are looked at
_BUSY = 30.0  # seconds to wait for another process that writes
_SNIPPET_TEXT = 300_000  # characters of a document that are searched for its best passage

# One word of ours is one token: the `ascii` tokenizer splits at ASCII punctuation only, and no other ASCII
# punctuation than the decimal signs is inside a word. Large columns come last, a scan does not touch them.
_SCHEMA = """
CREATE TABLE documents (
    id INTEGER PRIMARY KEY, url TEXT NOT NULL UNIQUE, mtime_ns INTEGER NOT NULL, size INTEGER NOT NULL,
    reason TEXT NOT NULL, title TEXT NOT NULL, media_type TEXT NOT NULL, author TEXT NOT NULL,
    site TEXT NOT NULL, published TEXT NOT NULL, language TEXT NOT NULL, text TEXT NOT NULL);
CREATE VIRTUAL TABLE words USING fts5(title, body, tokenize="ascii tokenchars '.,'");
CREATE VIRTUAL TABLE frequencies USING fts5vocab(words, row);
"""
_APPLICATION = 0x52414C43
_PROBE = "The studies’ résumés cost 2,500.5 — 東京都は ไทย हिन्दी Ελλάδα ﬁne naïve İstanbul"


class ForeignIndex(sqlite3.DatabaseError):
    """The file is of another version, or not ours."""


@dataclass(frozen=True, slots=True)
class Entry:
    """What is known about one file: its page, or the reason why there is none."""

    url: str
    mtime_ns: int
    size: int
    page: Page | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Known:
    """State of a file when it was last read."""

    mtime_ns: int
    size: int
    reason: str


class CorpusIndex:
    """Opens or creates the index at `path`; `None` keeps it in memory. All methods block and are thread-safe.

    Raises `sqlite3.OperationalError` when the file can't be used now, any other `sqlite3.DatabaseError`
    when it is damaged or foreign (`discard` it then).
    """

    def __init__(self, path: Path | None) -> None:
        self._lock = threading.Lock()
        self._db = sqlite3.connect(path or ":memory:", timeout=_BUSY, isolation_level=None, check_same_thread=False)
        try:
            self._use_wal()
            self._db.execute("PRAGMA synchronous = NORMAL")
            self._prepare()
        except BaseException:
            self._db.close()
            raise

    def _use_wal(self) -> None:
        # SQLite does not wait for another process that makes the same change, whatever the timeout.
        for attempt in range(100):
            try:
                self._db.execute("PRAGMA journal_mode = WAL")
                return
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or attempt == 99:
                    raise
                time.sleep(0.05)

    def _prepare(self) -> None:
        version = _version()
        if self._stamp() != (_APPLICATION, version):
            with self._writing():
                if self._stamp() == (_APPLICATION, version):  # another process was quicker
                    return
                if self._stamp() != (0, 0) or self._db.execute("SELECT 1 FROM sqlite_schema").fetchone():
                    raise ForeignIndex("index of another version")
                for statement in filter(str.strip, _SCHEMA.split(";")):
                    self._db.execute(statement)
                self._db.execute(f"PRAGMA application_id = {_APPLICATION}")
                self._db.execute(f"PRAGMA user_version = {version}")

    def _stamp(self) -> tuple[int, int]:
        application = self._db.execute("PRAGMA application_id").fetchone()[0]
        return application, self._db.execute("PRAGMA user_version").fetchone()[0]

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")

    def known(self) -> dict[str, Known]:
        """Every file that was read, by URL, the skipped ones included."""
        with self._lock:
            rows = self._db.execute("SELECT url, mtime_ns, size, reason FROM documents ORDER BY url")
            return {url: Known(*rest) for url, *rest in rows}

    def store(self, entries: Iterable[Entry], removed: Iterable[str] = ()) -> None:
        """Put `entries` in place of what was known about these files and forget `removed`, all or nothing."""
        with self._lock, self._writing():
            for url in removed:
                self._forget(url)
            for entry in entries:
                self._forget(entry.url)
                self._add(entry)

    def _forget(self, url: str) -> None:
        row = self._db.execute("SELECT id FROM documents WHERE url = ?", (url,)).fetchone()
        if row:
            self._db.execute("DELETE FROM words WHERE rowid = ?", row)
            self._db.execute("DELETE FROM documents WHERE id = ?", row)

    def _add(self, entry: Entry) -> None:
        page = entry.page
        fields = (
            (page.title, page.media_type, page.author, page.site, page.published, page.language, page.text)
            if page
            else ("",) * 7
        )
        cursor = self._db.execute(
            "INSERT INTO documents (url, mtime_ns, size, reason, title, media_type, author, site, published,"
            " language, text) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (entry.url, entry.mtime_ns, entry.size, entry.reason, *fields),
        )
        if page:
            self._db.execute(
                "INSERT INTO words (rowid, title, body) VALUES (?, ?, ?)",
                (cursor.lastrowid, " ".join(_terms(page.title)), " ".join(_terms(page.text))),
            )

    def search(self, query: str, limit: int) -> list[SearchHit]:
        """At most `limit` documents that hold any content word of `query`, best first."""
        terms = query_terms(query)
        if not terms or limit < 1:
            return []
        with self._lock:
            # Rounded, so that a last binary digit of another platform does not decide between two documents.
            rows = self._db.execute(
                "SELECT url, title, published, text FROM documents JOIN ("
                " SELECT words.rowid AS found, round(bm25(words, 2.0, 1.0), 9) AS score, url AS name"
                " FROM words JOIN documents ON id = words.rowid WHERE words MATCH ?"
                " ORDER BY score, name LIMIT ?) ON id = found ORDER BY score, url",
                (" OR ".join(f'"{term}"' for term in terms), limit),
            ).fetchall()
            weights = self._weights(terms)
        return [
            SearchHit(url, title, snippet(text, weights, title=title), published, "corpus")
            for url, title, published, text in rows
        ]

    def _weights(self, terms: Sequence[str]) -> dict[str, float]:
        """Rare words weigh more (the usual inverse document frequency)."""
        count = self._db.execute("SELECT count(*) FROM documents").fetchone()[0]
        marks = ",".join("?" * len(terms))
        rows = self._db.execute(f"SELECT term, doc FROM frequencies WHERE term IN ({marks})", terms)  # noqa: S608
        return {term: math.log(1 + count / found) for term, found in rows}

    def get(self, url: str) -> Page | None:
        """The document at exactly this URL."""
        with self._lock:
            row = self._db.execute(
                "SELECT title, text, media_type, author, site, published, language FROM documents"
                " WHERE url = ? AND reason = ''",
                (url,),
            ).fetchone()
        if row is None:
            return None
        title, text, media_type, author, site, published, language = row
        return Page(url, title, text, "document", media_type, author, site, published, language)

    def close(self) -> None:
        """Close the file; waits for a method that runs in another thread."""
        with self._lock:
            self._db.close()


def discard(path: Path) -> None:
    """Delete an index file and what SQLite keeps beside it."""
    for suffix in ("", "-wal", "-shm", "-journal"):
        with contextlib.suppress(OSError):
            path.with_name(path.name + suffix).unlink()


def query_terms(query: str) -> list[str]:
    """Different words to look for, in order; function words only if there is nothing else."""
    query = _plain(query[:_MAX_QUERY])
    return list(dict.fromkeys(content_words(query) or words(query)))[:MAX_TERMS]


def snippet(text: str, weights: dict[str, float], *, title: str = "") -> str:
    """The part of `text`, at most `SNIPPET` characters in one line, that holds most of the weighted words."""
    parts = [part for part in _parts(text[:_SNIPPET_TEXT]) if part.lstrip("# ") != title]
    found = [{term for term in _terms(part) if term in weights} for part in parts]
    best, best_score = "", -1.0
    for start in range(len(parts)):
        if best and not found[start]:
            continue
        end, length, terms = start, 0, set[str]()
        while end < len(parts) and length + len(parts[end]) <= SNIPPET:
            length += len(parts[end]) + 1
            terms |= found[end]
            end += 1
        score = math.fsum(weights[term] for term in terms)
        if score > best_score:
            best, best_score = " ".join(parts[start:end]), score
    return best or title


_SENTENCE_END = re.compile(r"(?<=[.!?…])\s+|(?<=[。！？])|\n+")


def _parts(text: str) -> list[str]:
    """Sentences in one line each; longer ones are cut between words, or anywhere if there are none."""
    parts: list[str] = []
    for sentence in _SENTENCE_END.split(text):
        rest = " ".join(sentence.split())
        while len(rest) > SNIPPET:
            cut = rest.rfind(" ", SNIPPET // 2, SNIPPET + 1)
            parts.append(rest[: cut if cut > 0 else SNIPPET])
            rest = rest[len(parts[-1]) :].lstrip()
        if rest:
            parts.append(rest)
    return parts


_ACCENTS = re.compile("[\u0300-\u036f]")


def _plain(text: str) -> str:
    """`text` without accents: people leave them out of queries."""
    if text.isascii():
        return text
    return unicodedata.normalize("NFC", _ACCENTS.sub("", unicodedata.normalize("NFD", text)))


def _terms(text: str) -> list[str]:
    return words(_plain(text))


def _version() -> int:
    """Changes whenever words are made in another way than when the index was built."""
    made = repr((_SCHEMA, _terms(_PROBE), unicodedata.unidata_version))
    return int.from_bytes(hashlib.sha256(made.encode()).digest()[:4]) >> 2 or 1
