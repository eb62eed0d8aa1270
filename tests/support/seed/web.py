"""An invented web: some sites let programs read, some do not; each page has figures that a brief can cite."""

from __future__ import annotations

import random
from dataclasses import dataclass
from functools import lru_cache

from research_agent.documents import Page

SUBJECTS = (
    "tidal power", "green hydrogen", "district heating", "battery recycling", "rooftop solar power",
    "geothermal heating", "vertical farming", "seaweed farming", "soil carbon storage", "drip irrigation",
    "agroforestry", "precision fermentation", "telemedicine", "antibiotic stewardship", "cancer screening",
    "school catering", "early reading instruction", "remote work", "congestion pricing", "bus rapid transit",
    "cycling infrastructure", "open banking", "digital identity", "basic income",
)  # fmt: skip
PLACES = (
    "Norway", "Chile", "Kenya", "Japan", "Portugal", "Canada", "Vietnam", "Morocco", "Estonia", "Peru",
    "Scotland", "Ghana", "Finland", "Uruguay", "Iceland", "Greece", "Poland", "Jordan", "Austria", "Nepal",
    "Ireland", "Slovenia", "Malta", "Oman",
)  # fmt: skip
TOPICS = (
    "What does {subject} cost in {place}?", "How far is {subject} in {place}?",
    "Which problems has {subject} in {place}?", "Who pays for {subject} in {place}?",
    "What came of {subject} in {place}?",
)  # fmt: skip

# What a page says, and how a brief would say it.
_FACTS = (
    (
        "In {place}, {subject} grew by {a} percent between {y} and {z}, faster than anybody had planned.",
        "{subject} in {place} grew by {a} percent between {y} and {z}.",
    ),
    (
        "A review of {b} projects found that {a} percent of them met their targets for {subject} in {place}.",
        "{a} percent of {b} projects for {subject} in {place} met their targets.",
    ),
    (
        "The ministry of {place} put the yearly cost of {subject} at {b} million euros in {y}.",
        "In {y} the ministry of {place} put the yearly cost of {subject} at {b} million euros.",
    ),
    (
        "Between {y} and {z} the price of {subject} in {place} fell by {a} percent, mostly because of larger orders.",
        "The price of {subject} in {place} fell by {a} percent between {y} and {z}.",
    ),
    (
        "Of {b} people who were asked in {place}, {a} percent had heard of {subject}.",
        "{a} percent of {b} people asked in {place} had heard of {subject}.",
    ),
    (
        "In {place} a shortage of trained staff for {subject} delayed {a} percent of the projects that were planned.",
        "A shortage of trained staff delayed {a} percent of the projects for {subject} in {place}.",
    ),
    (
        "An audit in {y} counted {b} sites with {subject} in {place}, {c} of them out of service.",
        "In {y} an audit counted {b} sites with {subject} in {place}, {c} of them out of service.",
    ),
    (
        "Since {y} the law of {place} asks for a permit for {subject}, which takes {c} months on average.",
        "A permit for {subject} in {place} takes {c} months on average.",
    ),
)
_FILLER = (
    "The figures come from yearly reports and were not checked on site.",
    "Later reports use another method, so the years before cannot be compared with them.",
    "Several towns have asked for help with the planning and the first tenders.",
    "Nobody expects this to be settled before the next budget.",
    "The association of operators sees it differently and has published numbers of its own.",
    "For small operators the paperwork weighs more than the money.",
    "Where the grid is weak, everything takes longer than it does on paper.",
    "People who live nearby were asked late, and some of them went to court.",
    "The programme pays a third of the costs and expects the rest from the region.",
    "What works in a large town is not certain to work in a village.",
    "The authors warn against reading too much into a single year.",
    "A second study with more sites is under way and will be published with its data.",
    "The machines themselves are no longer the problem, their upkeep is.",
    "Training takes two years, and half of the trained people leave for other work.",
    "The contract was made for ten years and can be extended once.",
    "In the end the simplest design was the one that was built.",
)
_KINDS = ("an overview", "figures of the year", "a field report", "what the audit found", "questions and answers")

# Site → how often it refuses, and how.
SITES: dict[str, tuple[float, tuple[str, ...]]] = {
    "openjournal.example": (0.02, ("503",)),
    "stat-office.example": (0.15, ("429",)),
    "www.energy-observer.example": (0.05, ("404",)),
    "paywalled-times.example": (0.85, ("403", "403", "not_evidence")),
    "regional-news.example": (0.3, ("not_evidence", "403")),
    "socialfeed.example": (1.0, ("robots_denied",)),
    "slow-archive.example": (0.4, ("timed_out", "503")),
    "policy-lab.example": (0.04, ("404",)),
    "encyclopedia.example": (0.01, ("429",)),
    "fieldnotes.example": (0.06, ("404", "timed_out")),
    "ministry.example": (0.08, ("403",)),
    "www.think-tank.example": (0.05, ("404",)),
}
PAGES_PER_TOPIC = 24


@dataclass(frozen=True)
class Fact:
    """A sentence of a page, and the sentence of a brief that stands on it."""

    quote: str
    sentence: str


def failure_of(url: str, rng: random.Random) -> str:
    """How the site of `url` refuses this time, "" if it does not."""
    rate, kinds = SITES[url.split("/")[2]]
    return rng.choice(kinds) if rng.random() < rate else ""


@lru_cache(maxsize=20_000)
def page_of(subject: str, place: str, number: int, *, newer: bool) -> tuple[Page, tuple[Fact, ...]]:
    """Page `number` on a subject in a place. Every eighth says something else when it is `newer`."""
    rng = random.Random(f"{subject}/{place}/{number}/{newer and number % 8 == 3}")
    facts = tuple(_fact(subject, place, rng) for _ in range(4))
    paragraphs = []
    for fact in facts:
        before, after = rng.sample(_FILLER, 2), rng.sample(_FILLER, 3)
        paragraphs.append(" ".join([*before[: rng.randrange(3)], fact.quote, *after[: rng.randrange(4)]]))
    paragraphs += [" ".join(rng.sample(_FILLER, rng.randrange(4, 9))) for _ in range(rng.randrange(3, 9))]
    slug = f"{subject}-{place}".lower().replace(" ", "-")
    site = sorted(SITES)[(number * 5 + len(subject) + len(place)) % len(SITES)]
    links = (f"https://{site}/{slug}/{number + PAGES_PER_TOPIC}",)
    page = Page(
        f"https://{site}/{slug}/{number}",
        f"{_upper(subject)} in {place}: {_KINDS[number % len(_KINDS)]}",
        "\n\n".join(paragraphs),
        media_type="text/html",
        site=site.removeprefix("www.").partition(".")[0],
        published=f"202{number % 6}-0{1 + number % 9}-15",
        language="en",
        links=links,
    )
    return page, facts


def _fact(subject: str, place: str, rng: random.Random) -> Fact:
    year = rng.randrange(2012, 2022)
    values = {"subject": subject, "place": place, "y": year, "z": year + rng.randrange(2, 5)}
    values |= {"a": rng.randrange(4, 96), "b": rng.randrange(40, 4000), "c": rng.randrange(3, 38)}
    quote, sentence = rng.choice(_FACTS)
    return Fact(_upper(quote.format(**values)), _upper(sentence.format(**values)))


def _upper(text: str) -> str:
    return text[:1].upper() + text[1:]
