"""The verbs of work and the small words around them, in four languages: what context/gate/tasks.py hears orders by.

Written as text/cues.py writes its phrases. A verb is its stem and one of its language's endings (``repar`` is
*repara* and *reparar*), or, with a blank in it, whole words.
"""

from __future__ import annotations

from dataclasses import dataclass

from engram_py.text import cues


@dataclass(frozen=True, slots=True)
class Language:
    """``changes`` are done to what is there, ``makes`` bring something new; ``the`` is how something known is named.
    ``particles`` may be a part of a verb and stand alone at the end (*bau … um*, *umbauen*)."""

    polite: str
    changes: str
    makes: str
    the: str
    why: str
    wrong: str
    endings: str = ""
    particles: str = ""


ENGLISH = Language(
    polite=cues.POLITE,
    changes=f"""{cues.CHANGES.strip()}|prepare|tidy|get|undo
|tighten|loosen|document|cut|hook|rerun|unblock|stabilize|stabilise|tweak|annotate|mock|trace|deduplicate|limit
|bring|put|keep|solve|simulate|wrap|inline|export|import|audit|apply|rebuild|rebase|archive|start|strip|trim
|squash|lock|unlock|bring back|protect|group|skip
""",
    makes="",
    the=f"{cues.NAMING}|our",
    why="why|how come",
    wrong="""
red|failing|fails|fail|failed|broken|breaks|broke|slow|slower|stuck|down|hanging|hangs|hang|crashing|crashes|crash
crashed|flaky|leaking|leaks|unstable|empty
""",
)

GERMAN = Language(
    polite="""
bitte|kannst|könntest|könnt|können|könnten|würdest|du|ihr|sie|wir|ich|uns|mir|lass|lasst|müssen|muss|sollten|sollen
soll|will|wollen|möchte|möchten|mal|jetzt|nun|dann|also|noch|doch|einmal|eben|kurz|schnell|ok|okay|hallo|hey|gut|danke
super|und|als|nächstes|zuerst
""",
    changes="""
bau|änder|aktualisier|reparier|beheb|korrigier|fix|entfern|lösch|refaktorier|refaktorisier|refactor|migrier|benenn
verschieb|ersetz|tausch|erweiter|optimier|bereinig|räum|prüf|überprüf|untersuch|test|deploy|veröffentlich|bereit|roll
installier|konfigurier|aktivier|deaktivier|sicher|schau|seh|guck|such|verbesser|vereinfach|beschleunig|kürz
dokumentier|teil|trenn|integrier|wandel|wandl|konvertier|stell|setz|zieh|portier|pass|schalt|bring|release|patch
debugg|analysier|stabilisier|reduzier|erhöh|senk|begrenz|validier|verschlüssel|sortier|richt|mach|kümmer|verdraht|nimm
nehm|schließ|verdrahten|mock|start|starte|stopp|behandl|archivier|protokollier|bring|lös|hol|zeig|mess|miss|häng|heb
kapsel|kapsl|spiel|sorg|übernimm|übernehm|schütz|gruppier
""",
    makes="erstell|füg|implementier|ergänz|leg|baue|schreib",
    the="der|die|das|den|dem|des|alle|unsere|unseren|unserem|unser|im|am|vom|zum|zur|beim",
    why="warum|wieso|weshalb",
    wrong="""
rot|kaputt|langsam|fehlschlägt|fehl|fehlschlagen|fehlgeschlagen|hängt|hängen|abstürzt|stürzt|scheitert|scheitern
bricht|abbricht|defekt|instabil|klemmt|streikt|crasht|leer|leere|leeren
""",
    endings="|e|en|n|t|et|est",
    particles="um|auf|ab|an|aus|ein|vor|nach|hinzu|weg|zurück|durch|her|hin|frei|fertig|zusammen|hoch|runter|raus|rein|dazu|zu",
)

SPANISH = Language(
    polite="""
por|favor|puedes|podrías|puede|podría|podemos|me|nos|te|quiero|quisiera|queremos|necesito|necesitamos|hay|que|tenemos
tengo|debemos|vamos|a|ahora|luego|después|también|ok|vale|hola|gracias|bien|perfecto|genial|y|primero|ayúdame|intenta
""",
    changes="""
arregl|actualiz|actualic|revis|comprueb|comprob|prepar|refactoriz|refactoric|migr|corrig|correg|elimin|borr|quit
renombr|cambi|muev|mov|optimiz|optimic|limpi|mejor|simplific|simplifiqu|despleg|desplieg|despliegu|public|publiqu
instal|configur|activ|desactiv|investig|investigu|mir|depur|reemplaz|reemplac|sustitu|divid|extra|prueb|prob|document
reescrib|aceler|reduc|reduzc|aument|ajust|integr|conect|conviert|convert|verific|verifiqu|analiz|analic|restaur|revert
reviert|repar|termin|extiend|extend|lanz|valid|cifr|ordena|sub|baj|pon|pong|saca|saqu|sac|haz|hac|hag|resuelv|resolv
soluciona|solucion|echa un|echar un|dale|deshaz|deshac|limita|limit|abre|cierr|cerr|met|guard|registr|agrup|proteg
protej|vuelv|volv|asegur|lanza
""",
    makes="cre|añad|agreg|agregu|implement",
    the="el|la|los|las|del|al|nuestro|nuestra|todos|todas",
    why="por qué",
    wrong="""
roto|rota|rotos|rotas|rojo|roja|falla|fallan|falló|fallando|fallado|lento|lenta|lentos|cuelga|cuelgan|bloqueado
bloqueada|caído|rompe|rompió|vacío|vacía|vacíos|vacías
""",
    endings="|a|e|ar|er|ir|as|es|emos|amos|en|an|ye|ir|uir|uya|ne|ce",
)

FRENCH = Language(
    polite="""
s|il|te|vous|plaît|stp|svp|peux|pourrais|pouvez|pourriez|peut|tu|je|on|nous|veux|voudrais|j|aimerais|faut|faudrait
doit|devons|va|allons|de|merci|maintenant|ensuite|puis|aussi|d|abord|ok|bonjour|salut|bien|super|parfait|et|est|ce|que
moi|me
""",
    changes="""
mets à jour|mettre à jour|mettez à jour|corrig|supprim|renomm|refactoris|refactor|prépar|déploi|déploy|vérifi|regard
migr|nettoy|nettoi|remplac|déplac|optimis|amélior|simplifi|accélér|publi|install|configur|activ|désactiv|cherch|réécri
répar|débog|débug|test|document|analys|restaur|annul|converti|divis|sépar|extra|extrai|intégr|adapt|modifi|chang
augment|rédui|baiss|lanc|examin|contrôl|étend|termin|enlèv|retir|bascul|valid|chiffr|trie|stabilis|patch|fais|fai
faire|faites|sor|rend|jett|résou|résoud|résolv|mett|mets|met|règl|régl|ferm|ouvr|arrêt|limit|allèg|allég|branch|relanc
démarr|prend|protèg|protég|regroup|rajout
""",
    makes="cré|ajout|implément",
    the="le|la|les|l|du|des|au|aux|notre|nos|tous|toutes",
    why="pourquoi",
    wrong="""
rouge|rouges|cassé|cassée|cassés|casse|échoue|échouent|échoué|lent|lente|lents|plante|plantent|planté|bloqué|bloquée
bloque|instable|vide|vides
""",
    endings="|e|es|er|ez|ons|s|r|re|t|rs|ir|nt|ts",
)

LANGUAGES = (ENGLISH, GERMAN, SPANISH, FRENCH)

# Somebody who is to find out why.
LOOKS = """
see|find|out|figure|know|tell|sehen|sieh|nachsehen|schauen|nachschauen|gucken|herausfinden|rausfinden|finde|heraus
raus|ver|mira|averigua|averiguar|voir|vois|regarder|savoir|comprendre
"""

# What no memory goes by, as cues.EVERYWHERE has it in English. Work on a text is not about the project.
NOTHING = """
readme|again|it|code|green|true|same|new|old|datei|dateien|zeile|zeilen|funktion|funktionen|klasse|variable|fehler
test|tests|tippfehler|ding|sache|sachen|teil|name|namen|zahl|zahlen|nochmal|nochmals|wieder|alles|neu|neue|neuen|neues
alt|alte|alten|altes|option|archivo|archivos|línea|líneas|función|funciones|clase|prueba|pruebas|errata|cosa|cosas
parte|nombre|nombres|número|números|nuevo|nueva|todo|vez|otra|fichier|fichiers|ligne|lignes|fonction|fonctions|classe
erreur|erreurs|faute|coquille|chose|choses|partie|nom|noms|nombre|nouveau|nouvelle|ancien|ancienne|tout|encore|fois
antiguo|antigua|ça|cela
"""
# Two of these side by side name something: the import test.
HALVES = "test|tests|import|imports|importar|prueba|pruebas|error|errors|fehler|erreur"
TEXTS = """
weather|wetter|météo|subject|topic|thema|tema|sujet|grammar|grammatik|gramática|grammaire|spelling|rechtschreibung
ortografía|orthographe|recipe|rezept|receta|recette|mail|correo|joke|witz|chiste|blague|sentence|text|paragraph|word
words|poem|story|email|satz|sätze|text|wort|absatz|gedicht|frase|frases|texto|palabra|párrafo|poema|phrase|phrases
texte|mot|mots|paragraphe|poème
"""
