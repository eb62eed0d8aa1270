"""The tool `plan`: the questions that a topic comes to, named before anything is read."""

from __future__ import annotations

from typing import Any

from langchain_core.tools import BaseTool, tool

from research_agent import prompts
from research_agent.documents import Question
from research_agent.errors import SourceError
from research_agent.text import one_line

NAME = "plan"
MOST = 6  # questions of a topic
_LONGEST = 200  # characters of one


def make_plan() -> BaseTool:
    """The tool. Artifact: ``{"questions": [Question]}``; what is named twice counts once."""

    @tool(response_format="content_and_artifact", parse_docstring=True)
    async def plan(questions: list[str]) -> tuple[str, dict[str, Any]]:
        """Name the questions that the topic comes to, before you search. The brief gets a section for each.

        Args:
            questions: two to six short questions in the language of the topic, each about another part of it.
        """
        named = list(dict.fromkeys(text[:_LONGEST] for each in questions if (text := one_line(each))))[:MOST]
        if not named:
            raise SourceError(prompts.NO_QUESTIONS, "bad_arguments")
        return prompts.PLANNED.format(count=len(named)), {"questions": [Question(text=text) for text in named]}

    return plan
