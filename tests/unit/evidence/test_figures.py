"""Numbers with units and dates that mean the same."""

from __future__ import annotations

import pytest

from research_agent.evidence.check.figures import missing_quantities, quantities


@pytest.mark.parametrize(
    ("claim", "passage"),
    [
        ("1,200", "1200"), ("1 200", "1,200"), ("1.200", "1200"), ("1'200", "1200"),
        ("6.1 %", "6,1 Prozent"), ("46 %", "46 percent"), ("46 percent", "46 パーセント"),
        ("2.5 million", "2,500,000"), ("$3bn", "3 billion dollars"), ("ten", "10 tries"),
        ("twenty-five", "25"), ("10 ms", "10 to 15 milliseconds"), ("56,3 triệu", "56.3 million"),
        ("12 March 2021", "2021-03-12"), ("March 12, 2021", "12. März 2021"),
        ("March 2021", "on 12 March 2021"), ("2021", "12.03.2021"), ("3/12/2021", "12 March 2021"),
        ("2021年3月12日", "March 12, 2021"), ("4.3.2", "version 4.3.2"),
        ("12 March 2021", "In 2021, on 12 March"), ("3億", "300,000,000"), ("6½", "6.5"),
        ("5 years", "a 5-year plan"),
    ],
)  # fmt: skip
def test_same(claim: str, passage: str) -> None:
    assert missing_quantities(quantities(claim), [passage]) == []


@pytest.mark.parametrize(
    ("claim", "passage"),
    [
        ("1,200", "12,000"), ("46 %", "46 lakes"), ("46 %", "64 percent"),
        ("2.5 million", "2.5 billion"), ("$5", "€5"), ("ten", "eleven"), ("30 seconds", "30 minutes"),
        ("12 March 2021", "12 May 2021"), ("12 March 2021", "March 2021"), ("4.3.2", "4.3.1"),
        ("12:30", "12:31"), ("-5 degrees", "5 degrees"), ("30 s", "three tries"),
    ],
)  # fmt: skip
def test_different(claim: str, passage: str) -> None:
    assert missing_quantities(quantities(claim), [passage])
