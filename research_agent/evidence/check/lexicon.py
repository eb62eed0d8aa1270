"""The words that the checks know, by language.

Nothing here is needed for a language to work: without its words, fewer contradictions are seen and more words count
as content. The lists are short on purpose; the most frequent words do nearly all of the work.
"""

from __future__ import annotations

from decimal import Decimal


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


def _pairs(text: str) -> tuple[tuple[str, str], ...]:
    return tuple((one, other) for one, other in (pair.split() for pair in text.split("|")))


def _table(rows: dict[str, str]) -> dict[str, str]:
    return {name: value for value, names in rows.items() for name in names.split()}


# Short forms that never end a sentence: titles and the like, always before a name or number.
BEFORE_NAME = _set(
    """
    dr mr mrs ms mx prof st ste gen col lt sgt capt rep sen gov hon rev mt ft dipl ing frau hr fr sra
    sres mme mlle vs cf ca approx bzw vgl sog ggf evtl inkl z.b u.a d.h i.d.r e.g i.e viz resp max min
    dept univ est núm tel jan feb apr jun jul aug sep sept oct okt nov dec dez
    """
)

# Short forms that do not end a sentence before a number.
BEFORE_NUMBER = _set(
    """
    no nos nr fig figs eq eqs p pp vol vols ch sec art abs ver v n° bd kap tab
    """
)

# Short forms that end a sentence only when a word follows with which sentences begin.
SOMETIMES_LAST = _set(
    """
    etc inc ltd co corp llc jr sr al bros a.m p.m u.s u.k u.n e.u ph.d b.c a.d usw
    """
)

# Words with which sentences begin.
OPENERS = _set(
    """
    the a an in on at it its this that these those he she they we i you but and or so however for from
    with as if when while after before there here both many most some one two no der die das ein eine im
    es sie er wir le la les il elle un une el los las en
    """
)

# What follows a German ordinal: "am 3. Oktober".
GERMAN_MONTHS = _set(
    """
    januar februar märz april mai juni juli august september oktober november dezember jahrhundert
    jahrhunderts jh jänner
    """
)

# Words with which a clause begins.
CONJUNCTIONS = _set(
    """
    while whereas because although though but since unless which who where when if während weil obwohl
    aber sondern wenn dass mais tandis parce pero mientras porque aunque nhưng vì khi nếu
    """
)

# Words that only hold a sentence together, beside those that `content_words` knows; the most frequent are enough.
FUNCTION_WORDS = _set(
    """
    also although upon via per within among across without whether since because while whereas though
    thus hence therefore moreover furthermore meanwhile however yet still even already would one ones
    said many much several rather like make made use used well till order according additionally specifically
    overall finally generally commonly typically often likely usually especially particularly compared
    including included namely der die das den dem des ein eine einen einem einer eines und oder ist sind
    war waren wird werden wurde wurden hat haben hatte auf aus bei mit nach seit von vom zu zum zur für
    über unter durch im in am an als auch noch nur sich es er sie wir ihr dass wenn weil wie so dann
    denn aber doch dabei dieser diese dieses jede jeder kann le la les un une du de et ou est sont était
    été a au aux en dans par pour sur avec que qui ce cette ces il elle ils elles se sa son ses leur
    plus comme mais el los las una unos unas y o era fue del al con por para como más su sus lo pero gli
    uno di e è sono nel nella dal dalla che si ma os as um uma do da dos no na em com ao é são foi het
    een van is zijn op te met voor aan door bij dat và của là có các những được trong cho với một khi để
    từ này đó như thì mà ở về cũng đã sẽ bị ra vào tại theo rồi nên còn lại cả vẫn phải mọi nhiều hơn и
    в на с по к из у за от до для что как это он она они его её их был была было
    """
)

# Function words that are names when they have a capital inside a sentence.
NAMES_TOO = _set(
    """
    may will us who mark bill
    """
)

# Words that negate.
NEGATIONS = _set(
    """
    not no never none nobody nothing neither nor without cannot nowhere nicht nie niemals niemand nichts
    ohne weder kein keine keinen keinem keiner keines ne n' pas jamais aucun aucune sans ni rien nunca
    jamás ningún ninguna ninguno sin nada tampoco non mai nessun nessuno nessuna senza não nem sem
    nenhum nenhuma niet geen nooit zonder không chưa chẳng đừng не нет ни никогда без لا لم لن ليس غير
    नहीं मत बिना değil 안
    """
)

# Pairs of letters in which Japanese, Chinese, Korean and Thai negate.
NEGATING_PAIRS = _set(
    """
    ない せん なく なけ ずに さず れず せず らず わず えず けず 无法 無い
    않는 않다 않고 않았 못하 없는 없다 없이 없고 아니 ไม่
    """
)

# Pairs of letters that begin like a negation and are none.
NOT_NEGATING = _set(
    """
    不同 不仅 不僅 不断 不斷 不过 不過 不少 不久 无论 無論 未来 未來 無料 無線 无线 不動 不足
    """
)

# Words that turn who does and who suffers.
PASSIVE = _set(
    """
    by von durch par por bởi bị được
    """
)

# What stands between the members of a list.
LISTING = _set(
    """
    and or und oder et ou y o và hoặc as well
    """
)

# Words that speak of what the sentence before names.
LEANING = _set(
    """
    it its he she his her they their this that these those such both who which er sie es ihr sein diese
    dieser dieses il elle ils elles ce cette él ella ellos este esta nó họ này đó он она они это
    """
)

# Words after which a negation need not hold any more.
COORDINATING = _set(
    """
    and und et y e và и but aber mais pero
    """
)

# Number words that mean something else more often.
AMBIGUOUS_NUMBERS = _set(
    """
    ba once sept cent năm hai elf mil acht
    """
)

# Articles; they are left out where neighbours are compared.
ARTICLES = _set("the a an der die das den dem des le la les un une el los las")

# Pairs of opposites; other forms of the same words meet as stems.
OPPOSITES = _pairs(
    """
    increase decrease | increase reduce | raise lower | rise fall | rise drop | rise decline | rose fell |
    grow shrink | grow decline | gain lose | more less | more fewer | most least | most fewest |
    higher lower | high low | larger smaller | large small | bigger smaller | big small |
    greater smaller | greater less | longer shorter | long short | faster slower | fast slow |
    quicker slower | better worse | best worst | good bad | stronger weaker | strong weak |
    strengthen weaken | early late | earlier later | before after | above below | over under | up down |
    first last | begin end | start stop | start end | open close | win lose | won lost | victory defeat |
    win defeat | always never | all none | many few | most few | inside outside | within outside |
    cheap expensive | cheaper dearer | easy hard | easier harder | simple complex | include exclude |
    accept reject | allow forbid | allow prevent | allow prohibit | permit forbid | enable disable |
    enable prevent | encourage discourage | improve worsen | help hinder | support refute |
    support oppose | support contradict | confirm refute | confirm deny | prove disprove |
    agree disagree | add remove | add subtract | minimum maximum | positive negative | true false |
    right wrong | left right | north south | northern southern | east west | eastern western |
    male female | man woman | men women | public private | safe dangerous | trusted untrusted |
    succeed fail | success failure | pass fail | present absent | present past | internal external |
    old new | older younger | older newer | ancient modern | rich poor | hot cold | warm cold |
    light heavy | thick thin | wide narrow | deep shallow | buy sell | import export | lend borrow |
    give take | send receive | upper lower | upward downward | same different | similar different |
    equal unequal | likely unlikely | common rare | often rarely | often seldom | frequently rarely |
    full empty | save waste | protect endanger | create destroy | steigen fallen | steigen sinken |
    stieg sank | stieg fiel | zunehmen abnehmen | erhöhen senken | mehr weniger | höher niedriger |
    größer kleiner | länger kürzer | besser schlechter | vor nach | über unter | immer nie | alle keine |
    viele wenige | erste letzte | billiger teurer | schneller langsamer | augmenter diminuer |
    plus moins | avant après | hausse baisse | supérieur inférieur | aumentar disminuir | más menos |
    antes después | mayor menor | tăng giảm | trước sau | nhiều ít | cao thấp | lớn nhỏ | rẻ đắt |
    nhanh chậm | tốt xấu | trên dưới | đúng sai | 増加 減少 | 上昇 下降 | 上昇 低下 | 以上 以下 | 以上 未満 |
    以前 以後 | 前に 後に | 安価 高価 | 増え 減っ | 増える 減る | 多い 少な | 可能 不可 | 增加 减少 |
    上升 下降 | 上升 下跌 | 高于 低于 | 多于 少于 | 之前 之后 | 以上 以下 | 更多 更少
    """
)

# Forms of English verbs that no stemmer joins.
IRREGULAR = _table(
    {
        "become": "became", "begin": "began begun", "break": "broke broken", "bring": "brought", "build": "built",
        "buy": "bought", "choose": "chose chosen", "come": "came", "draw": "drew drawn", "drive": "drove driven",
        "fall": "fell fallen", "feel": "felt", "find": "found", "forget": "forgot forgotten", "get": "got gotten",
        "give": "gave given", "go": "went gone", "grow": "grew grown", "hold": "held", "keep": "kept",
        "know": "knew known", "lead": "led", "leave": "left", "lose": "lost", "make": "made", "mean": "meant",
        "meet": "met", "pay": "paid", "rise": "rose risen", "run": "ran", "say": "said", "see": "saw seen",
        "sell": "sold", "send": "sent", "show": "shown", "speak": "spoke spoken", "spend": "spent",
        "stand": "stood", "take": "took taken", "teach": "taught", "tell": "told", "think": "thought",
        "throw": "threw thrown", "understand": "understood", "win": "won", "write": "wrote written",
    }
)  # fmt: skip

# What the number before it is multiplied by.
_MULTIPLIER_WORDS = _table(
    {
        "1000": "thousand thousands k tausend mille mil nghìn ngàn 千 천 тысяч",
        "10000": "万 萬 만",
        "100000": "lakh lakhs",
        "1000000": "million millions mn mio millionen millón millones triệu m миллионов 百万",
        "10000000": "crore crores",
        "100000000": "億 亿 억",
        "1000000000": "billion billions bn milliarde milliarden mrd milliard milliards tỷ tỉ миллиардов 十億",
        "1000000000000": "trillion trillions tn billionen 兆",
    }
)
MULTIPLIERS = {name: Decimal(value) for name, value in _MULTIPLIER_WORDS.items()}

# Names of units, each with the one that stands for all of them.
UNITS = _table(
    {
        "%": "% percent percentage per pct prozent パーセント pourcent pour por phần процентов 퍼센트",
        "$": "$ usd dollar dollars ドル",
        "€": "€ eur euro euros ユーロ",
        "£": "£ gbp pound pounds",
        "¥": "¥ yen jpy 円 元",
        "ms": "ms millisecond milliseconds millisekunden ミリ秒",
        "s": "s sec secs second seconds sekunde sekunden seconde secondes segundos giây 秒",
        "min": "min mins minute minutes minuten minutos phút 分",
        "h": "h hour hours stunde stunden heure heures horas giờ 時間",
        "day": "day days tag tage tagen jour jours días ngày 日",
        "week": "week weeks woche wochen semaine semaines semanas tuần 週",
        "month": "month months monat monate monaten mois meses tháng か月 ヶ月",
        "year": "year years jahr jahre jahren an ans année années años năm 年",
        "km": "km kilometre kilometres kilometer kilometers",
        "mile": "mile miles mi",
        "cm": "cm centimetre centimetres centimeter centimeters",
        "mm": "mm millimetre millimetres millimeter millimeters",
        "kg": "kg kilogram kilograms kilogramm",
        "mg": "mg milligram milligrams",
        "kb": "kb kib kilobyte kilobytes",
        "mb": "mb mib megabyte megabytes",
        "gb": "gb gib gigabyte gigabytes",
    }
)

# Numbers in letters; "one" is an article more often.
_NUMBERS_IN_LETTERS = _table(
    {
        "2": "two twice zwei deux dos hai 二",
        "3": "three drei trois tres ba",
        "4": "four vier quatre cuatro bốn",
        "5": "five fünf cinq cinco năm",
        "6": "six sechs seis sáu",
        "7": "seven sieben sept siete bảy",
        "8": "eight acht huit ocho tám",
        "9": "nine neun neuf nueve chín",
        "10": "ten zehn dix diez mười",
        "11": "eleven elf onze once",
        "12": "twelve zwölf douze doce dozen",
        "13": "thirteen dreizehn treize",
        "14": "fourteen vierzehn quatorze",
        "15": "fifteen fünfzehn quinze",
        "16": "sixteen sechzehn seize",
        "17": "seventeen siebzehn",
        "18": "eighteen achtzehn",
        "19": "nineteen neunzehn",
        "20": "twenty zwanzig vingt",
        "30": "thirty dreißig trente",
        "40": "forty vierzig",
        "50": "fifty fünfzig",
        "60": "sixty sechzig",
        "70": "seventy siebzig",
        "80": "eighty achtzig",
        "90": "ninety neunzig",
        "100": "hundred hundert cent",
    }
)
NUMBER_WORDS = {name: Decimal(value) for name, value in _NUMBERS_IN_LETTERS.items()}

_MONTH_NAMES = (
    "january jan januar janvier enero gennaio janeiro",
    "february feb februar février febrero febbraio fevereiro",
    "march mar märz mars marzo março",
    "april apr avril abril aprile",
    "may mai mayo maggio maio",
    "june jun juni juin junio giugno junho",
    "july jul juli juillet julio luglio julho",
    "august aug août agosto",
    "september sep sept septembre septiembre settembre setembro",
    "october oct oktober okt octobre octubre ottobre outubro",
    "november nov novembre noviembre novembro",
    "december dec dezember dez décembre diciembre dicembre dezembro",
)
MONTHS = {name: number for number, names in enumerate(_MONTH_NAMES, start=1) for name in names.split()}
