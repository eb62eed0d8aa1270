"""True sentences made false in known ways, and said otherwise without being made false. Deterministic."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from research_agent.documents import Passage
from research_agent.evidence.passages import split_passages, split_sentences
from tests.support.places import REPOSITORY

CORPUS = REPOSITORY / "examples" / "corpus"

_MARKUP = re.compile(r"^(?:#|```|\||-{3}|\w+: )|\n")
_NAME = re.compile(r"(?<=[a-z,;:] )(?:[A-Z][\w’-]*)(?: [A-Z][\w’-]*)*")
_NO_NAMES = frozenset("The None In It This November January A An I On To Of For With Ein U S SI".split())  # noqa: SIM905
_DIGITS = re.compile(r"(?<![\w.,/:-])\d+(?:[.,]\d+)?(?![\w/:-]|[.,]\d)")
_NUMBER_WORDS = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_LEANS = re.compile(
    r"(?:it|its|this|that|these|those|they|he|she|his|her|their|in|the|such|each|\w+ly)\b", re.IGNORECASE
)
_AUXILIARY = re.compile(r"\b(is|are|was|were|can|should|must|may|will|has|have|could|needs|does) ")
_VERB = re.compile(
    r" (?:is|are|was|were|can|cannot|should|must|may|has|have|needs|makes|gives|shows|lets|keeps|costs) "
)
_DROPPED = (
    (" cannot ", " can "), (" do not ", " "), (" does not ", " "), (" did not ", " "), (" is not ", " is "),
    (" are not ", " are "), (" was not ", " was "), (" were not ", " were "), (" must not ", " must "),
    (" without ", " with "), (" never ", " "), (" no ", " a "), (" has not ", " has "), (" had not ", " had "),
    (" nothing ", " everything "), (" not ", " "), ("None of ", "All of "), ("No ", "A "),
    ("Without ", "With "), (" nie ", " "), (" nicht ", " "), (" ohne ", " mit "), (" keine ", " eine "),
    ("Ohne ", "Mit "), (" không ", " "), (" chưa từng ", " từng "), ("できない", "できる"), ("ていない", "ている"),
    ("なければ", "あれば"),
)  # fmt: skip
_REVERSED = (
    ("more", "less"), ("less", "more"), ("higher", "lower"), ("before", "after"), ("after", "before"),
    ("first", "last"), ("over", "under"), ("under", "over"), ("always", "never"), ("cheaper", "dearer"),
    ("longer", "shorter"), ("stronger", "weaker"), ("weaker", "stronger"), ("most", "least"), ("rose", "fell"),
    ("small", "large"), ("cheap", "expensive"), ("common", "rare"), ("fails", "succeeds"),
    ("accepts", "rejects"), ("better", "worse"), ("improves", "worsens"), ("increase", "decrease"),
    ("increased", "decreased"), ("won", "lost"), ("supported", "unsupported"), ("large", "small"),
    ("larger", "smaller"), ("early", "late"), ("earlier", "later"), ("northern", "southern"),
    ("north", "south"), ("east", "west"), ("many", "few"), ("high", "low"), ("old", "new"), ("safe", "unsafe"),
)  # fmt: skip
_OTHER_FUNCTION_WORDS = (
    (" because ", " since "), (" which ", " that "), (" so that ", " in order that "), (" about ", " around "),
    (" while ", " whereas "), (" a ", " one "), (" the ", " a "), (" should ", " must "), (" can ", " could "),
    (" upon ", " on "), (" within ", " in "), (" every ", " each "), (" until ", " till "),
    (" although ", " though "), ("The ", "A "), (" therefore ", " thus "), (" has been ", " was "),
    (" also ", " "), (" denn ", " weil "), (" eine ", " die "), (" ein ", " der "), (" and ", " as well as "),
    (" một ", " "), (" và ", " cùng "), ("のである", "のだ"), ("である。", "です。"),
)  # fmt: skip
_OTHER_FORMS = (
    ("agents ", "agent "), (" agent ", " agents "), (" tools ", " tool "), (" calls ", " call "),
    (" results ", " result "), (" tests ", " test "), (" sources ", " source "), (" pages ", " page "),
    (" models ", " model "), (" makes ", " make "), (" needs ", " need "), (" gives ", " give "),
    (" shows ", " showed "), (" keeps ", " keep "), (" lets ", " let "), (" steps ", " step "),
    (" questions ", " question "), (" writes ", " wrote "), (" errors ", " error "), (" cited ", " cites "),
    (" stored ", " stores "), (" written ", " writes "), (" Agenten ", " Agent "), (" games ", " game "),
    (" included ", " includes "), (" became ", " becomes "), (" used ", " uses "), (" called ", " calls "),
    (" years ", " year "),
)  # fmt: skip
_OTHER_FIGURES = (
    (" percent", " %"), (" Prozent", " %"), ("パーセント", "%"), (" two ", " 2 "), (" three ", " 3 "),
    (" four ", " 4 "), (" five ", " 5 "), (" ten ", " 10 "), (" milliseconds", " ms"), (" seconds", " s"),
    (" 20 ", " twenty "), (" 30 ", " thirty "), (" 10 ", " ten "), (" 5 ", " five "), ("0,000 ", "0 000 "),
    (" million", " millions"), ("6,1 ", "6.1 "), ("$", "USD "), (" and 30 ", " and thirty "),
    (" eleven ", " 11 "), (" two-", " 2-"),
)  # fmt: skip


_INVENTED = (
    " according to a survey of 1,200 engineers", " because of rising energy prices",
    " which experts call a breakthrough", ", as a Stanford study confirmed", " in most hospitals and banks",
    ", and this doubled revenue within weeks", " since its introduction by the Swiss government",
    ", a result later withdrawn by its authors",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Source:
    """A document with its passages; `number` is its [n] in the ledger."""

    number: int
    language: str
    passages: list[Passage]
    sentences: list[str]


@dataclass(frozen=True, slots=True)
class Case:
    """A sentence and the sources that it cites."""

    kind: str
    text: str
    cites: tuple[int, ...]


def corpus_sources() -> list[Source]:
    """The example corpus as a ledger."""
    texts = [path.read_text(encoding="utf-8") for path in sorted(CORPUS.glob("*.md"))]
    return [source(number, text) for number, text in enumerate(texts, start=1)]


def source(number: int, text: str) -> Source:
    """One document of the ledger; its prose sentences are what claims are made of."""
    sentences = [
        " ".join(text[start:end].split()) for start, end in split_sentences(text) if not _MARKUP.search(text[start:end])
    ]
    sentences = [s for s in sentences if len(s) > 40 or (not s.isascii() and len(s) > 20)]
    language = "ja" if "。" in text else "vi" if "ư" in text else "de" if " und " in text else "en"
    return Source(number, language, split_passages(text), [s for s in sentences if s[-1] in ".。"])


def true_claims(sources: Sequence[Source]) -> Iterator[Case]:
    """Sentences of the sources word for word, and lightly said otherwise."""
    for each in sources:
        for sentence in each.sentences:
            for kind, text in [("verbatim", sentence), *_paraphrases(sentence)]:
                yield Case(kind, text, (each.number,))


def _paraphrases(sentence: str) -> Iterator[tuple[str, str]]:
    for kind, rules in (
        ("function words", _OTHER_FUNCTION_WORDS),
        ("inflection", _OTHER_FORMS),
        ("number format", _OTHER_FIGURES),
    ):
        changed = sentence
        for old, new in rules:
            changed = changed.replace(old, new, 1)
        if changed != sentence:
            yield kind, changed
    if match := re.fullmatch(
        r"([^,;:]{25,}), ((?:because|while|when|since|if|although|whereas|denn|weil|vì|khi) [^,;:]+)\.", sentence
    ):
        yield "clause order", f"{match[2][0].upper()}{match[2][1:]}, {_lower_first(match[1])}."
    if match := re.fullmatch(
        r"((?:When|If|Because|While|Although|In|For|After|Before|With|Without|Khi|Nếu|Trong) [^,;:]+), ([^,;:]+)\.",
        sentence,
    ):
        yield "clause order", f"{match[2][0].upper()}{match[2][1:]} {_lower_first(match[1])}."
    if match := re.fullmatch(
        r"(.{30,}?),? (?:which|because|so that|since|whose|where|when|denn|weil|vì) [^;:]+\.", sentence
    ):
        yield "subordinate clause dropped", f"{match[1].rstrip(',')}."
    if match := re.fullmatch(r"([^、。]{10,}、[^。]*)、([^、。]{10,})。", sentence):
        yield "clause order", f"{match[2]}、{match[1]}。"


def _lower_first(text: str) -> str:
    return text if text[:2].isupper() or re.match(r"[A-Z]\w*[A-Z]", text) else text[0].lower() + text[1:]


def false_claims(sources: Sequence[Source], seed: int = 4) -> Iterator[Case]:
    """Sentences of the sources made false, in every way that fits each of them."""
    chance = random.Random(seed)
    by_number = {each.number: each for each in sources}
    for each in sources:
        others = [o for o in sources if o.number != each.number and o.language == each.language and o.sentences]
        names = sorted({name for sentence in each.sentences for name in _NAME.findall(sentence)} - _NO_NAMES)
        for sentence in each.sentences:
            for kind, text in _falsified(sentence, names, chance):
                yield Case(kind, text, (each.number,))
            if each.language == "en":
                yield Case("invented detail", f"{sentence[:-1]}{chance.choice(_INVENTED)}.", (each.number,))
            yield Case("invented address", _with_address(sentence, chance), (each.number,))
            if others:
                other = chance.choice(others)
                yield Case("wrong source", sentence, (other.number,))
                if exchanged := _with_other_words(sentence, chance.choice(other.sentences), chance):
                    yield Case("other words", exchanged, (each.number,))
                yield Case("unrelated sentence", chance.choice(other.sentences), (each.number,))
                if merged := _merged(sentence, chance.choice(other.sentences)):
                    yield Case("merged sources", merged, (each.number, other.number))
                    yield Case("merged, one cited", merged, (each.number,))
            foreign = [other for other in sources if other.language != each.language]
            if foreign and each.language != "en":
                yield Case("other language", sentence, (chance.choice(foreign).number,))
        for name in range(len(each.sentences) - 1):
            one, other_sentence = each.sentences[name], each.sentences[name + 1]
            # "They were …" after a sentence on them may well be said of them.
            if not _LEANS.match(other_sentence) and (merged := _merged(one, other_sentence)):
                yield Case("merged neighbours", merged, (each.number,))
    assert by_number


def _falsified(sentence: str, names: Sequence[str], chance: random.Random) -> Iterator[tuple[str, str]]:
    if numbers := list(_DIGITS.finditer(sentence)):
        chosen = chance.choice(numbers)
        text = sentence[: chosen.start()] + _other_number(chosen[0], chance) + sentence[chosen.end() :]
        yield "changed number", text
        yield "HTML", f'<p class="x">{text}</p><script>alert(1)</script>'
    spelled = [word for word in _NUMBER_WORDS if f" {word} " in sentence]
    if spelled:
        other = chance.choice([word for word in _NUMBER_WORDS if word not in spelled])
        yield "changed number", sentence.replace(f" {spelled[0]} ", f" {other} ", 1)
    distinct = [name for name in _NAME.finditer(sentence) if name[0] not in _NO_NAMES]
    if pair := _swappable(sentence, distinct, chance):
        one, two = pair
        yield (
            "swapped names",
            sentence[: one.start()] + two[0] + sentence[one.end() : two.start()] + one[0] + sentence[two.end() :],
        )
    foreign = [name for name in names if name not in sentence and not any(part in sentence for part in name.split())]
    if distinct and foreign:
        old = chance.choice(distinct)
        yield "other name", sentence[: old.start()] + chance.choice(foreign) + sentence[old.end() :]
    for old_word, new_word in _DROPPED:
        if old_word in sentence:
            yield "dropped negation", sentence.replace(old_word, new_word, 1)
            break
    negative = any(old_word.strip() in sentence for old_word, _ in _DROPPED)
    if not negative and (verb := _AUXILIARY.search(sentence)):
        yield "added negation", f"{sentence[: verb.end()]}not {sentence[verb.end() :]}"
    for old_word, new_word in _REVERSED:
        if re.search(rf"\b{old_word}\b", sentence) and not re.search(rf"\b{new_word}\b", sentence):
            yield "reversed", re.sub(rf"\b{old_word}\b", new_word, sentence, count=1)
            break


def _swappable(
    sentence: str, names: Sequence[re.Match[str]], chance: random.Random
) -> tuple[re.Match[str], re.Match[str]] | None:
    """Two different names that are no two members of one list: swapping those changes nothing."""
    pairs = [
        (one, two)
        for i, one in enumerate(names)
        for two in names[i + 1 :]
        if one[0] != two[0]
        and not set(one[0].split()) & set(two[0].split())
        and not re.fullmatch(
            r"[\s,]*(?:(?:and|or|und|oder|von|of|to|vs\.?|versus|-|–)\s*(?:the |der |die )?)?",
            sentence[one.end() : two.start()],
        )
        and re.sub(r"[\s,]|\b(?:and|or|und|oder)\b", "", _NAME.sub("", f"a {sentence[one.end() : two.start()]}")[1:])
    ]
    return chance.choice(pairs) if pairs else None


def _other_number(digits: str, chance: random.Random) -> str:
    value = float(digits.replace(",", "."))
    while True:
        changed = chance.choice(
            (
                str(int(value) + chance.randint(1, 9)),
                str(int(value * 10) + 1),
                digits[::-1],
                digits + str(chance.randint(1, 9)),
            )
        )
        if float(changed.replace(",", ".")) != value:
            return changed


def _merged(one: str, other: str) -> str | None:
    """What the first sentence speaks of, and what the second says of something else."""
    head, tail = _VERB.search(one), _VERB.search(other)
    if not head or not tail or head.start() < 8 or len(other) - tail.start() < 40:
        return None
    subject, own = one[: head.start()], other[: tail.start()]
    return None if own in subject or subject in own else subject + other[tail.start() :]


def _with_other_words(one: str, other: str, chance: random.Random) -> str | None:
    """The sentence with a third of its longer words taken from another one, anywhere but at its end."""
    places = list(re.finditer(r"\b[a-zà-ỹ]{5,}\b", one))[:-1]
    words = [word for word in re.findall(r"\b[a-zà-ỹ]{5,}\b", other) if word[:4] not in one]
    count = max(2, len(places) // 3)
    if len(places) < count or len(words) < count:
        return None
    text = one
    for place, word in zip(sorted(chance.sample(places, count), key=lambda m: -m.start()), words, strict=False):
        text = text[: place.start()] + word + text[place.end() :]
    return text


def _with_address(sentence: str, chance: random.Random) -> str:
    serial = f"{chance.randrange(16**8):08x}"
    address = chance.choice(
        (
            f" (doi:10.1{serial[:3]}/{serial})".replace("a", "1"), f" (https://example.org/{serial})",
            f" (10.{chance.randint(1000, 9999)}/{serial})", f" [www.example.com/{serial}](https://www.example.com/{serial})",
            f" (arXiv:{chance.randint(1000, 9999)}.{chance.randint(10000, 99999)})", f" (example.net/{serial})",
        )
    )  # fmt: skip
    return f"{sentence[:-1]}{address}{sentence[-1]}"
