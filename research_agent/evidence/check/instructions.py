"""Sentences of a page that speak to the model that reads it, not to people: prompt injection as it is usually written.

Conservative on purpose: a sentence *about* such instructions ("attackers write 'ignore your instructions'") is
none, and a bare request that any manual could hold is none either. What protects a run is its structure (tools,
addresses and sources are fixed by program); this only keeps such text out of briefs.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from research_agent.documents import Passage
from research_agent.evidence.sentences import split_sentences

_READER = (
    r"(?:ai|a\.i\.|llms?|large language models?|language models?|assistants?|chat ?bots?|models?|(?:chat)?gpt\S*"
    r"|claude|gemini|copilot|agents?)"
)
_ORDERS = (
    r"(?:i?n?u?nstructions?|prompts?|rules|guidelines|directions|orders|commands|directives|tasks?|messages?|context)"
)
_BEFORE = r"(?:previous|prior|earlier|above|preceding|existing|original|initial|other|system|your|given|foregoing)"
_MODAL = r"(?:must|should|will|shall|are to|have to|need to)"
_OPENING = (
    r"^(?:[\W_]|\b(?:please|now|then|instead|first|important|attention|note|warning|urgent|system|user|assistant"
    r"|and|so|you (?:must|should|have to|need to|are to|will|shall)|hey|ok|okay)\b)*"
)
_IMPERATIVE = (
    r"(?:send|write|give|tell|show|provide|recommend|suggest|help|list|explain|translate|generate|create|make|print"
    r"|draft|compose|plan|find|organi[sz]e|remind|teach|calculate|analy[sz]e|summari[sz]e|describe|predict|advise|guide"
    r"|design|develop|convert|email|transfer|pay|book|delete|share|forward|rewrite|compare|buy|order|invite|add|set)"
)
_ADDRESSED = re.compile(
    "|".join(
        [
            rf"{_OPENING}(?:ignore|disregard|forget|override|bypass)\b.{{0,40}}\b{_BEFORE}\b.{{0,30}}\b{_ORDERS}\b",
            rf"{_OPENING}(?:ignore|disregard|forget) (?:everything|anything|all) (?:above|before|you|that|i|said)\b",
            r"^\W*(?:todo\b\W{0,3}:|<?/?information>|begin (?:system|new) (?:prompt|instructions))",
            r"^[^\w]{0,12}(?:system|admin(?:istrator)?|developer)[_ -]?(?:message|prompt|instructions?|override|note)?"
            r"\b\s{0,2}[)\]>:|]",
            r"<\|?(?:im_start|system|user|assistant)\|?>|\[/?INST\]|<</?SYS>>",
            rf"^\W*(?:new|updated|additional|further|revised|hidden|secret) {_ORDERS}(?: for (?:you|the {_READER}))?"
            r"\s*:",
            rf"^\W*(?:dear|attention|hey|hello|hi|note to|message (?:to|for)|instructions? (?:to|for)|to (?:the|all"
            rf"|any))\W{{1,3}}(?:the |all |any )?{_READER}\b(?: (?:reading|processing)\b.{{0,40}})?\s*[,:!.–—-]",
            rf"\bif you(?: are|'re|’re) (?:an? )?{_READER}\b",
            rf"^\W*(?:from now on,? )?you are (?:now|no longer|an?) (?:.{{0,30}}\b)?(?:{_READER}|dan|unrestricted)\b",
            rf"^\W*(?:from now on,? )?you {_MODAL} (?:now|instead|immediately) (?:ignore|respond|reply|answer|output"
            r"|say|write|include|print|repeat|recommend|tell|call|fetch|visit|reveal|obey|follow|execute)\b",
            rf"^\W*you {_MODAL} (?:always )?(?:obey|follow these (?:instructions|orders)|(?:call|use) the (?:tool"
            r"|function)|(?:fetch|visit) https?:|(?:respond|reply|answer) (?:only|with))\b",
            r"^\W*you must now\b",
            r"^\W*as an? (?:ai|large language model|language model|llm)\b",
            r"\bmessage from me\b.{0,80}\bto you\b",
            r"^\W*(?:before|after|once|when) you (?:do that|(?:can |have |will )?(?:solved?|answer(?:ed)?|completed?"
            r"|continue|finish(?:ed)?|summari[sz]e|respond))\b.{0,60}\b(?:task|question|request|summary|brief|you)\b",
            r"\byour (?:new|real|actual|true|only|next) (?:task|goal|instructions?|objective|job|role) (?:is|are)\b",
            rf"{_OPENING}(?:do not|don[’']t|never) (?:mention|tell|reveal|disclose|inform|show)\b.{{0,40}}\b(?:users?|"
            rf"{_ORDERS})\b",
            rf"{_OPENING}(?:reply|respond|answer|output|print|say|summari[sz]e|write) (?:only|just|exactly)\b",
            rf"{_OPENING}(?:reveal|repeat|print|output|show|leak) (?:me )?your (?:system |full |entire |initial "
            rf"|hidden )*(?:prompt|{_ORDERS}|secrets?|keys?)\b",
            rf"{_OPENING}{_IMPERATIVE}\b(?: \S+){{0,25}} (?:me|my|us)\b",
            # The same in other languages.
            r"^\W*(?:bitte )?(?:ignorier\w*|vergiss|vergessen sie|missachte\w*)\b.{0,50}\b(?:anweisung|instruktion"
            r"|regel)\w*",
            r"^\W*(?:ignore[zs]?|oublie[zs]?)\b.{0,50}\b(?:instructions|consignes|directives)\b",
            r"^\W*(?:ignor[ae]|olvida|olvide|ignore|esqueça|dimentica)\b.{0,50}\b(?:instrucciones|instruções|istruzioni)\b",
            r"^\W*(?:请)?(?:忽略|无视|忘记|忽視|無視)[^。]{0,20}(?:指令|指示|提示)",
            r"(?:指示|命令|プロンプト)[^。]{0,6}(?:無視|忘れ)(?:して(?:ください)?|ろ|てください)[。.!！]?$",
        ]
    ),
    re.IGNORECASE | re.DOTALL,
)
_PARAGRAPH = re.compile(r"\n\s*\n")
_LONGEST = 2000  # characters that are looked at of one sentence


def speaks_to_model(sentence: str) -> bool:
    """Whether the sentence is an instruction to whoever reads the page by machine."""
    return bool(_ADDRESSED.search(sentence[:_LONGEST]))


def instruction_spans(text: str) -> tuple[tuple[int, int], ...]:
    """Where `text` speaks to the model: from such a sentence to the end of its paragraph, since an order comes in
    several sentences, and through the next paragraph where it ends with a colon."""
    return _spans(text, announced=False)[0]


def orders_in(passages: Sequence[Passage]) -> list[tuple[tuple[int, int], ...]]:
    """The `instruction_spans` of each passage of one source; a colon at the end of one announces the next."""
    found, announced = [], False
    for passage in passages:
        spans, announced = _spans(passage["text"], announced=announced)
        found.append(spans)
    return found


@lru_cache(maxsize=4096)
def _spans(text: str, *, announced: bool) -> tuple[tuple[tuple[int, int], ...], bool]:
    found: list[tuple[int, int]] = []
    tainted, before = announced, 0
    announced = False
    for start, end in split_sentences(text):
        if found and _PARAGRAPH.search(text[before:start]):
            tainted, announced = announced, False
        if speaks_to_model(text[start:end]):
            tainted = True
        if tainted:
            found.append((start, end))
            announced = announced or text[start:end].rstrip().endswith((":", "："))
        before = end
    return tuple(found), announced
