"""Where a brief goes: its forms, and the file or stdout."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from research_agent.errors import ResearchError, UsageError

if TYPE_CHECKING:
    from research_agent.brief.brief import Brief

# Form → where its exporter is. They are imported when one is needed.
FORMS = {
    "markdown": ("research_agent.brief.markdown", "to_markdown"),
    "html": ("research_agent.brief.html", "to_html"),
    "json": ("research_agent.brief.json", "to_json"),
    "bibtex": ("research_agent.brief.bibliography", "to_bibtex"),
    "csl-json": ("research_agent.brief.bibliography", "to_csl_json"),
}


def render(brief: Brief, form: str, *, left_out: bool = False) -> str:
    """`brief` in one of `FORMS`; `left_out` adds what could not be kept where the form does not have it anyway."""
    module, name = FORMS[form]
    options = {"left_out": True} if left_out and form == "markdown" else {}
    return str(getattr(import_module(module), name)(brief, **options))


def check_writable(output: Path) -> None:
    """Before the run: an hour's work must not end at a folder that does not exist.

    Raises:
        UsageError: nothing can be written there.
    """
    folder = output.parent
    if output.is_dir():
        raise UsageError(f"--output {output} is a folder: name a file in it")
    if not folder.is_dir():
        raise UsageError(f"--output {output}: the folder {folder} does not exist, create it first")
    if not os.access(output if output.exists() else folder, os.W_OK):
        raise UsageError(f"--output {output} cannot be written: choose another place")


def write(output: Path, text: str) -> None:
    """Whole or not at all. If it fails, the text goes to stdout: a brief is never lost.

    Raises:
        ResearchError: the file could not be written.
    """
    try:
        with whole_file(output) as file:
            file.write(text)
    except OSError as error:
        sys.stdout.write(text)
        raise ResearchError(
            f"--output {output} cannot be written ({error.strerror}); the brief went to stdout and is stored"
        ) from None


@contextmanager
def whole_file(output: Path) -> Iterator[TextIO]:
    """A file whose content takes the place of `output` when the body is done; if the body fails nothing changes."""
    if output.exists() and not output.is_file():  # /dev/stderr, a pipe
        with output.open("w", encoding="utf-8") as file:
            yield file
        return
    mode = output.stat().st_mode & 0o777 if output.exists() else 0o666 & ~_umask()
    descriptor, name = tempfile.mkstemp(dir=output.parent, prefix=f".{output.name[:100]}.", suffix=".part")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as part:
            yield part
        Path(name).chmod(mode)
        Path(name).replace(output)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
