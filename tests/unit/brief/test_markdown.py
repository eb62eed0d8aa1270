"""The Markdown brief renders as what it says, whatever pages and models say."""

from __future__ import annotations

import pytest
from markdown_it import MarkdownIt

from research_agent.brief.markdown import to_markdown
from tests.unit.brief.briefs import HOSTILE, a_source, brief, hostile


def test_bullets_markers_sections_and_addresses() -> None:
    text = to_markdown(brief())
    assert "- Agents loop. [1] Agents crash. [2][1]\n- So it is. [2]\n" in text
    assert "## Open\n\n- How agents end.\n" in text
    assert "sing" not in text and "## Left out" not in text
    assert "## Left out\n\n- Agents sing. — its sources do not say this: sing\n" in to_markdown(brief(), left_out=True)
    assert "- [1] Title 1 (Ada Lovelace, Example, 2026-11-30)  \n  <https://example.org/1>" in text


def test_names_with_underscores_and_signs_stay_readable() -> None:
    text = to_markdown(brief(topic="tool_choice & R&D: 5 < 6, a > b, C#"))
    assert text.startswith("# tool_choice & R&D: 5 < 6, a > b, C#\n")


def test_an_address_stays_byte_for_byte() -> None:
    url = "https://example.org/" + "0123456789abcdef" * 4 + "_a*b"
    assert f"<{url}>" in to_markdown(brief(sources=[a_source(1, url=url)]))


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_renders_as_text(text: str) -> None:
    markdown = MarkdownIt("commonmark").enable(["strikethrough", "table"])
    tokens = [
        inner
        for token in markdown.parse(to_markdown(hostile(text), left_out=True))
        for inner in (token, *(token.children or []))
    ]
    kinds = {token.type for token in tokens}
    assert not kinds & {
        "html_block",
        "html_inline",
        "image",
        "strong_open",
        "s_open",
        "code_inline",
        "fence",
    }
    assert [t.attrGet("href") for t in tokens if t.type == "link_open"] == ["https://example.org/1"]
    assert [t.tag for t in tokens if t.type == "heading_open"] == ["h1", "h2", "h2", "h2", "h2"]
    assert [t.tag for t in tokens if t.type in ("th_open", "td_open")] == ["th", "th", "td", "td"]
    rendered = "".join(token.content for token in tokens if token.type == "text")
    assert " ".join(text.split()) in rendered


@pytest.mark.parametrize(
    "url", ["javascript:alert(1)", "https://x.org/> <script>", "https://x.org/\nb", "data:text/html,x"]
)
def test_addresses_that_could_do_harm_are_shown_as_code(url: str) -> None:
    text = to_markdown(brief(claims=[], sources=[a_source(1, url=url)]))
    tokens = [inner for token in MarkdownIt().parse(text) for inner in (token, *(token.children or []))]
    assert not [token for token in tokens if token.type in ("link_open", "html_inline", "html_block")]
