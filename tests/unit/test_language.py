"""Which encyclopedia a few words belong to."""

from __future__ import annotations

import pytest

from research_agent.language import guess_language


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Lịch sử cà phê Việt Nam", "vi"),
        ("history of coffee", "en"),
        ("coffee", "en"),
        ("", "en"),
        ("Geschichte der Kaffeehäuser", "de"),
        ("Histoire de la céramique", "fr"),
        ("el origen de los tacos", "es"),
        ("Los Angeles", "en"),
        ("weather in São Paulo", "en"),
        ("história do café no Brasil", "pt"),
        ("茶道の歴史", "ja"),
        ("咖啡的历史", "zh"),
        ("커피의 역사", "ko"),
        ("история кофе", "ru"),
        ("історія кави", "uk"),
        ("تاريخ القهوة", "ar"),
        ("ประวัติกาแฟ", "th"),
        ("İstanbul tarihi", "tr"),
        ("historia kawy w Polsce i na świecie", "pl"),
        ("🎉 123 ???", "en"),
    ],
)
def test_the_language_is_guessed(text: str, language: str) -> None:
    assert guess_language(text) == language
