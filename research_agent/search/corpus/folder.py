"""Which documents a folder holds, found without opening any of them."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, field
from pathlib import Path

from research_agent.errors import SourceError

MAX_BYTES = 20 * 1024 * 1024  # of one document
MEDIA_TYPES = {
    ".md": "text/markdown",
    ".markdown": "text/markdown",
    ".txt": "text/plain",
    ".html": "text/html",
    ".htm": "text/html",
    ".pdf": "application/pdf",
}


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file or folder that is not searchable, and why, in words for a person."""

    path: Path
    reason: str


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A regular file that looks like a document. `real` is where it is, `path` where the folder shows it."""

    path: Path
    real: str
    url: str
    media_type: str
    mtime_ns: int
    size: int  # bytes


@dataclass(slots=True)
class Listing:
    """What `list_documents` found, in the order of URLs."""

    files: list[FoundFile] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)


def list_documents(root: Path) -> Listing:
    """Documents below `root`, a resolved path. Raises `OSError` when the root itself can't be listed.

    Hidden names are left out. A link counts only where it shows something in the folder that has no other
    visible place, so that loops end and nothing is found twice; what lies outside is reported, not read.
    """
    walk = _Walk(root)
    walk.folder(str(root), str(root))
    while walk.folders or walk.links:
        if walk.folders:  # real places first, so that a link never takes the place of what it points to
            shown, real = walk.folders.pop()
            try:
                walk.folder(shown, real)
            except OSError as error:
                walk.skip(shown, f"cannot be listed: {_reason(error)}")
        else:
            walk.links.sort(reverse=True)
            walk.link(*walk.links.pop())
    walk.found.files.sort(key=lambda file: file.url)
    walk.found.skipped.sort(key=lambda skipped: os.fsencode(skipped.path))
    return walk.found


def read_bytes(file: FoundFile) -> bytes:
    """The content of a listed file. Raises `SourceError` when it can't be read, or is not what was listed."""
    # Something else may stand there by now: a pipe would block for ever, a link could lead anywhere.
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    try:
        with os.fdopen(os.open(file.real, flags), "rb") as stream:
            if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
                raise SourceError("it is not a regular file")
            data = stream.read(MAX_BYTES + 1)
    except OSError as error:
        raise SourceError(f"cannot be opened: {_reason(error)}") from None
    if len(data) > MAX_BYTES:
        raise SourceError(too_large(len(data)))
    return data


def too_large(size: int) -> str:
    """Why a file of `size` bytes is skipped."""
    return f"larger than {MAX_BYTES // 1024**2} MB; split it ({size / 1024**2:.0f} MB)"


def _reason(error: OSError) -> str:
    return (error.strerror or type(error).__name__).lower()


class _Walk:
    def __init__(self, root: Path) -> None:
        self.root = str(root)
        self.found = Listing()
        self.folders: list[tuple[str, str]] = []  # (shown path, real path)
        self.links: list[tuple[str, str]] = []
        self.seen: set[str] = set()  # real paths

    def skip(self, path: str, reason: str) -> None:
        self.found.skipped.append(Skipped(Path(path), reason))

    def folder(self, shown: str, real: str) -> None:
        if real in self.seen:
            return
        self.seen.add(real)
        with os.scandir(real) as entries:
            for entry in entries:
                if entry.name.startswith("."):
                    continue
                place = str(Path(shown, entry.name)) if shown != real else entry.path
                if entry.is_symlink():
                    self.links.append((place, entry.path))
                elif entry.is_dir(follow_symlinks=False):
                    self.folders.append((place, entry.path))
                else:
                    self.file(place, entry.path)

    def link(self, shown: str, real: str) -> None:
        try:
            target = os.path.realpath(real, strict=True)
            is_folder = stat.S_ISDIR(os.stat(target).st_mode)  # noqa: PTH116
        except OSError as error:
            if _media_type(shown):
                self.skip(shown, f"is a link that leads nowhere: {_reason(error)}")
            return
        if not is_folder and not _media_type(shown):
            return
        if not (target == self.root or target.startswith(self.root.rstrip(os.sep) + os.sep)):
            self.skip(shown, "is a link that leads outside of the folder; copy the file into it")
        elif is_folder:
            self.folders.append((shown, target))
        else:
            self.file(shown, target)

    def file(self, shown: str, real: str) -> None:
        media_type = _media_type(shown)
        if not media_type or real in self.seen:
            return
        self.seen.add(real)
        try:
            known = os.stat(real, follow_symlinks=False)  # noqa: PTH116
        except OSError as error:
            self.skip(shown, f"cannot be read: {_reason(error)}")
            return
        if not stat.S_ISREG(known.st_mode):
            self.skip(shown, "is not a regular file")
        elif known.st_size > MAX_BYTES:
            self.skip(shown, too_large(known.st_size))
        else:
            path = Path(shown)
            self.found.files.append(FoundFile(path, real, path.as_uri(), media_type, known.st_mtime_ns, known.st_size))


def _media_type(path: str) -> str:
    return MEDIA_TYPES.get(os.path.splitext(path)[1].lower(), "")  # noqa: PTH122  (four times faster here)
