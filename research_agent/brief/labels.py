"""What a brief says beside its sentences, in the language of the topic; English where a language is not here."""

from __future__ import annotations

from dataclasses import dataclass

from research_agent.documents import Code


@dataclass(frozen=True, slots=True)
class Labels:
    """Headings, and for each reason that a sentence was left out a few plain words."""

    sources: str
    disagree: str
    open: str
    left_out: str
    unchecked: str  # a note: nobody judged the meaning of the sentences
    rewritten: str  # a note: nothing of the first draft could be kept
    reasons: dict[Code, str]


_CODES: tuple[Code, ...] = (
    "unsaid",
    "part",
    "doubt",
    "figure",
    "quotation",
    "no_source",
    "address",
    "instruction",
    "off_topic",
    "leaning",
    "too_long",
    "unchecked",
)


def _labels(headings: str, notes: str, reasons: str) -> Labels:
    sources, disagree, still_open, left_out = headings.split("|")
    unchecked, rewritten = notes.split("|")
    words = dict(zip(_CODES, reasons.split("|"), strict=True))
    return Labels(sources, disagree, still_open, left_out, unchecked, rewritten, words)


LABELS: dict[str, Labels] = {
    "en": _labels(
        "Sources|Sources disagree|Open|Left out",
        "Not checked in meaning: only the words of each sentence were compared with its sources."
        "|Nothing of the first draft could be kept; the brief was written once more.",
        "its sources do not say this|its sources say only a part of this|its sources say something else"
        "|a figure or date stands in none of its sources|the quoted words stand in none of its sources"
        "|it names no source that was read|it gave an address of its own|it repeated an instruction"
        "|it does not concern the topic|it depended on a sentence that was left out|it is too long to be one sentence"
        "|it could not be checked",
    ),
    "de": _labels(
        "Quellen|Widersprüche der Quellen|Offen|Weggelassen",
        "Nicht auf den Sinn geprüft: nur die Wörter jedes Satzes wurden mit seinen Quellen verglichen."
        "|Vom ersten Entwurf war nichts haltbar; der Text wurde noch einmal geschrieben.",
        "die Quellen sagen das nicht|die Quellen sagen das nur zum Teil|die Quellen sagen etwas anderes"
        "|eine Zahl oder ein Datum steht in keiner der Quellen|die zitierten Worte stehen in keiner der Quellen"
        "|keine gelesene Quelle ist genannt|eigene Adresse angegeben|eine Anweisung wiederholt"
        "|gehört nicht zum Thema|hing an einem weggelassenen Satz|zu lang für einen Satz|konnte nicht geprüft werden",
    ),
    "fr": _labels(
        "Sources|Désaccords entre les sources|Questions ouvertes|Écarté",
        "Sens non vérifié : seuls les mots de chaque phrase ont été comparés à ses sources."
        "|Rien du premier jet n’a pu être gardé ; le texte a été réécrit.",
        "ses sources ne le disent pas|ses sources n’en disent qu’une partie|ses sources disent autre chose"
        "|un chiffre ou une date n’est dans aucune source|les mots cités ne sont dans aucune source"
        "|aucune source lue n’est indiquée|donnait sa propre adresse|répétait une instruction"
        "|ne concerne pas le sujet|dépendait d’une phrase écartée|trop long pour une phrase|n’a pas pu être vérifié",
    ),
    "es": _labels(
        "Fuentes|Las fuentes discrepan|Pendiente|Omitido",
        "Sentido no comprobado: solo se compararon las palabras de cada frase con sus fuentes."
        "|Nada del primer borrador pudo conservarse; el texto se escribió de nuevo.",
        "sus fuentes no lo dicen|sus fuentes lo dicen solo en parte|sus fuentes dicen otra cosa"
        "|una cifra o fecha no está en ninguna fuente|las palabras citadas no están en ninguna fuente"
        "|no nombra ninguna fuente leída|daba una dirección propia|repetía una instrucción"
        "|no atañe al tema|dependía de una frase omitida|demasiado largo para una frase|no pudo comprobarse",
    ),
    "it": _labels(
        "Fonti|Le fonti discordano|Ancora aperto|Tralasciato",
        "Senso non verificato: solo le parole di ogni frase sono state confrontate con le fonti."
        "|Nulla della prima stesura ha retto; il testo è stato riscritto.",
        "le fonti non lo dicono|le fonti lo dicono solo in parte|le fonti dicono altro"
        "|una cifra o data non è in nessuna fonte|le parole citate non sono in nessuna fonte"
        "|non indica alcuna fonte letta|dava un proprio indirizzo|ripeteva un’istruzione"
        "|non riguarda il tema|dipendeva da una frase tralasciata|troppo lungo per una frase"
        "|non è stato possibile verificarlo",
    ),
    "pt": _labels(
        "Fontes|As fontes divergem|Em aberto|Deixado de fora",
        "Sentido não verificado: só as palavras de cada frase foram comparadas com as fontes."
        "|Nada da primeira versão pôde ser mantido; o texto foi escrito de novo.",
        "as fontes não dizem isto|as fontes dizem só uma parte|as fontes dizem outra coisa"
        "|um número ou data não está em nenhuma fonte|as palavras citadas não estão em nenhuma fonte"
        "|não indica nenhuma fonte lida|dava um endereço próprio|repetia uma instrução"
        "|não diz respeito ao tema|dependia de uma frase deixada de fora|longo demais para uma frase"
        "|não pôde ser verificado",
    ),
    "nl": _labels(
        "Bronnen|Bronnen spreken elkaar tegen|Nog open|Weggelaten",
        "Niet op betekenis gecontroleerd: alleen de woorden van elke zin zijn met de bronnen vergeleken."
        "|Van de eerste versie kon niets blijven; de tekst is opnieuw geschreven.",
        "de bronnen zeggen dit niet|de bronnen zeggen dit maar deels|de bronnen zeggen iets anders"
        "|een getal of datum staat in geen bron|de geciteerde woorden staan in geen bron"
        "|noemt geen gelezen bron|gaf een eigen adres|herhaalde een opdracht"
        "|gaat niet over het onderwerp|hing af van een weggelaten zin|te lang voor één zin"
        "|kon niet worden gecontroleerd",
    ),
    "sv": _labels(
        "Källor|Källorna är oense|Öppet|Utelämnat",
        "Innebörden är inte kontrollerad: bara orden i varje mening jämfördes med källorna."
        "|Inget i det första utkastet kunde behållas; texten skrevs om.",
        "källorna säger inte detta|källorna säger bara en del av detta|källorna säger något annat"
        "|en siffra eller ett datum finns inte i någon källa|de citerade orden finns inte i någon källa"
        "|anger ingen läst källa|gav en egen adress|upprepade en instruktion"
        "|rör inte ämnet|hängde på en utelämnad mening|för lång för en mening|kunde inte kontrolleras",
    ),
    "da": _labels(
        "Kilder|Kilderne er uenige|Åbent|Udeladt",
        "Meningen er ikke kontrolleret: kun ordene i hver sætning blev sammenlignet med kilderne."
        "|Intet af det første udkast kunne beholdes; teksten blev skrevet igen.",
        "kilderne siger ikke dette|kilderne siger kun en del af dette|kilderne siger noget andet"
        "|et tal eller en dato står ikke i nogen kilde|de citerede ord står ikke i nogen kilde"
        "|nævner ingen læst kilde|gav en egen adresse|gentog en instruks"
        "|vedrører ikke emnet|afhang af en udeladt sætning|for lang til én sætning|kunne ikke kontrolleres",
    ),
    "no": _labels(
        "Kilder|Kildene er uenige|Åpent|Utelatt",
        "Meningen er ikke kontrollert: bare ordene i hver setning ble sammenlignet med kildene."
        "|Ingenting av det første utkastet kunne beholdes; teksten ble skrevet på nytt.",
        "kildene sier ikke dette|kildene sier bare en del av dette|kildene sier noe annet"
        "|et tall eller en dato står ikke i noen kilde|de siterte ordene står ikke i noen kilde"
        "|nevner ingen lest kilde|ga en egen adresse|gjentok en instruks"
        "|gjelder ikke temaet|hang på en utelatt setning|for lang til én setning|kunne ikke kontrolleres",
    ),
    "fi": _labels(
        "Lähteet|Lähteet ovat eri mieltä|Avoinna|Jätetty pois",
        "Merkitystä ei tarkistettu: vain virkkeiden sanoja verrattiin lähteisiin."
        "|Ensimmäisestä luonnoksesta ei voitu säilyttää mitään; teksti kirjoitettiin uudelleen.",
        "lähteet eivät sano tätä|lähteet sanovat tästä vain osan|lähteet sanovat muuta"
        "|luku tai päivämäärä ei ole missään lähteessä|lainatut sanat eivät ole missään lähteessä"
        "|ei mainitse luettua lähdettä|antoi oman osoitteen|toisti käskyn"
        "|ei koske aihetta|nojasi pois jätettyyn virkkeeseen|liian pitkä yhdeksi virkkeeksi|ei voitu tarkistaa",
    ),
    "pl": _labels(
        "Źródła|Źródła są niezgodne|Otwarte|Pominięte",
        "Sens nie został sprawdzony: porównano ze źródłami tylko słowa każdego zdania."
        "|Z pierwszego szkicu nic nie dało się zachować; tekst napisano ponownie.",
        "źródła tego nie mówią|źródła mówią tylko część tego|źródła mówią co innego"
        "|liczby lub daty nie ma w żadnym źródle|cytowanych słów nie ma w żadnym źródle"
        "|nie wskazuje przeczytanego źródła|podawało własny adres|powtarzało polecenie"
        "|nie dotyczy tematu|zależało od pominiętego zdania|za długie na jedno zdanie|nie dało się sprawdzić",
    ),
    "cs": _labels(
        "Zdroje|Zdroje si odporují|Otevřené|Vynecháno",
        "Smysl nebyl ověřen: se zdroji se porovnala jen slova každé věty."
        "|Z prvního návrhu nešlo nic ponechat; text byl napsán znovu.",
        "zdroje to neříkají|zdroje říkají jen část|zdroje říkají něco jiného"
        "|číslo nebo datum není v žádném zdroji|citovaná slova nejsou v žádném zdroji"
        "|neuvádí žádný přečtený zdroj|uváděla vlastní adresu|opakovala pokyn"
        "|netýká se tématu|závisela na vynechané větě|příliš dlouhé na jednu větu|nešlo ověřit",
    ),
    "ro": _labels(
        "Surse|Sursele se contrazic|Deschis|Lăsat deoparte",
        "Sensul nu a fost verificat: doar cuvintele fiecărei fraze au fost comparate cu sursele."
        "|Nimic din prima versiune nu a putut fi păstrat; textul a fost scris din nou.",
        "sursele nu spun aceasta|sursele spun doar o parte|sursele spun altceva"
        "|o cifră sau o dată nu apare în nicio sursă|cuvintele citate nu apar în nicio sursă"
        "|nu numește nicio sursă citită|dădea o adresă proprie|repeta o instrucțiune"
        "|nu privește subiectul|depindea de o frază lăsată deoparte|prea lung pentru o frază|nu a putut fi verificat",
    ),
    "hu": _labels(
        "Források|A források eltérnek|Nyitott|Kihagyva",
        "Az értelem nincs ellenőrizve: csak a mondatok szavait vetettük össze a forrásokkal."
        "|Az első vázlatból semmi sem maradhatott; a szöveg újra megíródott.",
        "a források ezt nem mondják|a források ennek csak egy részét mondják|a források mást mondanak"
        "|egy szám vagy dátum egyik forrásban sincs|az idézett szavak egyik forrásban sincsenek"
        "|nem nevez meg olvasott forrást|saját címet adott meg|egy utasítást ismételt"
        "|nem a témáról szól|egy kihagyott mondatra épült|túl hosszú egy mondatnak|nem volt ellenőrizhető",
    ),
    "tr": _labels(
        "Kaynaklar|Kaynaklar çelişiyor|Açık kalan|Dışarıda bırakılan",
        "Anlam denetlenmedi: yalnızca cümlelerin sözcükleri kaynaklarla karşılaştırıldı."
        "|İlk taslaktan hiçbir şey kalamadı; metin yeniden yazıldı.",
        "kaynaklar bunu söylemiyor|kaynaklar bunun yalnızca bir kısmını söylüyor|kaynaklar başka bir şey söylüyor"
        "|bir sayı veya tarih hiçbir kaynakta yok|alıntılanan sözler hiçbir kaynakta yok"
        "|okunmuş bir kaynak belirtmiyor|kendi adresini veriyordu|bir talimatı yineliyordu"
        "|konuyla ilgili değil|bırakılan bir cümleye dayanıyordu|tek cümle için çok uzun|denetlenemedi",
    ),
    "ru": _labels(
        "Источники|Источники расходятся|Открыто|Опущено",
        "Смысл не проверен: с источниками сравнивались только слова каждого предложения."
        "|Из первого варианта ничего не удалось сохранить; текст написан заново.",
        "источники этого не говорят|источники говорят лишь часть этого|источники говорят другое"
        "|числа или даты нет ни в одном источнике|приведённых слов нет ни в одном источнике"
        "|не назван прочитанный источник|давало собственный адрес|повторяло указание"
        "|не относится к теме|опиралось на опущенное предложение|слишком длинно для одного предложения"
        "|не удалось проверить",
    ),
    "uk": _labels(
        "Джерела|Джерела розходяться|Відкрите|Пропущено",
        "Зміст не перевірено: із джерелами порівняно лише слова кожного речення."
        "|З першого варіанта нічого не вдалося зберегти; текст написано наново.",
        "джерела цього не кажуть|джерела кажуть лише частину цього|джерела кажуть інше"
        "|числа або дати немає в жодному джерелі|наведених слів немає в жодному джерелі"
        "|не названо прочитаного джерела|подавало власну адресу|повторювало вказівку"
        "|не стосується теми|спиралося на пропущене речення|задовге для одного речення|не вдалося перевірити",
    ),
    "el": _labels(
        "Πηγές|Οι πηγές διαφωνούν|Ανοιχτά|Παραλείφθηκαν",
        "Το νόημα δεν ελέγχθηκε: μόνο οι λέξεις κάθε πρότασης συγκρίθηκαν με τις πηγές."
        "|Τίποτα από το πρώτο σχέδιο δεν κρατήθηκε· το κείμενο γράφτηκε ξανά.",
        "οι πηγές δεν το λένε|οι πηγές λένε μόνο ένα μέρος|οι πηγές λένε κάτι άλλο"
        "|ένας αριθμός ή μια ημερομηνία δεν υπάρχει σε καμία πηγή|τα παρατιθέμενα λόγια δεν υπάρχουν σε καμία πηγή"
        "|δεν αναφέρει πηγή που διαβάστηκε|έδινε δική του διεύθυνση|επαναλάμβανε μια εντολή"
        "|δεν αφορά το θέμα|στηριζόταν σε πρόταση που παραλείφθηκε|πολύ μακρύ για μία πρόταση"
        "|δεν ήταν δυνατό να ελεγχθεί",
    ),
    "ar": _labels(
        "المصادر|المصادر مختلفة|ما زال مفتوحًا|ما تُرك",
        "لم يُتحقق من المعنى: قورنت كلمات كل جملة فقط بمصادرها.|لم يمكن إبقاء شيء من المسودة الأولى، فكُتب النص من جديد.",
        "لا تقول مصادرها هذا|تقول مصادرها جزءًا منه فقط|تقول مصادرها شيئًا آخر"
        "|رقم أو تاريخ لا يوجد في أي مصدر|الكلمات المقتبسة لا توجد في أي مصدر"
        "|لا تذكر مصدرًا مقروءًا|أعطت عنوانًا خاصًا بها|كررت تعليمات"
        "|لا تخص الموضوع|اعتمدت على جملة تُركت|أطول من أن تكون جملة واحدة|تعذر التحقق منها",
    ),
    "hi": _labels(
        "स्रोत|स्रोतों में मतभेद|अनुत्तरित|छोड़ा गया",
        "अर्थ की जाँच नहीं हुई: केवल हर वाक्य के शब्द स्रोतों से मिलाए गए।|पहले मसौदे से कुछ भी नहीं रखा जा सका; पाठ फिर से लिखा गया।",
        "स्रोत यह नहीं कहते|स्रोत इसका केवल एक भाग कहते हैं|स्रोत कुछ और कहते हैं"
        "|कोई संख्या या तिथि किसी स्रोत में नहीं है|उद्धृत शब्द किसी स्रोत में नहीं हैं"
        "|कोई पढ़ा गया स्रोत नहीं बताया|अपना पता दिया|एक निर्देश दोहराया"
        "|विषय से संबंधित नहीं|छोड़े गए वाक्य पर निर्भर था|एक वाक्य के लिए बहुत लंबा|जाँचा नहीं जा सका",
    ),
    "zh": _labels(
        "来源|来源之间的分歧|尚无答案|未采用",
        "未核对含义：只比较了各句与来源的用词。|初稿无一句可保留，已重新撰写。",
        "来源没有这样说|来源只说了其中一部分|来源说的是另一回事|数字或日期不见于任何来源|引文不见于任何来源"
        "|没有注明读过的来源|自行给出网址|重复了一条指令|与主题无关|依赖于未采用的句子|过长，不成一句|无法核对",
    ),
    "ja": _labels(
        "出典|出典の食い違い|未解決|除外した文",
        "意味は確認していません。各文の語句を出典と比べただけです。|最初の草稿は残せる文がなく、書き直しました。",
        "出典にそう書かれていない|出典には一部しか書かれていない|出典の内容と異なる"
        "|数値や日付がどの出典にもない|引用された言葉がどの出典にもない"
        "|読んだ出典が示されていない|独自のアドレスを記していた|指示を繰り返していた"
        "|主題に関係しない|除外した文に依存していた|一文として長すぎる|確認できなかった",
    ),
    "ko": _labels(
        "출처|출처 간 불일치|미해결|제외됨",
        "의미는 확인하지 않았습니다: 각 문장의 단어만 출처와 비교했습니다."
        "|첫 초안에서 남길 수 있는 것이 없어 다시 썼습니다.",
        "출처가 이렇게 말하지 않음|출처가 일부만 말함|출처가 다른 것을 말함|수치나 날짜가 어느 출처에도 없음"
        "|인용한 말이 어느 출처에도 없음|읽은 출처를 밝히지 않음|자체 주소를 적음|지시를 되풀이함"
        "|주제와 관련 없음|제외된 문장에 의존함|한 문장으로는 너무 김|확인할 수 없음",
    ),
    "vi": _labels(
        "Nguồn|Các nguồn mâu thuẫn|Còn bỏ ngỏ|Đã bỏ",
        "Chưa kiểm tra ý nghĩa: chỉ so sánh từ ngữ của mỗi câu với nguồn."
        "|Không giữ được gì từ bản nháp đầu; văn bản được viết lại.",
        "các nguồn không nói điều này|các nguồn chỉ nói một phần|các nguồn nói điều khác"
        "|một con số hoặc ngày không có trong nguồn nào|lời trích không có trong nguồn nào"
        "|không nêu nguồn đã đọc|tự đưa ra địa chỉ|lặp lại một chỉ thị"
        "|không liên quan đến chủ đề|dựa vào câu đã bỏ|quá dài cho một câu|không kiểm tra được",
    ),
    "id": _labels(
        "Sumber|Sumber berbeda pendapat|Masih terbuka|Ditinggalkan",
        "Makna tidak diperiksa: hanya kata-kata tiap kalimat yang dibandingkan dengan sumbernya."
        "|Tidak ada dari draf pertama yang dapat dipertahankan; teks ditulis ulang.",
        "sumbernya tidak mengatakan ini|sumbernya hanya mengatakan sebagian|sumbernya mengatakan hal lain"
        "|angka atau tanggal tidak ada di sumber mana pun|kata yang dikutip tidak ada di sumber mana pun"
        "|tidak menyebut sumber yang dibaca|memberi alamat sendiri|mengulang sebuah perintah"
        "|tidak menyangkut topik|bergantung pada kalimat yang ditinggalkan|terlalu panjang untuk satu kalimat"
        "|tidak dapat diperiksa",
    ),
}


def labels_of(language: str) -> Labels:
    """The labels of a language (ISO 639-1), English where there are none."""
    return LABELS.get(language.partition("-")[0].casefold(), LABELS["en"])
