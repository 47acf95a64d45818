"""The phrases by which a prompt asks for memory, in the languages they are cheap in: lists of words, no code.

Each line is one kind of cue. A phrase is whole words in lower case and without accents, an apostrophe being a blank;
``$`` asks for the end of the prompt, ``^`` for its beginning. Where a script writes no spaces a phrase is looked for
as it stands. English follows Osaurus (spec/seed-capabilities.md O21 to O25 and G10); the coding cues are ours.
"""

from __future__ import annotations

IDENTITY = """
what s my name|what is my name|who am i|tell me about myself|what do you know about me|what do you remember about me
what do i do $|what do i do for a living|where do i work|where am i from|what s my job|what is my job|how old am i
what s my role|what is my role|quien soy|como me llamo|que sabes de mi|wer bin ich|wie heisse ich
was weisst du uber mich|qui suis je|comment je m appelle|que sais tu de moi|quem sou eu|qual e o meu nome|chi sono io
come mi chiamo|кто я $|как меня зовут|что ты знаешь обо мне|我是谁|我叫什么|私は誰|私の名前は|나는 누구
"""

# What the person said, word for word: "reply with exactly X" is no question about earlier words (G10).
LITERAL = """
^ exact words|^ the exact words|what did i say|what exactly did i say|what did i exactly say|what did i write
what exactly did i write|what did i exactly write|what did i type|what exactly did i type|what did i exactly type
what i said|what i wrote|what i typed|quote my words|quote back my words|repeat my words|repeat back my words
que dije|que escribi|was habe ich gesagt|was ich gesagt habe|was habe ich geschrieben|qu ai je dit|ce que j ai dit
o que eu disse|cosa ho detto|что я сказал|что я говорил|что я написал|что я писал
我说了什么|我说过什么|私が言った|내가 한 말
"""
LITERAL_TOGETHER = (
    "verbatim|word for word|exact words|textualmente|palabra por palabra|wortlich|mot pour mot|дословно",
    "say|said|write|wrote|told|discussed|dije|dijiste|gesagt|geschrieben|dit|disse|сказал|говорил",
)

# Why and how something came to be: decisions, fixes, conventions.
REASON = """
why did we|why do we|why are we|why have we|why don t we|why didn t we|why we chose|why we use|why we picked
what was the reason|what is the reason|what s the reason we|what was the fix|what was the cause|what caused
what did we decide|did we decide|have we decided|how did we fix
how did we solve|how do we|how did we|did we already|have we already|did we ever|have we ever|what did we learn
por que usamos|por que elegimos|por que decidimos|por que hicimos|por que tenemos|como arreglamos|como resolvimos
que decidimos|warum haben wir|warum nutzen wir|warum verwenden wir|wie haben wir|was haben wir entschieden
pourquoi avons nous|pourquoi on a|pourquoi utilisons nous|comment avons nous|comment on a|qu avons nous decide
por que escolhemos|por que fizemos|como resolvemos|o que decidimos|perche abbiamo|perche usiamo|come abbiamo
cosa abbiamo deciso
почему мы|зачем мы|как мы исправили|как мы решили|что мы решили
为什么我们|我们为什么|我们怎么|なぜ私たち|どうやって直した|왜 우리
"""

# What a person decided, said or wants: before the name, and behind it; where nothing need follow, the second is empty,
# and after "..." it may come later. Whose name it is, capitals tell, or one of these.
SOMEBODY = "the team|they|he|she|everyone|everybody|somebody|someone|anybody|anyone"
_THINKS = """
decide|say|want|think|prefer|suggest|choose|reject|refuse|propose|recommend|insist|agree|approve|object|mention|ask for
ask us|tell us|tell me|promise|like|dislike|hate|not want|not like|not agree
"""
_THOUGHT = """
decided|said|wanted|wants|thought|thinks|preferred|prefers|suggested|suggests|chose|rejected|refused|proposed|recommended
insisted|agreed|approved|objected|mentioned|asked for|asked us|told us|told me|promised|likes|dislikes
"""
_GERMAN_SAID = "gesagt|entschieden|beschlossen|gewollt|gemeint|vorgeschlagen|abgelehnt|gewählt|versprochen|empfohlen"
_FRENCH_SAID = """
a dit|a décidé|a voulu|a choisi|a refusé|a proposé|a recommandé|a promis|veut|préfère|pense|aime
"""
_DUTCH_SAID = "gezegd|besloten|gewild|gekozen|afgewezen|voorgesteld|beloofd|afgesproken"
SAID_BY = (
    (
        "what did|why did|how did|when did|did|what does|why does|how does|does|what would|how would|would"
        "|why didn t|didn t|why doesn t|doesn t|why wouldn t",
        _THINKS,
    ),
    ("what|why|how|when|that|what has|what had|why has|has|remember|anything|something", _THOUGHT),
    (
        "what was|what is|what s|what are|what were",
        "s reason|s reasons|s decision|s opinion|s preference|s view|s wish"
        "|reason|reasons|decision|opinion|preference|view|wish",
    ),
    ("according to", ""),
    (
        "qué decidió|qué dijo|qué quiere|qué quería|qué prefiere|qué opina|qué piensa|qué propuso|qué eligió|qué pidió"
        "|por qué decidió|por qué dijo|por qué quiere|por qué rechazó|por qué eligió|por qué no quiere|por qué prefiere"
        "|cómo quiere|cómo prefiere|lo que dijo|lo que decidió|lo que quiere|qué ha decidido|qué ha dicho|según",
        "",
    ),
    ("was hat|warum hat|wie hat|wann hat|hat|was hatte|weshalb hat|wieso hat|was|dass", f"...|{_GERMAN_SAID}"),
    (
        "was sagte|was sagt|was will|was wollte|was möchte|was meint|was denkt|was entschied|warum will|wie will|laut",
        "",
    ),
    ("qu est ce que|ce que|pourquoi|pourquoi est ce que|est ce que", _FRENCH_SAID),
    ("qu a dit|qu a décidé|que veut|que dit|que pense|que préfère|qu a voulu|selon", ""),
    ("o que|por que|como", "decidiu|disse|quer|queria|acha|prefere|escolheu|recusou|pediu|propôs"),
    ("o que decidiu|o que disse|o que quer|o que acha|segundo", ""),
    ("cosa ha deciso|cosa ha detto|cosa vuole|cosa pensa|cosa ha voluto|che cosa ha deciso|come vuole|secondo", ""),
    ("wat heeft|waarom heeft|hoe heeft|heeft|wat", f"...|{_DUTCH_SAID}"),
    ("wat wil|wat wilde|wat zei|wat zegt|wat vindt|wat besloot|hoe wil|waarom wil|volgens", ""),
    (
        "что решил|что решила|что сказал|что сказала|что хочет|что думает|что хотел|что хотела|почему решил"
        "|почему решила|почему отказался|почему отказалась|как хочет|по словам",
        "",
    ),
    ("что|почему", "решил|решила|сказал|сказала|хочет|хотел|хотела|думает|выбрал|выбрала|предложил|предложила"),
)

# Going on from where the last session stopped.
RESUME = """
where were we|where did we leave off|where did we stop|where we left off|continue where|continue from where
pick up where|picking up where|what were we doing|what were we working on|what was i doing|what was i working on
what were you doing|what were you working on|last session|last time|previous session|what s left to do|what s next
what is next|what should i do next|what should we do next|what do i do next|what do we do next
was steht an|wie geht es weiter
donde estabamos|donde lo dejamos|donde nos quedamos|la ultima vez|la ultima sesion|wo waren wir|letztes mal
wo haben wir aufgehort|letzte sitzung|ou en etions nous|ou on en etait|la derniere fois|onde paramos|da ultima vez
dove eravamo|l ultima volta|на чем мы остановились|где мы остановились|в прошлый раз
上次|我们进行到哪|前回|どこまで|지난번
"""

# The whole prompt.
GO_ON = """
continue|please continue|go on|keep going|carry on|continue please|weiter|mach weiter|weitermachen|bitte weiter
weiter bitte|sigue|continua|continue por favor|continuar|sigamos|continuons|continuez|poursuis|reprends|on continue
reprenons|prosegui|продолжай|继续|続けて|계속
"""

# Something said before, the time left open.
PRIOR = """
we discussed|did we discuss|we talked|did we talk|you said|did you say|you told me|you mentioned|did you mention
remember when|remember that|remember the|recall when|recall that|recall the|as i said|as i mentioned|like i said
that thing we|that thing i|hablamos de|discutimos|me dijiste|mencionaste|recuerdas cuando|como dije|wir besprochen
haben wir besprochen|du hast gesagt|hast du gesagt|erinnerst du dich|wie ich sagte|avons nous discute|nous avons discute
on a discute|tu as dit|tu m as dit|tu te souviens|comme j ai dit|discutimos sobre|voce disse|lembra quando
abbiamo discusso|hai detto|ti ricordi|мы обсуждали|ты говорил|ты сказал|помнишь|как я говорил|我们讨论过|我们说过|你说过
還記得|记得我们|話し合った|覚えてる
"""

# A time that names no day.
VAGUE = "earlier|previously|before|ago|when did|cuando fue|wann haben wir|когда мы"

RECALL = """
remember|recall|forget|did i say|did i tell|do you know about my|recuerda|recuerdas|recordar|erinnere|vergiss
souviens|rappelle|lembra|lembre|ricorda|ricordi|вспомни|запомни|记得|覚えて
"""

# An order begins with a verb, maybe after a polite word. It is about what is there where it names that ("the payout
# worker") by two words that tell something, or by three; what is to be made is there only where it is named.
POLITE = """
please|pls|can|could|would|will|you|let|us|s|lets|we|i|need|have|want|should|to|must|now|next|then|also|first|just|ok
okay|hi|hey|hello|great|good|perfect|cool|nice|thanks|thank|help|me|d|ll|like|love|try|trying|going|re|m|ve|maybe|so
"""
CHANGES = """
upgrade|bump|update|migrate|port|rename|refactor|rewrite|rework|restructure|remove|delete|drop|deprecate|replace
extend|optimize|optimise|speed up|clean up|extract|deploy|redeploy|release|roll back|rollback|roll out|revert|debug
fix|repair|investigate|look into|look at|take a look|have a look|find out why|check|review|backfill|reindex|rotate
patch|harden|secure|enable|disable|turn on|turn off|configure|reconfigure|set up|tune|scale|throttle|cache|install
uninstall|schedule|publish|ship|provision|parallelize|profile|benchmark|instrument|monitor|increase|decrease|reduce
change|adjust|switch|move|merge|wire up|hook up|connect|integrate|validate|sanitize|downgrade|reinstall|pin|unpin
raise|lower|improve|simplify|split|convert|resolve|address|handle|finish|redo|retry|restore|test|make sure|ensure
allow|stop|shorten|lengthen|double|halve|round|log|encrypt|sort
"""
# What is told which version to be: one name is enough.
VERSIONS = "bump|upgrade|downgrade|update|install|reinstall|uninstall|pin|unpin"
MAKES = "add|implement|create|build|introduce|expose|support|make|set"
NAMING = "the|all|every|each|existing|current|these|those"
# What code has everywhere, and numbers: two of these name nothing.
EVERYWHERE = """
file|files|line|lines|function|functions|method|class|code|variable|variables|argument|arguments|parameter|comment|comments
import|imports|bug|bugs|error|errors|test|tests|typo|typos|name|names|thing|things|part|way|stuff|number|numbers|one|two
three|four|five|six|seven|eight|nine|ten|following|sentence|text|word|words|paragraph|last|previous|above|below|today
everything|everyone|yourself|myself|all|grammar|spelling|weather|subject|topic
"""
# Somebody says that something goes wrong: who does is not looked for, unlike what goes wrong.
REPORTED = """
complains that|complain that|complained that|is complaining that|are complaining that|complains about|complain about
complained about|reports that|report that|reported that|is reporting that|are reporting that|says that|say that
customers see|users see|customers get|users get|we see|we are seeing|we get|we are getting|we re getting|we re seeing
i get|i see|i am getting|i m getting|i am seeing|i m seeing|i keep getting|we keep getting
se queja de que|se quejan de que|beschwert sich dass|beschweren sich dass|meldet dass|melden dass|se plaint que
se plaignent que|signale que|signalent que|reclama que|reclamam que|segnala che|segnalano che|жалуется что|жалуются что
"""
SYMPTOMS = """
does not|doesn t|won t|will not|is slow|are slow
keeps failing|keep failing|started failing|is failing|are failing|fails with|fail with|failed with|fails when|fail when
fails after|fail after|fails on|fail on|fails since|crashes|crashed|is crashing|are crashing|throws|times out|time out
timed out|timing out|hangs|is hanging|are hanging|gets stuck|get stuck|got stuck|is stuck|are stuck|is broken|are broken
broke|stopped working|doesn t work|does not work|don t work|do not work|didn t work|did not work|isn t working
is not working|aren t working|are not working|no longer works|no longer work|shows up twice|show up twice|arrives twice
arrive twice|charged twice|sent twice|runs twice|ran twice|out of memory|oom killed|leaks|is leaking|is too slow
are too slow|is very slow|are very slow|got slow|became slow|returns a 500|returns 500|returns null|returns nothing
is missing|are missing|is wrong|are wrong|can t join|cannot join|can t connect|cannot connect|can t log in|cannot log in
can t open|cannot open|can t load|cannot load|can t start|cannot start|won t start|won t load|won t open|fails to
fail to|failed to|froze|freezes|is frozen|are frozen|no funciona|no funcionan|falla con|falla cuando|funktioniert nicht
funktionieren nicht|schlagt fehl|schlagen fehl|sturzt ab|hangt sich auf|ne marche pas|ne fonctionne pas
ne marche plus|ne fonctionne plus|plante|nao funciona|deixou de funcionar|non funziona|smesso di funzionare
не работает|не работают|перестал работать|перестала работать|падает|зависает|不工作|报错|崩溃
打不开|登不上|卡死了|没反应|当掉|崩潰|動かない|落ちる|落ちた|固まる|エラーが出
できなくなった|동작하지 않|작동하지 않|오류가 발생
"""
# Who begins so asks for knowledge of the world or for words, whatever these words say.
WANTS_WORDS = """
translate|explain|define|describe|summarize|summarise|tell|give|write|compose|say|spell|rephrase|paraphrase|proofread
compare|calculate|compute|ubersetze|ubersetz|traduce|traduis|traduisez|traduza|traduci|переведи
"""
ASKS_FOR_WORDS = f"what|who|whom|whose|which|where|when|how\n{WANTS_WORDS.strip()}"

# In scripts without blanks no word is the first.
ASKS_FOR_WORDS_ANYWHERE = (
    "翻译|翻譯|翻成|解释一下|解釋|翻訳|説明して|写一|写首|帮我写|書いて|번역|什么意思|是什么|とは何"
)

# How a question begins, where no mark ends it.
ASKS = """
what|who|whom|whose|which|where|when|why|how|was|wer|wem|wen|wo|wann|warum|wieso|weshalb|wie|welche|welcher|welches
welchen|welchem|wieviel|que|quien|quienes|cual|cuales|donde|cuando|como|cuanto|cuanta|cuantos|cuantas|quel|quelle|quels
quelles|qui|quand|ou|pourquoi|comment|combien|qual|quais|quem|onde|quando|quanto|quale|quali|chi|dove|come|perche|wat|waar
wanneer|waarom|hoe|welke|welk|что|кто|где|когда|почему|зачем|как|какой|какая|какие|сколько
"""
# What somebody asks who wants to know what a word means, whatever project he works on.
WHAT_IT_IS = """
^ what is a|^ what is an|^ what s a|^ what s an|difference between|mean|means|stand for|^ was ist ein|^ was ist eine
^ was sind|unterschied zwischen|bedeutet|^ qu est ce qu un|^ qu est ce qu une|^ c est quoi|difference entre|^ que es un
^ que es una|que significa|diferencia entre|^ o que e um|^ o que e uma|^ cos e un|^ cos e una|что такое|что значит
"""
# So is asked how things are done or work anywhere; but so how they are, of things that are there.
AS_IT_IS = (
    "how is|how are|what are the|what does the|what do the|wie ist|wie sind|was macht der|was macht die|was macht das"
)
OF_THE_WORLD = f"""
{AS_IT_IS}|how do|how does|how to|how can|how should|how would|what does|what do|what are|can i|can you|could i
should i|is it possible|wie funktioniert|wie kann|wie geht|wie mache|wie benutzt|wie sortiert|wie ich|kann ich|kann man
comment|est ce que je peux|peut on|como|se puede|puedo|come|posso|hoe|kan ik|как|можно ли
"""

# What is done with the thing that is asked about: nobody means the memory that holds this word.
FILLERS = """
choose|chose|chosen|use|used|using|pick|picked|decide|decided|go|went|going|switch|switched|move|moved|drop|dropped|keep|kept
add|added|need|have|had|make|made|do|done|change|changed|fix|fixed|solve|solved|handle|handled|say|said|discuss|discussed
talk|talked|mention|mentioned|tell|told|about|again|exactly|please|instead|still|already|currently|remind|project
usar|usamos|elegido|decidido|hablamos|benutzt|genommen|entschieden|gewahlt|verwendet|besprochen|choisi|utilise|decide|dit
escolhido|usado|scelto|usato|выбрали|используем|решили|обсуждали
"""

POSSESSIVE = (
    "my|our|mi|nuestro|nuestra|mein|meine|meinen|unser|unsere|unseren|mon|notre|meu|minha|nosso|nossa|мой|моя|наш|наша"
)

# Words that name a span of days, by what they mean.
SPANS = {
    "before_yesterday": "day before yesterday|anteayer|antes de ayer|vorgestern|avant hier|anteontem|l altro ieri"
    "|позавчера|前天|一昨日|그저께",
    "yesterday": "yesterday|ayer|gestern|hier soir|hier matin|d hier|ontem|ieri|вчера|昨天|昨日|어제",
    "today": "earlier today|this morning|esta manana|heute morgen|ce matin|hoje cedo|сегодня утром|今天早上|今朝",
    "this_week": "this week|esta semana|diese woche|cette semaine|questa settimana|на этой неделе|这周|本周|今週",
    "last_week": "last week|la semana pasada|la semana anterior|letzte woche|letzter woche|vorige woche|voriger woche"
    "|vergangene woche|vergangener woche|la semaine derniere|la semaine passee|semana passada|settimana scorsa"
    "|scorsa settimana|на прошлой неделе|上周|先週|지난주",
    "last_month": "last month|el mes pasado|letzten monat|vorigen monat|vergangenen monat|le mois dernier|le mois passe"
    "|mes passado|mese scorso|scorso mese|в прошлом месяце"
    "|上个月|先月|지난달",
    "last_year": "last year|el ano pasado|letztes jahr|voriges jahr|vergangenes jahr|l annee derniere"
    "|l an dernier|ano passado|anno scorso|в прошлом году"
    "|去年|작년",
}

# From Monday on, and from January on; one line to a language.
WEEKDAYS = (
    "monday|tuesday|wednesday|thursday|friday|saturday|sunday",
    "lunes|martes|miercoles|jueves|viernes|sabado|domingo",
    "montag|dienstag|mittwoch|donnerstag|freitag|samstag|sonntag",
    "lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche",
    "понедельник|вторник|среду|четверг|пятницу|субботу|воскресенье",
)
MONTHS = (
    "january|february|march|april|may|june|july|august|september|october|november|december",
    "enero|febrero|marzo|abril|mayo|junio|julio|agosto|septiembre|octubre|noviembre|diciembre",
    "januar|februar|marz|april|mai|juni|juli|august|september|oktober|november|dezember",
    "janvier|fevrier|mars|avril|mai|juin|juillet|aout|septembre|octobre|novembre|decembre",
    "январе|феврале|марте|апреле|мае|июне|июле|августе|сентябре|октябре|ноябре|декабре",
)
BEFORE_WEEKDAY = "on|last|since|el|am|letzten|seit|desde|depuis|в|во"
# With these it may as well be a day to come, in an order: "send it on Tuesday".
MAYBE_TO_COME = "on|el|am|в|во"
SINCE = "since|seit|desde|depuis"
# Of what was, somebody asks, or says that it was.
OF_THE_PAST = """
what|which|who|when|why|how|did|was|were|had|happened|worked|ended|stopped|que|quien|hicimos|hiciste|paso|was|wer|wann|warum
haben|hatten|wurde|wurden|passiert|gemacht|qu|quoi|qui|avons|fait|etait|aconteceu|fizemos|cosa|chi|abbiamo|что|кто|было|делали
decision|decisions|entscheidung|entscheidungen|decisiones|decisao|decisoes|decisione|decisioni|решение|решения
"""
# What is done in days: of those that are asked for, it says nothing more.
DEEDS = """
decide|decided|decision|decisions|save|saved|stored|recorded|noted|change|changes|changed|happened|happen|make|made|did|do
done|work|worked|learn|learned|learnt|discuss|discussed|talk|talked|achieve|achieved|accomplish|accomplished|finish
finished|fix|fixed|solve|solved|agree|agreed|settle|settled|choose|chose|chosen|went
entschieden|entscheidung|entscheidungen|entschied|beschlossen|beschluss|beschlusse|gespeichert|gemerkt|notiert|geandert
passiert|geschah|geschehen|gemacht|getan|gearbeitet|gelernt|besprochen|geschafft|erledigt|behoben|gelost|gefixt|vereinbart
festgelegt|gab|war|los|haben|wir|wurde|wurden|hatten|gewahlt|habt|ihr
decidimos|decidido|decidio|decision|decisiones|guardamos|guardado|guardo|hicimos|hecho|hizo|paso|pasado|cambiamos|cambio
cambiado|aprendimos|aprendido|hablamos|trabajamos|arreglamos|arreglado|acordamos|acordado|elegimos|hubo
decide|decidee|decidees|avons|enregistre|sauvegarde|fait|faite|passe|change|appris|discute|parle|travaille|corrige
convenu|choisi
decidiu|decisao|decisoes|salvamos|salvo|fizemos|feito|aconteceu|mudamos|mudou|aprendemos|falamos|corrigimos|combinamos
escolhemos|houve
deciso|decisione|decisioni|abbiamo|salvato|fatto|successo|cambiato|imparato|discusso|parlato|lavorato|corretto|scelto
решили|решил|решила|решено|решение|решения|сохранили|сохранено|делали|сделали|сделано|случилось|произошло|было|изменили
изменилось|узнали|обсуждали|обсудили|работали|исправили|выбрали|договорились
"""
LATELY = "last|past|letzten|vergangenen|ultimos|ultimas|derniers|dernieres|последние|последних"
BEFORE_MONTH = "in|last|en|im|letzten|в"

# Before a day of a month, and between it and its month: "on the 3rd of May", "el 3 de mayo", "Friday the 13th".
BEFORE_DAY = "on|since|the|am|dem|vom|seit|el|desde|le|depuis|em|dia|der"
OF_MONTH = "of|in|de|im|du|del|the"
# Which week of a month; below nought counted from its end.
ORDINALS = (
    "first:1|second:2|third:3|fourth:4|last:-1|erste:1|ersten:1|erster:1|zweite:2|zweiten:2|dritte:3|dritten:3|vierte:4"
    "|vierten:4|letzte:-1|letzten:-1|letzter:-1|primera:1|segunda:2|tercera:3|cuarta:4|ultima:-1|premiere:1|deuxieme:2"
    "|troisieme:3|quatrieme:4|derniere:-1|primeira:1|terceira:3|quarta:4"
)

NUMBERS = (
    "few:3|couple:2|paar:3|a:1|an:1|one:1|two:2|three:3|four:4|five:5|six:6|seven:7|eight:8|nine:9|ten:10|un:1|una:1"
    "|einem:1|einer:1"
)

UNITS = {
    "day": "day|days|dia|dias|tag|tagen|jour|jours|день|дня|дней",
    "week": "week|weeks|semana|semanas|woche|wochen|semaine|semaines|неделю|недели|недель",
    "month": "month|months|mes|meses|monat|monaten|mois|месяц|месяца|месяцев",
}
AGO_AFTER = "ago|назад|atras"
AGO_BEFORE = "hace|vor|ha|il y a"
