"""Text of writers → sentences with the sources they cite."""

from __future__ import annotations

import pytest

from research_agent.evidence.claims import has_url, parse_claims


def parsed(brief: str) -> list[tuple[int, str, tuple[int, ...]]]:
    return [(claim.bullet, claim.text, claim.sources) for claim in parse_claims(brief)]


@pytest.mark.parametrize(
    ("marked", "sources"),
    [
        ("Agents fail [1].", (1,)),
        ("Agents fail. [1]", (1,)),
        ("Agents fail.[1]", (1,)),
        ("Agents fail [1, 2].", (1, 2)),
        ("Agents fail [1;3].", (1, 3)),
        ("Agents fail [1][2].", (1, 2)),
        ("Agents fail [1] [2].", (1, 2)),
        ("Agents fail [1]-[3].", (1, 2, 3)),
        ("Agents fail [1–3].", (1, 2, 3)),
        ("Agents fail [2]–[4], [7].", (2, 3, 4, 7)),
        ("Agents fail 【1】.", (1,)),
        ("Agents fail 【2†source】.", (2,)),
        ("Agents fail (1).", (1,)),
        ("Agents fail (1, 2).", (1, 2)),
        ("Agents fail [^3].", (3,)),
        ("Agents fail [Source 4].", (4,)),
        ("Agents fail.²", (2,)),
        ("[1] Agents fail.", (1,)),
        ("Agents [1] fail [1].", (1,)),
    ],
)
def test_every_form_of_marker_is_read_and_taken_out(marked: str, sources: tuple[int, ...]) -> None:
    [claim] = parse_claims(f"- {marked}")
    assert claim.sources == sources
    assert claim.text.replace(",", "") in ("Agents fail.", "Agents fail .")


def test_brackets_with_words_years_and_counts_are_no_markers() -> None:
    assert parsed("Davis led in tackles (118) with 24 [sic] sacks (2015).")[0][2] == ()
    assert parsed("The sum f(2) grew [1].") == [(1, "The sum f(2) grew.", (1,))]


def test_sentences_are_cut_where_sentences_end() -> None:
    brief = "- Dr. Smith paid 3.5 million, e.g. to J. Doe [1]. It fell to 2 % in Q1! [2] “Is it so?” [3]"
    assert [claim.sources for claim in parse_claims(brief)] == [(1,), (2,), (3,)]


def test_full_width_stops_end_sentences() -> None:
    assert parsed("これはペンだ[1]。次は本だ。[2]終わりです【3】。") == [
        (1, "これはペンだ。", (1,)),
        (1, "次は本だ。", (2,)),
        (1, "終わりです。", (3,)),
    ]


def test_a_sentence_without_marker_takes_those_of_the_next_in_its_bullet() -> None:
    assert [c.sources for c in parse_claims("- One says so. Two says more [2]. Three says nothing.")] == [
        (2,),
        (2,),
        (),
    ]
    assert [c.sources for c in parse_claims("- One says so.\n- Two says more [2].")] == [(), (2,)]


def test_lists_nested_numbered_and_wrapped() -> None:
    brief = "1. One runs\n   over lines [1].\n   - nested two [2].\n2) Three [3].\n• Four [4].\n- [ ] Five [5]."
    assert parsed(brief) == [
        (1, "One runs over lines.", (1,)),
        (2, "nested two.", (2,)),
        (3, "Three.", (3,)),
        (4, "Four.", (4,)),
        (5, "Five.", (5,)),
    ]


def test_headings_lead_ins_fences_and_own_sections_are_no_claims() -> None:
    brief = "```markdown\n# Brief\n**Findings**\nThere are two kinds:\n- A is so [1].\n\n## Sources\n1. X https://x.org\n```"
    assert parsed(brief) == [(1, "A is so.", (1,))]
    assert parsed("- A is so [1].\n\nNot established\n- B is so [1].") == [(1, "A is so.", (1,))]
    assert parsed("- A is so.[^1]\n\n[^1]: https://x.org/a") == [(1, "A is so.", (1,))]


def test_a_row_of_a_table_is_a_claim() -> None:
    assert parsed("| Kind | Share |\n|------|------:|\n| Loops | 5 % [2] |\n| Crashes | 7 % | [3] |") == [
        (1, "Loops — Share: 5 %", (2,)),
        (2, "Crashes — Share: 7 %", (3,)),
    ]


def test_html_is_undone_and_never_reaches_a_claim() -> None:
    brief = (
        "<h1>Brief</h1><ul><li>Agents <b>fail</b> &amp; loop<sup>1</sup>.</li><li>A &lt; B [2].</li></ul>"
        "<script>Evil runs [1].</script><!-- hidden [1]. -->"
    )
    assert parsed(brief) == [(1, "Brief", ()), (2, "Agents fail & loop.", (1,)), (3, "A < B.", (2,))]


def test_emphasis_goes_and_products_stay() -> None:
    assert parsed("- **Loops**: *agents* `repeat` _calls_ 2*3*4 times [1].") == [
        (1, "Loops: agents repeat calls 2*3*4 times.", (1,))
    ]


@pytest.mark.parametrize(
    "text",
    [
        "See https://example.org/a.",
        "See www.example.org.",
        "See [the page](https://example.org).",
        "See [1](javascript:alert(1)).",
        "It is 10.1000/xyz123.",
        "It is doi:10.1000/xyz.",
        "See example.org/path.",
    ],
)
def test_an_address_in_a_claim_is_seen(text: str) -> None:
    assert has_url(text)


@pytest.mark.parametrize("text", ["Node.js and Booking.com are names.", "It took 10.5/2 h.", "See arXiv:2210.03629."])
def test_what_only_looks_like_an_address_is_none(text: str) -> None:
    assert not has_url(text)


def test_links_in_html_stay_visible_as_addresses() -> None:
    [claim] = parse_claims('<p>See <a href="http://evil.example/x">this</a> [1].</p>')
    assert has_url(claim.text)


def test_nothing_gives_nothing() -> None:
    assert parse_claims("") == []
    assert parse_claims("- [1]\n- \n***\n[2][3]") == []
