"""A folder of documents as a search provider: no network, no key, the same hits everywhere."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import re
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

from research_agent.documents import Page, SearchHit
from research_agent.errors import SourceError, StorageError, UsageError
from research_agent.search.corpus.folder import MEDIA_TYPES, FoundFile, Listing, Skipped, list_documents, read_bytes
from research_agent.search.corpus.index import CorpusIndex, Entry, discard
from research_agent.text import clean
from research_agent.web.extract.extract import extract, is_pdf
from research_agent.web.worker import ExtractionWorker, WorkerUnavailable

__all__ = ["Corpus", "Skipped"]

_BATCH_FILES = 500
_BATCH_BYTES = 32 * 1024 * 1024  # of files: what is in memory at once, and what a killed build loses
_WORKERS = 4  # processes that read HTML and PDF
_SIMPLE = ("text/markdown", "text/plain")
_SEEN = "use a URL that a search gave"


class Corpus:
    """The searchable documents of one folder. Make one with `open`, end it with `close`."""

    name = "corpus"

    documents: int
    """How many documents are searchable."""
    skipped: list[Skipped]
    """Files that are not, and why."""

    def __init__(self, folder: Path, index: CorpusIndex, cache: Path | None) -> None:
        self.documents = 0
        self.skipped = []
        self._folder = folder
        self._index = index
        self._cache = cache

    @classmethod
    async def open(cls, folder: Path, cache_dir: Path) -> Corpus:
        """Index `folder`, or bring its index in `cache_dir` up to date; only new and changed files are read.

        An unusable cache costs time, never the corpus: a damaged one is rebuilt, and where nothing can be
        written the index is kept in memory. Raises `UsageError` when there is nothing to search.
        """
        root, listing = await asyncio.to_thread(_list, folder)
        cache = cache_dir / f"corpus-{hashlib.sha256(os.fsencode(root)).hexdigest()[:32]}.sqlite"
        places: list[Path | None] = [cache, cache, None]
        while True:
            place = places.pop(0)
            try:
                return await cls._open(root, listing, place)
            except sqlite3.DatabaseError as error:
                if place is None:
                    raise StorageError(f"SQLite of this Python cannot index {root}: {error}") from error
                if isinstance(error, sqlite3.OperationalError):  # locked, full, not writable
                    places = [None]
                else:
                    await asyncio.to_thread(discard, place)

    @classmethod
    async def _open(cls, root: Path, listing: Listing, cache: Path | None) -> Corpus:
        corpus = cls(root, await asyncio.to_thread(_open_index, cache), cache)
        try:
            await corpus._refresh(listing)
        except BaseException:
            await corpus.close()
            raise
        return corpus

    async def search(self, query: str, limit: int, *, since: str = "", until: str = "") -> list[SearchHit]:
        """At most `limit` documents that hold any content word of `query`, best first, equal ones by URL.

        `since` and `until` are ignored: when a document was written is not known.
        Raises `SourceError` when the index was damaged after it was opened.
        """
        try:
            return await asyncio.to_thread(self._index.search, query, limit)
        except sqlite3.Error as error:
            raise await self._damaged(error) from error

    async def read(self, url: str) -> Page:
        """The document at `url`, as indexed.

        Raises `SourceError` for anything that is not in the index; no file is opened for the asking.
        """
        try:
            for candidate in self._spellings(url):
                if page := await asyncio.to_thread(self._index.get, candidate):
                    return page
        except sqlite3.Error as error:
            raise await self._damaged(error) from error
        raise SourceError(f"{' '.join(clean(url).split())[:200]!r} is no document of the corpus; {_SEEN}")

    async def close(self) -> None:
        """Close the index. The cache stays for the next time."""
        await asyncio.to_thread(self._index.close)

    async def _damaged(self, error: sqlite3.Error) -> SourceError:
        if self._cache and not isinstance(error, (sqlite3.OperationalError, sqlite3.ProgrammingError)):
            await asyncio.to_thread(discard, self._cache)
        return SourceError(f"the index of the corpus cannot be read ({error}); start again to rebuild it")

    def _spellings(self, url: str) -> Iterator[str]:
        """`url` itself, then other ways in which a model writes the place. Names only, no file system."""
        if url.isascii():
            yield url
        text = url.strip().strip("<>\"'")
        if "\0" in text or len(text) > 8000:
            return
        path = re.sub("^file:(?://[^/]*)?", "", text, flags=re.IGNORECASE)
        for name in dict.fromkeys((unquote(path, errors="surrogateescape"), path)):
            with contextlib.suppress(ValueError):  # a character that no file name can have
                yield Path(os.path.normpath(self._folder / name)).as_uri()

    async def _refresh(self, listing: Listing) -> None:
        known = await asyncio.to_thread(self._index.known)
        present = {file.url for file in listing.files}
        removed = [url for url in known if url not in present]
        stale = [
            file
            for file in listing.files
            if (row := known.get(file.url)) is None or (row.mtime_ns, row.size) != (file.mtime_ns, file.size)
        ]
        again: list[Skipped] = []
        if removed or stale:
            again = await self._read_all(stale, removed)
            known = await asyncio.to_thread(self._index.known)
        bad = {url: row.reason for url, row in known.items() if row.reason}
        remembered = [Skipped(file.path, bad[file.url]) for file in listing.files if file.url in bad]
        self.skipped = sorted(listing.skipped + again + remembered, key=lambda skipped: os.fsencode(skipped.path))
        self.documents = len(known) - len(bad)
        if not self.documents:
            raise UsageError(_nothing(self._folder, self.skipped))

    async def _read_all(self, stale: list[FoundFile], removed: list[str]) -> list[Skipped]:
        """Read and store. The result is what to try again next time: the file itself is not to blame."""
        again: list[Skipped] = []
        for batch in _batches(stale):
            simple = [file for file in batch if file.media_type in _SIMPLE]
            read = await asyncio.to_thread(lambda files: [_read_here(file) for file in files], simple)
            if len(simple) < len(batch):
                read += await _read_apart([file for file in batch if file.media_type not in _SIMPLE])
            entries = [found for found in read if isinstance(found, Entry)]
            again += [found for found in read if isinstance(found, Skipped)]
            # What could not be read now must not be found with the text it had before.
            unread = {found.path.as_uri() for found in read if isinstance(found, Skipped)}
            await asyncio.to_thread(self._index.store, entries, [*removed, *unread])
            removed = []
        if removed:
            await asyncio.to_thread(self._index.store, (), removed)
        return again


def _list(folder: Path) -> tuple[Path, Listing]:
    try:
        root = folder.expanduser().resolve(strict=True)
        if not root.is_dir():
            raise UsageError(f"{folder} is a file: give the folder that holds the documents")
        return root, list_documents(root)
    except FileNotFoundError:
        raise UsageError(f"{folder} does not exist: give a folder that holds documents") from None
    except (OSError, RuntimeError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UsageError(f"{folder} cannot be read ({reason}): check its permissions") from None


def _nothing(folder: Path, skipped: list[Skipped]) -> str:
    kinds = ", ".join(MEDIA_TYPES)
    if not skipped:
        return f"{folder} holds no documents: put files in it that end in {kinds}"
    first = f"{skipped[0].path.name}: {skipped[0].reason}"
    return f"{folder} holds no readable document (of {len(skipped)}, {first}): add files that end in {kinds}"


def _open_index(path: Path | None) -> CorpusIndex:
    if path is None:
        return CorpusIndex(None)
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise sqlite3.OperationalError(str(error)) from error
    return CorpusIndex(path)


def _batches(files: list[FoundFile]) -> Iterator[list[FoundFile]]:
    batch: list[FoundFile] = []
    size = 0
    for file in files:
        if batch and (len(batch) == _BATCH_FILES or size + file.size > _BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(file)
        size += file.size
    if batch:
        yield batch


def _read_here(file: FoundFile) -> Entry | Skipped:
    """A text file, read in this process. `Skipped` is to be tried again, an `Entry` once the file changes."""
    try:
        data = read_bytes(file)
    except SourceError as error:
        return Skipped(file.path, str(error))
    if is_pdf(data):  # not to be parsed in this process
        return _entry(file, None, "is a PDF; give it a name that ends in .pdf")
    try:
        return _entry(file, extract(data, url=file.url, media_type=file.media_type))
    except SourceError as error:
        return _entry(file, None, str(error))


async def _read_apart(files: list[FoundFile]) -> list[Entry | Skipped]:
    """Files whose parsers need a deadline, read by some processes at a time."""
    waiting = iter(files)
    read: list[Entry | Skipped] = []

    async def work() -> None:
        async with ExtractionWorker() as worker:
            for file in waiting:
                read.append(await _read_by(worker, file))

    async with asyncio.TaskGroup() as group:
        for _ in range(min(_WORKERS, os.cpu_count() or 1, -(-len(files) // 4))):
            group.create_task(work())
    return read


async def _read_by(worker: ExtractionWorker, file: FoundFile) -> Entry | Skipped:
    try:
        data = await asyncio.to_thread(read_bytes, file)
    except SourceError as error:
        return Skipped(file.path, str(error))
    try:
        return _entry(file, await worker.extract(data, url=file.url, media_type=file.media_type))
    except WorkerUnavailable as error:
        return Skipped(file.path, str(error))
    except SourceError as error:
        return _entry(file, None, str(error))


def _entry(file: FoundFile, page: Page | None, reason: str = "") -> Entry:
    return Entry(file.url, file.mtime_ns, file.size, page, reason)
