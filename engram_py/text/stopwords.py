"""Words that say nothing about what a text is about, in the languages questions most often come in."""

from __future__ import annotations

from collections.abc import Collection, Sequence

_ENGLISH = """
a about after again all also am an and any are as at be because been before being between both but by can
could d did do does doing don during each few for from further had has have having he her here hers him his
how i if in into is it its just ll m me more most my no nor not now of off on once only or other our out over
own re s same she should so some such t than that the their them then there these they this those through to
too under until up us ve very was we were what when where which while who whom whose why will with would you
your yours
actually already anyway basically currently even ever exactly happen happened happens maybe normally perhaps please
probably properly really simply somehow still usually
anybody anyone anything everybody everyone everything nobody nothing somebody someone something
"""

# Spanish, German, French, Portuguese, Italian, Russian, Hindi, and then more of some, Dutch and Swedish.
_FOREIGN = """
cuánto cuánta cuántos cuántas combien wieviel сколько al algo como cómo con cual cuál cuales cuáles cuando cuándo
de del desde donde dónde el él ella en entre era es esa ese esta está este esto estos fue ha hay la las le les
lo los más mi muy nos nuestra nuestro o para pero por porque que qué quien quién se ser si sí sin sobre son su
sus también te tiene un una uno y ya aber als auch auf aus bei bin bis da das dass dem den der des die diese
dieser dieses du ein eine einem einen einer eines er für gibt hat hatte ich ihr im ist kann mit nach nicht
noch nur oder sein sich sie sind über um und uns unser vom von vor war warum welche welcher wenn wer werden
wie wir wird wo zu zum zur au aux avec ce ces cet cette comment dans elle est et été être eu il ils je l leur
lui ma mais mes mon n ne notre nous ou où par pas pour pourquoi qu quand quel quelle qui sa sans ses sont sur
ta tes toi ton tu une vos votre vous ao aos às com dos e em essa esse foi isso já mas na nas não num numa pela
pelo qual quais quando são seu sua tem uma você che chi ci come cosa dal dalla degli dei della di dove è gli
ho nel nella non per perché più quale questa questo sono а без бы в во вот где для до его ее её если есть ещё
же за и из или им их к как какая какие какой когда которая которые который кто ли мы на над не него нет но о
об он она они оно от по под почему при с со так то только у уже чего чем что чтобы это этот я
का की के को में है हैं से ने पर और या यह ये वह वे क्या क्यों कब कैसे कैसा कैसी कहाँ कौन किस किसने था थी थे हो होता होती नहीं
algunas algunos ante antes durante ellas ellos eran eso estaba están fueron había haber hace hacer hacia han hasta mí
mientras nada ni nosotros nunca otra otro otros podemos puede pueden puedo pues siempre tanto tenemos tener tengo
tienen toda todas todo unas unos usted vamos yo cuanto debe debemos deben hacemos usamos según aún aunque así aquí
ahora alle allem allen aller alles ander andere anderem anderen anderer anderes anders beim bist damit dann dein deine
deinem deinen deiner deines denn dessen deshalb diesem diesen doch dort durch einig einige einigem einigen einiger
etwas euer eure gegen gewesen hab habe haben hatten hier hin hinter ihm ihn ihnen ihre ihrem ihren ihrer jede jedem
jeden jeder jedes jene jener jetzt kannst kein keine keinem keinen keiner können könnte machen man manche manchem mehr
mein meine mich muss müssen musste nichts nun ohne sehr seine seit solche soll sollen sollte sondern sonst unsere
unter viel viele wann waren warst weil welchem welchen welches werde wessen wieder wieso weshalb lange wirst wollen
womit wofür wozu woran worden wurde wurden würde würden zwischen bekommen bekommt geht macht gemacht dürfen darf
erlaubt gerade schon bereits eigentlich bitte comme elles j leurs même moi ont peut peuvent peux quelles quels quoi
sera sous tous tout toute toutes très vers voit à avait avaient avons ayant doit doivent donc dont fait faire faut
depuis encore aussi déjà jusqu jusque afin chez alors ici là rien chaque certains
ik jij jullie wij zij ze mij mijn jouw onze hun waar waarom wanneer hoeveel hoelang welke welk waarvoor waarmee waarin
waarop waardoor waarvan het een deze dit zijn heb hebt heeft hebben hadden wordt werd doet doen gaat gaan mogen moet
moeten moest kunnen kunt konden zal zullen zou zouden willen wilt komt komen uit aan bij naar voor tot tussen tegen
onder zonder sinds vanaf vandaan niet geen iets niets iemand niemand nog ook maar dus toch omdat zodat terwijl zoals
altijd nooit steeds weer daar zelf zich elkaar eigenlijk alstublieft graag och hon är inte varför hur när vem vilken
vilket vilka kunde måste får skall ska det denna detta dessa på från för eller också efter utan mellan finns hade
mycket några något någon där här vår våra gör göra ännu alltid aldrig nós eles elas vocês meu minha meus minhas seus
suas nosso nossa nossos nossas estes isto aquele aquela aquilo pode podem posso deve devem fazer faz fazemos ter
têm temos havia houve onde quem então também até depois quantos quantas quanto porquê estão estava foram ainda agli
allo nello nelle negli sulla sulle dello dall mia miei mie tuo tuoi nostri nostre loro noi voi lei hanno abbiamo avete
siamo erano stato stata facciamo può possono possiamo devo dobbiamo quanti quante quali così anche ancora già
sempre senza perchè qualcosa questi queste quello quella quelli molto nodig heen
भी तो कि हम हमने हमारा हमारी हमारे मैं मैंने आप इस उस एक जो लिए साथ कर करता करते करना किया गया गई गए रहा रही रहे अब
"""

# Among other words of Dutch, Swedish or Italian these say nothing; alone they are English, or names of programs.
_AMONG_OTHERS = """
wat hoe met op om kan kon wil ben bent mag van door dat deed nu vi jag vad av till var har ett sedan dove
"""

# Words of English that say nothing in another language either: "was haben wir am Montag gemacht?".
_EITHER = "a also am an as at do he in is me no on so was"

ENGLISH = frozenset(_ENGLISH.split())
FOREIGN = frozenset(_FOREIGN.split()) - ENGLISH
_AMONG_FOREIGN = frozenset(_AMONG_OTHERS.split()) - ENGLISH
STOP_WORDS = ENGLISH | FOREIGN

# Typed as operators more often than as names.
_OPERATORS = ("AND", "OR", "NOT")


def stop_words_of(words: Sequence[str]) -> Collection[str]:
    """The lower-case words of a question, given as it was typed, that say nothing about what it asks.

    A foreign word counts where the question is in a foreign language: two of them, and more than English ones. Else
    `nas`, `war` and `come` are names and words. In capitals among others, a word is a name: `IT`, `WHO`.
    """
    mixed = any(not word.isupper() for word in words)
    names = {word.lower() for word in words if mixed and len(word) > 1 and word.isupper() and word not in _OPERATORS}
    plain = {word.lower() for word in words} - names
    foreign, english = plain & (FOREIGN | _AMONG_FOREIGN), plain & ENGLISH
    ascii_too = is_foreign(words)
    return english | {word for word in foreign if ascii_too or not word.isascii()}


def is_foreign(words: Sequence[str]) -> bool:
    """Whether a question is in one of the languages known here other than English."""
    plain = {word.lower() for word in words}
    foreign = len(plain & FOREIGN)
    foreign += len(plain & _AMONG_FOREIGN) if foreign else 0
    return foreign > max(1, len((plain & ENGLISH).difference(_EITHER.split())))
