"""One exception tree. Each message says what happened and what to do next, in one line.

The command line prints the message and exits with ``exit_code``; nothing else turns an error into text.
"""

from __future__ import annotations

import re


class ResearchError(Exception):
    """Base of everything this package raises on purpose."""

    exit_code = 1


class UsageError(ResearchError):
    """The caller's input cannot be used: topic, limit, folder, setting."""

    exit_code = 2


class StorageError(ResearchError):
    """The database or the data directory cannot do what a run needs."""


class LeaseLost(StorageError):
    """Another process took this thread over; what it has done since is the truth."""


class ThreadBusy(ResearchError):
    """Another process is running this topic right now."""

    exit_code = 5


class WaitingForPerson(ResearchError):
    """The run has a question and nobody answered it yet; `questions` are its lines."""

    exit_code = 6

    def __init__(self, thread_id: str, questions: list[str]) -> None:
        self.thread_id = thread_id
        self.questions = questions
        super().__init__(f"the run waits for an answer: {' / '.join(questions)}")


class Interrupted(ResearchError):
    """The run was stopped from outside at a step boundary; the same command continues it."""

    exit_code = 75


class ModelError(ResearchError):
    """The model could not be built, or did not answer usably. `kind` is a `models.failures.Kind`."""

    def __init__(self, message: str, kind: str = "unknown") -> None:
        super().__init__(message)
        self.kind = kind


class SourceError(ResearchError):
    """A document or page could not be read. The text is written for the model: it says what to try instead.

    `error_type` is the kind in a word, for the journal: a class of its own gives its name.
    """

    def __init__(self, message: str, error_type: str = "") -> None:
        super().__init__(message)
        kind = "unreadable" if type(self) is SourceError else re.sub(r"(?<=[a-z])(?=[A-Z])", "_", type(self).__name__)
        self.error_type = error_type or kind.lower()
