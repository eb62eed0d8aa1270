"""What supports a claim, what does not, and why."""

from __future__ import annotations

import pytest

from research_agent.evidence.check.support import Verdict, check_support
from research_agent.evidence.passages import split_passages

TEXT = """The Amber Institute measured 46 percent of 1,200 lakes on 12 March 2021. Its report cost $2.5 million.

Lake Vara froze before Lake Sund, and no ship reached the harbour in winter. Trade rose by 5 to 7 percent per year.

Toolformer, described in arXiv:2302.04761, learns where a call belongs. HuggingGPT, described in arXiv:2303.17580, \
lets a model call expert models. Dr. Ek said that “the ice is our road” to visitors."""
OTHER = "Lake Sund has a depth of 300 metres. Herring is caught there in autumn, while eels are caught in spring."


def check(claim: str, *texts: str) -> Verdict:
    return check_support(claim, [(n, split_passages(text)) for n, text in enumerate(texts or (TEXT,), start=1)])


@pytest.mark.parametrize(
    "claim",
    [
        "The Amber Institute measured 46 % of 1200 lakes in March 2021.",
        "The Amber Institute measured 46 percent of 1.200 lakes on 2021-03-12.",
        "The report of the institute cost 2,500,000 dollars.",
        "Lake Vara froze before Lake Sund.",
        "No ship reached the harbour in the winter.",
        "In winter, no ships reached the harbour.",
        "Trade rose by 5 percent to 7 percent each year.",
        "Toolformer learns where a call belongs.",
        "Dr. Ek said that \"the ice is our road\".",
    ],
)  # fmt: skip
def test_what_the_passage_says_is_supported(claim: str) -> None:
    verdict = check(claim)
    assert verdict.level == "supported", verdict
    assert TEXT[verdict.start : verdict.end] == verdict.quote


@pytest.mark.parametrize(
    ("claim", "reason"),
    [
        ("The Amber Institute measured 64 percent of 1,200 lakes on 12 March 2021.", "64"),
        ("The Amber Institute measured 46 lakes on 12 March 2021.", "46"),
        ("The Amber Institute measured 46 percent of 1,200 lakes on 12 May 2021.", "12 May 2021"),
        ("Its report cost $2.5 billion.", "2.5 billion"),
        ("Its report cost €2.5 million.", "2.5 million"),
        ("Lake Sund froze before Lake Vara.", "doubt Lake Sund"),
        ("Lake Vara froze after Lake Sund.", "doubt after"),
        ("A ship reached the harbour in winter.", "doubt"),
        ("Trade did not rise by 5 to 7 percent per year.", "doubt"),
        ("Trade fell by 5 to 7 percent per year.", "doubt fell"),
        ("Toolformer, described in arXiv:2303.17580, lets a model call expert models.", "doubt"),
        ("Dr. Ek said that “the ice is our bridge” to visitors.", "bridge"),
        ("The Ruby Institute measured 46 percent of 1,200 lakes on 12 March 2021.", "Ruby"),
        ("The Amber Institute measured lakes (doi 10.1234/5678).", "10.1234"),
        ("Penguins live in Antarctica.", "unsaid"),
    ],
)
def test_what_the_passage_does_not_say_is_not(claim: str, reason: str) -> None:
    verdict = check(claim)
    assert verdict.level != "supported", verdict
    assert any(part in f"{verdict.code} {verdict.detail}" for part in reason.split("|")), verdict


def test_the_quote_is_the_smallest_run_of_sentences() -> None:
    assert check("Its report cost $2.5 million.").quote == "Its report cost $2.5 million."
    both = check("The Amber Institute measured 46 percent of 1,200 lakes, and its report cost $2.5 million.")
    assert both.level == "supported"
    assert both.quote == TEXT[: TEXT.index("\n")]


def test_each_cited_source_must_say_its_part() -> None:
    claim = "Lake Vara froze before Lake Sund, while Lake Sund has a depth of 300 metres."
    verdict = check(claim, TEXT, OTHER)
    assert verdict.level == "supported"
    assert {verdict.source, *(quote.source for quote in verdict.others)} == {1, 2}
    assert check(claim, TEXT).level != "supported"
    silent = check("Trade rose by 5 to 7 percent per year.", TEXT, OTHER)
    assert (silent.code, silent.detail) == ("unsaid", "[2]")


def test_a_subject_of_one_source_with_a_predicate_of_another_is_not_supported() -> None:
    assert check("Lake Vara has a depth of 300 metres.", TEXT, OTHER).level != "supported"
    assert check("The Amber Institute is caught there in autumn.", TEXT, OTHER).level != "supported"


def test_two_sources_that_say_the_same_both_give_a_quote() -> None:
    verdict = check("Lake Sund has a depth of 300 metres.", OTHER, "Lake Sund has a depth of 300 metres, they say.")
    assert verdict.level == "supported"
    assert [quote.source for quote in verdict.others] == [2]


LANGUAGES = {
    "ある測定では、引用したURLの6.1パーセントが一度も現れていなかった。": (
        "引用したURLの6.1%が一度も現れていなかった。",
        "引用したURLの6.1%が一度も現れていた。",
    ),
    "湖は3月12日に凍り、船は港に着けなかった。": ("船は港に着けなかった。", "湖は3月13日に凍った。"),
    "该研究在2021年测量了1200个湖泊，没有发现污染。": (
        "该研究测量了1200个湖泊，没有发现污染。",
        "该研究测量了1200个湖泊，发现污染。",
    ),
    "Der Agent verliert ohne Sicherungspunkte alle Ergebnisse.": (
        "Der Agent verliert alle Ergebnisse ohne Sicherungspunkte.",
        "Der Agent verliert mit Sicherungspunkten alle Ergebnisse.",
    ),
    "Tác nhân không mở trang nào trong 46 phần trăm lần chạy.": (
        "Tác nhân không mở trang nào trong 46 % lần chạy.",
        "Tác nhân mở trang trong 46 % lần chạy.",
    ),
    "L’agent n’a ouvert aucune page dans 46 % des cas.": (
        "Dans 46 % des cas, l’agent n’a ouvert aucune page.",
        "L’agent a ouvert une page dans 46 % des cas.",
    ),
}


@pytest.mark.parametrize("text", LANGUAGES)
def test_other_languages(text: str) -> None:
    true, false = LANGUAGES[text]
    assert check(true, text).level == "supported", check(true, text)
    assert check(false, text).level != "supported", check(false, text)


def test_without_evidence_or_content_nothing_is_supported() -> None:
    assert check_support("Lakes freeze.", []).level == "not"
    assert check_support("Lakes freeze.", [(1, [])]).level == "not"
    assert check("It is so.").level == "not"
    assert check("lakes " * 1000).level == "not"


def test_the_doubtful_middle_is_partly() -> None:
    verdict = check("Trade fell by 5 to 7 percent per year.")
    assert verdict.level == "partly"
    assert verdict.quote == "Trade rose by 5 to 7 percent per year."


def test_a_claim_in_another_language_is_doubtful_where_its_names_and_numbers_stand_there() -> None:
    verdict = check("Theo Toolformer (arXiv:2302.04761), mô hình tự học.")
    assert (verdict.level, verdict.quote) == ("partly", TEXT[TEXT.index("Toolformer") : TEXT.index(" HuggingGPT")])
    assert check("Theo Toolformer (arXiv:2302.99999), mô hình tự học.").level == "not"
