"""Other forms and names of English words: *choose* finds *chose*, and *authentication* what says *auth*."""

from __future__ import annotations

from functools import cache

# Forms that Porter's stemmer already joins are left out, and so are those that mean something else more often
# (`left`, `found`, `bound`, `lit`).
_GROUPS = """
awake awoke awoken|become became|begin began begun|bend bent|bite bit bitten|blow blew blown|break broke broken
bring brought|build built|burn burnt|buy bought|catch caught|choose chose chosen|come came|deal dealt|dig dug
draw drew drawn|dream dreamt|drink drank drunk|drive drove driven|eat ate eaten|fall fell fallen|feed fed
feel felt|fight fought|fly flew flown|forbid forbade forbidden|forget forgot forgotten|freeze froze frozen
get got gotten|give gave given|go went gone|grow grew grown|hang hung|hear heard|hide hid hidden|hold held
keep kept|know knew known|lead led|lend lent|lose lost|make made|mean meant|meet met|pay paid|ride rode ridden
ring rang rung|rise rose risen|run ran|say said|see saw seen|seek sought|sell sold|send sent|shake shook shaken
shoot shot|show shown|shrink shrank shrunk|sing sang sung|sink sank sunk|sit sat|sleep slept|speak spoke spoken
spend spent|spin spun|stand stood|steal stole stolen|stick stuck|strike struck|swear swore sworn|swim swam swum
take took taken|teach taught|tear tore torn|tell told|think thought|throw threw thrown|understand understood
wake woke woken|wear wore worn|win won|write wrote written|rewrite rewrote rewritten|rebuild rebuilt
overwrite overwrote overwritten|child children|person people|foot feet|man men|woman women|mouse mice|tooth teeth
bad worse worst|good better best|index indices|vertex vertices|matrix matrices|datum data
"""


def forms(word: str) -> tuple[str, ...]:
    """The other forms and names of a lower-case word, none for most."""
    return tuple(other for other in _table(_GROUPS, SHORT, EITHER).get(word, ()) if other != word)


def synonyms(word: str) -> tuple[str, ...]:
    """What others may call the same thing, none for most words."""
    return tuple(other for other in _table(SAME_THING).get(word, ()) if other != word)


@cache
def _table(*lists: str) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for group in _groups(*lists):
        for form in group:
            found[form] = (*found.get(form, ()), *(other for other in group if other not in found.get(form, ())))
    for form, group in list(found.items()):
        for ending in ("s", "ing", "ed"):  # choosing, builds, removed: what Porter folds into the base
            base = form[:-1] if ending != "s" and form.endswith("e") else form
            found.setdefault(base + ending, group)
    return found


def _groups(*lists: str) -> list[tuple[str, ...]]:
    return [tuple(group.split()) for lines in lists for line in lines.split("\n") for group in line.split("|") if group]


# What programmers write short. Short forms of several things (`res`, `sub`, `org`) are left out.
SHORT = """
addr address|admin administrator|algo algorithm|alloc allocate|app application|arg args argument|arr array
async asynchronous|attr attribute|auth authentication authorization|avg average|bool boolean|buf buffer|calc calculate
cert certificate|cfg conf config configuration|char character|cmd command|cnt count|col column|conn connection
coord coordinate|ctrl control|ctx context|db database|del delete|deps dependency|desc description descriptor
dest dst destination|dev device development|dict dictionary|diff difference|dir directory|doc document documentation
env environment|err error|eval evaluate|exec execute|expr expression|ext extension|fmt format|freq frequency
fn func function|gen generate|hex hexadecimal|idx index|img image|impl implementation|info information
init initialize initialise|int integer|iter iterate|js javascript|k8s kubernetes|lang language|len length|lib library
loc location|max maximum|mem memory|mgmt management|min minimum|msg message|num number|obj object|op operation
param parameter|perf performance|perm permission|pg postgres postgresql|pkg package|pkt packet|pos position
prev previous|proc process|prod production|prop property|proto protocol|ptr pointer|pwd password|rand random
ref reference|reg register|repo repository|req request|ret return|rx receive|sec second|spec specification
src source|stats statistics|std standard|str string|svc service|sync synchronize|temp tmp temporary|ts typescript
tx transmit|txt text|usr user|util utility|val value|var variable|vec vector|ver version
"""

# What is said either way, at work and at home.
EITHER = """
ad advertisement|begin start|bike bicycle|buy purchase|car automobile|concat concatenate join|convert transform
dad father|delete remove|error exception|exam examination|fetch retrieve|folder directory|fridge refrigerator
grandma grandmother|grandpa grandfather|hobby pastime|job career|kid child children|lab laboratory
lowercase lower|mom mum mother|movie film|phone telephone|photo picture photograph|plane airplane|present gift
quick fast|repair fix|select choose pick|spouse husband wife|trip travel journey|tv television|uppercase upper
vet veterinarian|verify validate
"""

# What one calls so and another so, who works on the same thing. Many mean something else as well, so they only stand in
# for a word that this memory has never seen. Sensors are listed, because no rule tells a clipped word of four letters
# from another one: of 37 words of the development sets that began with a rare one (`playstation` with `play`,
# `restaurada` with `rest`) few meant it.
SAME_THING = """
a11y accessibility|accel accelerometer|baro barometer|gyro gyroscope|magneto magnetometer|opto optocoupler
abort cancel|allow permit|annual yearly annually|anonymize anonymise pseudonymize
autocomplete typeahead autosuggest|backup snapshot|batch bulk|bill invoice|billing invoicing|blank empty|ble bluetooth
broken corrupt corrupted|brownout undervoltage|bug defect|cheap inexpensive|clone duplicate|colour color|combine merge
compile build|container docker|courier carrier|crash segfault panic|cron schedule scheduled|daily everyday
deadline timeout|deadlock hang|decode deserialize unmarshal|decrease reduce|denied forbidden
deploy deployment rollout release ship|deprecated obsolete|dialog modal popup|disable deactivate|discount rebate
doctor physician|email mail|enable activate|encode serialize marshal|encrypt encryption encrypted|endpoint route
erase purge wipe|expensive costly|expire expiry ttl|fail failure|fee charge|flag toggle|flaky intermittent sporadic
forbid prohibit|freeze hang|fullscreen maximized|guess estimate|hertz hz|hidden invisible|host machine|hotfix patch
huge large big|i18n internationalization localization l10n translation|incorrect wrong|increase enlarge
lag latency delay|late overdue|limit quota|link url|locale language|login logon signin|logout signout
mandatory required|minify minified obfuscated|minimise minimize|mock stub fake|moisture humidity|monitor watch
mute silent silence|mutex lock|newbie beginner novice rookie|nil null none|notify notification|obsolete outdated stale
obtain acquire|offline disconnected|often frequently|opponent enemy|page screen|pagination paging paginate
passcode passkey|password passphrase|pause suspend|picture image|pipeline workflow|plugin addon extension|poll polling
price cost|reboot restart reset|recover restore|refresh reload|reject refuse decline|rollback revert undo|salary wage
sample example|scale scaling autoscaling|secret credential|send transmit|shutdown terminate|signup registration
skip omit|sleep standby|slow sluggish|split separate|stable steady|stacktrace traceback|staging preprod|sticker label
stuck hang|teardown cleanup|tenant organization|throttle ratelimit|timezone tz|twice duplicate|upgrade bump
vacation holiday|vendor supplier|visitor guest|warn warning|webhook callback|website site
"""
