"""Clean characters, and words that can be compared."""

from __future__ import annotations

import pytest

from research_agent.text import clean, clean_json, content_words, words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Agents' failures: 2,500.5 running", ["agent", "failur", "2,500.5", "run"]),
        ("日本語", ["日本", "本語"]),
        ("水", ["水"]),
        ("GPT日本", ["gpt", "日本"]),
        ("हिन्दी शब्द", ["हिन्दी", "शब्द"]),
        ("می‌خواهم", ["می‌خواهم"]),
        ("ＦＵＬＬ", ["full"]),
        ("", []),
        ("— … !", []),
    ],
)
def test_words(text: str, expected: list[str]) -> None:
    assert words(text) == expected


def test_thai_text_keeps_its_vowel_signs() -> None:
    assert "ที" in words("ที่")


def test_function_words_say_nothing() -> None:
    assert content_words("What are the common failure modes of an agent?") == ["common", "failur", "mode", "agent"]


def test_clean_is_stable_and_keeps_what_scripts_need() -> None:
    text = "a\x00\x1b[31m\u202eb\ufeff می‌خواهم\tx\r\ny\u2028"
    once = clean(text)
    assert once == clean(once)
    assert "\x1b" not in once
    assert "می‌خواهم\tx\ny" in once


def test_clean_json_reaches_every_string() -> None:
    dirty = {"a\x00": ["\ud800x", {"b": ("\x00",)}], "n": float("inf"), "i": 3, "none": None}
    assert clean_json(dirty) == {"a": ["x", {"b": [""]}], "n": None, "i": 3, "none": None}
