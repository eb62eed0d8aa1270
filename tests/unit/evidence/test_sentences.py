"""Where sentences end."""

from __future__ import annotations

import pytest

from research_agent.evidence.passages import choose_passages, split_passages
from research_agent.evidence.sentences import split_sentences


def cut(text: str) -> list[str]:
    return [text[start:end] for start, end in split_sentences(text)]


@pytest.mark.parametrize(
    "sentences",
    [
        ["Dr. Smith met J. R. Tolkien.", "He spoke."],
        ["It cost 3.5 million.", "See Fig. 3 and No. 5.", "Version 4.3.2 followed."],
        ["He works in the U.S. Senate.", "They met in the U.S.", "The company grew."],
        ["Acme Inc. announced it, etc. and so on.", "Done."],
        ["Am 3. Oktober 1990 kam es, z.B. im 19. Jahrhundert.", "Danach nicht."],
        ["Wait... what?", "No!", "Yes…", "And then."],
        ['He said "Stop."', "Then he left.", "(It was so.)", "Next."],
        ["Gave up.[12]", "The next one did not.[3][4]", "End."],
        ["Visit https://a.b.c/d.e?f=g.", "Then go."],
        ["Vitamin C.", "The end."],
        ["彼は言った。", "「やめろ。」と彼は述べた。", "次の文！", "終わり"],
        ["यह पहला है।", "यह दूसरा है॥", "तीसरा"],
        ["هل هذا صحيح؟", "نعم.", "لا."],
        ["Đây là câu một.", "Đây là câu hai?"],
    ],
)
def test_sentences_end_at_their_ends(sentences: list[str]) -> None:
    unspaced = sentences[0][-1] == "。"
    assert cut(("" if unspaced else " ").join(sentences)) == sentences


def test_headings_list_items_and_rows_are_sentences_of_their_own() -> None:
    text = "# Title\nText begins. It goes on.\n- one\n- two\n  wrapped\n1. first\n\n| a | b |\n| 1 | 2 |\nEnd."
    blocks = ["# Title", "Text begins.", "It goes on.", "- one", "- two\n  wrapped", "1. first"]
    assert cut(text) == [*blocks, "| a | b |", "| 1 | 2 |", "End."]


def test_hard_wrapped_lines_belong_together_and_short_lines_do_not() -> None:
    wrapped = (
        "An agent that was killed loses all of its\nWork unless checkpoints were stored before\nit died. Then it stops."
    )
    assert len(cut(wrapped)) == 2
    extracted = "Background\nThe agent was tested over a long time in many places and was found to work well."
    assert cut(extracted)[0] == "Background"


def test_paragraphs_that_an_extractor_glued_are_parted() -> None:
    assert cut("It was labor.Then a fee is added.") == ["It was labor.", "Then a fee is added."]
    assert cut("Use Node.js or System.Out here.") == ["Use Node.js or System.Out here."]


def test_passages_are_verbatim_and_never_cut_words() -> None:
    text = "\n\n".join("word " * 700 + f"end {n}." for n in range(3))
    passages = split_passages(text)
    assert all(text[p["start"] : p["end"]] == p["text"] for p in passages)
    assert all(p["text"].split()[0] in ("word", "end") for p in passages)
    assert "".join("".join(p["text"].split()) for p in passages) == "".join(text.split())


def test_passages_seen_before_are_not_chosen_again() -> None:
    text = "\n\n".join(f"Agents fail in way {n}. " + "x " * 200 for n in range(6))
    first = choose_passages(text, "agents fail", 1000)
    second = choose_passages(text, "agents fail", 1000, [(p["start"], p["end"]) for p in first])
    assert first and second
    assert not {p["start"] for p in first} & {p["start"] for p in second}
