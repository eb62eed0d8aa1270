"""Extraction in a process of its own, which can be killed when a document keeps a parser busy.

A page of 40 KB can cost an HTML parser minutes and a gigabyte; a thread could not be stopped. The process
lives on from document to document. A message is two big-endian 32-bit lengths, a JSON header and raw bytes.
``python -m research_agent.web.worker`` is the child's side.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import json
import os
import signal
import struct
import sys
from types import TracebackType
from typing import Any, BinaryIO

from research_agent.documents import Mark, Page
from research_agent.errors import SourceError
from research_agent.web.errors import NotEvidence

DEADLINE = 20.0  # seconds for one document
MEMORY = 1536 * 1024 * 1024  # bytes of address space
_START = 60.0  # seconds for the interpreter and its imports, on a machine that is busy
_DOCUMENTS = 500  # of one process; a fresh one gives back what parsers never free
_OUT_OF_MEMORY = 3  # exit status
_LENGTHS = struct.Struct(">II")
_MAX_ANSWER = 64 * 1024 * 1024  # bytes; far above the cap on text
# The child needs no key and no token, so it is not given any: it reads hostile input with native code.
_ENVIRONMENT = (
    "PATH",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "LD_LIBRARY_PATH",
    "SYSTEMROOT",
    "TEMP",
    "TMP",
    "TMPDIR",
)


class WorkerUnavailable(SourceError):
    """The process could not be started. It says nothing about the document."""


class ExtractionWorker:
    """Reads one document at a time; the process starts with the first one. Use `close` or ``async with``.

    `deadline` is in seconds for one document, `memory` in bytes (POSIX only). Belongs to one event loop.
    """

    def __init__(self, *, deadline: float = DEADLINE, memory: int = MEMORY) -> None:
        self._deadline = deadline
        self._memory = memory
        self._turn = asyncio.Lock()
        self._process: asyncio.subprocess.Process | None = None
        self._count = 0

    async def extract(self, data: bytes, *, url: str, media_type: str) -> Page:
        """What `research_agent.web.extract.extract.extract` gives; `SourceError` also for time, memory and crash."""
        async with self._turn:
            if self._process is None or self._process.returncode is not None or self._count >= _DOCUMENTS:
                await self._start()
            process = self._process
            assert process is not None  # noqa: S101  (for the type checker)
            self._count += 1
            request = {"id": self._count, "url": url, "media_type": media_type, "deadline": self._deadline}
            answered = False
            try:
                async with asyncio.timeout(self._deadline):
                    header, body = await _exchange(process, request, data)
                answered = header.get("id") == self._count
            except TimeoutError:
                raise SourceError(f"it took longer than {self._deadline:g} s to read; use another source") from None
            except (EOFError, OSError, ValueError):
                raise SourceError(await self._why(process)) from None
            finally:
                # Also when this task is cancelled: a late answer must not be taken for the next one.
                if not answered:
                    await self._stop()
        if not answered:
            raise SourceError("its reader answered out of turn; try again")
        if "error" in header:
            raise (NotEvidence if header.get("not_evidence") else SourceError)(str(header["error"]))
        return _page(header["page"], body.decode())

    async def close(self) -> None:
        """End the process. A later `extract` would start a new one."""
        await self._stop()

    async def __aenter__(self) -> ExtractionWorker:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def _start(self) -> None:
        await self._stop()
        for _ in range(2):  # Ctrl-C reaches the child too, and may do so before it can ignore it
            try:
                self._process = await asyncio.create_subprocess_exec(
                    sys.executable,
                    "-P",
                    "-m",
                    "research_agent.web.worker",
                    str(self._memory),
                    stdin=asyncio.subprocess.PIPE,
                    stdout=asyncio.subprocess.PIPE,
                    stderr=asyncio.subprocess.DEVNULL,
                    env=_environment(),
                )
                async with asyncio.timeout(_START):
                    await _read(self._process)
            except (EOFError, OSError, ValueError, TimeoutError):
                await self._stop()
            except BaseException:
                await self._stop()
                raise
            else:
                self._count = 0
                return
        raise WorkerUnavailable("the process that reads documents does not start; try again later")

    async def _stop(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()

    async def _why(self, process: asyncio.subprocess.Process) -> str:
        """Why the process ended without an answer."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(2):
                await process.wait()
        if process.returncode == _OUT_OF_MEMORY:
            return f"it needs more than {self._memory // 1024**2} MB of memory to read; use another source"
        if process.returncode == -getattr(signal, "SIGALRM", 0):
            return f"it took longer than {self._deadline:g} s to read; use another source"
        return "its reader crashed on it; use another source"


def _page(fields: dict[str, Any], text: str) -> Page:
    """JSON knows neither tuples nor records: what `dataclasses.asdict` took apart is put together again."""
    links = tuple(fields.pop("links"))
    marks = tuple(Mark(**mark) for mark in fields.pop("marks"))
    return Page(**fields, links=links, marks=marks, text=text)


def _environment() -> dict[str, str]:
    kept = {name: os.environ[name] for name in _ENVIRONMENT if name in os.environ}
    # The same modules as here, in the same order, and nothing from the current directory.
    return kept | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path), "PYTHONUTF8": "1"}


async def _exchange(
    process: asyncio.subprocess.Process, request: dict[str, Any], data: bytes
) -> tuple[dict[str, Any], bytes]:
    assert process.stdin is not None  # noqa: S101
    header = json.dumps(request).encode()
    process.stdin.write(_LENGTHS.pack(len(header), len(data)) + header)
    process.stdin.write(data)
    await process.stdin.drain()
    return await _read(process)


async def _read(process: asyncio.subprocess.Process) -> tuple[dict[str, Any], bytes]:
    assert process.stdout is not None  # noqa: S101
    header, body = _LENGTHS.unpack(await process.stdout.readexactly(_LENGTHS.size))
    if header + body > _MAX_ANSWER:
        raise ValueError("answer too long")
    found = json.loads(await process.stdout.readexactly(header))
    return found, await process.stdout.readexactly(body)


# --- the child's side ---------------------------------------------------------------------------------------


def _main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent to decide on
    incoming = os.fdopen(os.dup(0), "rb")
    outgoing = os.fdopen(os.dup(1), "wb")
    # Libraries that print reach neither the terminal nor the channel.
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nowhere, number)
    import logging

    import pypdfium2  # noqa: F401
    import trafilatura  # noqa: F401

    logging.disable(logging.CRITICAL)
    _limit(int(sys.argv[1]))
    try:
        _send(outgoing, {"ready": True}, b"")
        while request := _receive(incoming):
            _send(outgoing, *_answer(*request))
    except MemoryError:
        os._exit(_OUT_OF_MEMORY)
    except BrokenPipeError:  # the parent is gone
        os._exit(0)


def _limit(memory: int) -> None:
    try:
        import resource
    except ImportError:
        return
    for kind, most in ((resource.RLIMIT_AS, memory), (resource.RLIMIT_CORE, 0)):
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(kind, (most, most))


def _answer(request: dict[str, Any], data: bytes) -> tuple[dict[str, Any], bytes]:
    from research_agent.web.extract.extract import extract

    # A parent that died can't kill; the kernel then ends even a parser that never returns.
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, request["deadline"] + 5)
    answer: dict[str, Any] = {"id": request["id"]}
    body = b""
    try:
        page = dataclasses.asdict(extract(data, url=request["url"], media_type=request["media_type"]))
        body = page.pop("text").encode()
        answer["page"] = page
    except SourceError as error:
        answer |= {"error": str(error), "not_evidence": isinstance(error, NotEvidence)}
    except MemoryError:
        raise
    except Exception as error:
        answer["error"] = f"it can't be read ({type(error).__name__}); use another source"
    finally:
        if hasattr(signal, "setitimer"):
            signal.setitimer(signal.ITIMER_REAL, 0)
    return answer, body


def _receive(channel: BinaryIO) -> tuple[dict[str, Any], bytes] | None:
    lengths = channel.read(_LENGTHS.size)
    if len(lengths) < _LENGTHS.size:
        return None
    header, body = _LENGTHS.unpack(lengths)
    return json.loads(channel.read(header)), channel.read(body)


def _send(channel: BinaryIO, header: dict[str, Any], body: bytes) -> None:
    encoded = json.dumps(header).encode()
    channel.write(_LENGTHS.pack(len(encoded), len(body)) + encoded + body)
    channel.flush()


if __name__ == "__main__":
    _main()
