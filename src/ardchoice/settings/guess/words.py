"""Words in column names, and what they usually stand for."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

_PIECES = re.compile(r"[^\W\d_]+|\d+|[\W_]+")
_HUMP = re.compile(r"(?<=[^\W\d_A-Z])(?=[A-Z])")


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


CHOICE_WORDS = _set(
    """choice choices chosen choose chose choix wahl gewaehlt gewahlt keuze eleccion scelta choisi
    selected selection select pick picked decision decided response answer y chosenalt chosenmode
    modechosen modechoice"""
)
SURE_CHOICE_WORDS = _set("choice chosen choix wahl keuze eleccion scelta selected picked")
SITUATION_WORDS = _set(
    """situation sit choiceset set cset obs observation case caseid chid trip task question scenario
    choicesituation gid individual id record menu event session casenum caseno obsnum obsid tripid
    situationid taskid"""
)
ALTERNATIVE_WORDS = _set(
    """alternative alt alternatives mode option product brand item concept profile card transport
    altern choicealt altid optionid modeid altnum altno altnr altnumber alternativeid"""
)
UNLABELLED_WORDS = _set(
    """alternative alt altern option opt profile card concept position pos choicealt product item
    prod left right a b c d e f altid altnum altno altnr altnumber alternativeid optionid nr no
    number scenario"""
)
"""Names of alternatives, or of their column, that say nothing but which is which."""
PERSON_WORDS = _set(
    """id person personid pid respondent respondentid resp respid rid individual individu
    individualid indiv ind user userid subject subjectid participant participantid customer
    customerid panelid panelist household hhid hid hh traveller traveler patient client consumer
    member decisionmaker identifier idperson"""
)
SURE_PERSON_WORDS = PERSON_WORDS - _set("id ind member client individual household hhid hid hh")
WEIGHT_WORDS = _set("weight weights wt wgt gewicht poids peso expfac expansion wtperfin")
AVAILABLE_WORDS = _set("av avail available availability avl disponible disponibilite verfuegbar")
DESIGN_WORDS = _set(
    """row rowid index obs observation task question scenario block version set choiceset case
    survey sp rp group sequence order serial timestamp date file unnamed qes cs screen page"""
)
"""Bookkeeping of a survey: seldom a reason to choose."""
PLACE_WORDS = _set(
    """origin orig dest destination zone region canton zip zipcode postcode plz city town county
    state country location district municipality tract"""
)
UNLIKED_WORDS = _set(
    """time tt duration dur minutes mins hours ivt invt ivtt ovt ovtt access egress wait waiting
    waittime ttme headway he transfers transfer changes cost costs co price prices fare fares tc fee
    toll copay expense invc gc charge distance dist delay delays temps cout prix zeit kosten preis
    risk sideeffects"""
)
"""Attributes of which more is seldom liked."""
_PEOPLE = (
    "income inc hinc earnings salary einkommen revenu",
    "distance dist km miles",
    "sex male female gender fem femdum geschlecht sexe",
    "age agehed alter",
    "purpose zweck motif reason business",
    "ga ticket pass season abo subscription halbtax owner own ownership owns",
    "car cars veh vehs vehicle vehicles numveh license licence licenses permis drlic drlicdum",
    "luggage first class who party group size psize hhsize household children kids child nbchild",
    "education educ edu college university student studies",
    "work employed employment occupation occup job working retired",
    "urban urb rural married family famil familsitu famtype smoker insurance experience rooms",
)
PEOPLE_WORDS = tuple(" ".join(_PEOPLE).split())
"""Facts about people and trips that are often worth an interaction, the likeliest first."""
_STEM_TEXT = """income hhinc gender female male purpose owner numveh vehic numcar licen luggage
    hhsize child educat colleg student employ occup famtype famil"""
PEOPLE_STEMS = tuple(_STEM_TEXT.split())
"""Beginnings and ends of words written together, such as calculatedincome."""
ZONE_WORDS = _set(
    """zone zones taz zip zipcode postcode plz tract district municipality commune canton county
    code coderegion place hmzone wkzone homezone workzone origin orig dest destination airport"""
)
"""Numbers of places: no quantities, and too many to be categories."""
CODE_WORDS = _set("type code cat category class status group kind stat categ zone situ")
"""Words of columns whose whole numbers are codes of categories."""
COUNT_WORDS = _set("numalts numalt nalt nalts noalt nalternatives setsize choicesetsize alts")
"""Counts of alternatives, which follow from the choice set."""


NUMBER_OF_WORDS = _set("nb nbr num number no nr n count anzahl nombre numero")
"""Words that stand for a number of things, such as of cars in a household."""


def people_rank(name: str) -> int | None:
    """How likely a column describes people or trips: 0 first; None where its name does not say."""
    each = words(name)
    if any(w in ZONE_WORDS or w.endswith(("zone", "taz")) for w in each):
        return None
    if plain(name) in COUNT_WORDS or any(w in COUNT_WORDS for w in each):
        return None
    ranks = [PEOPLE_WORDS.index(w) for w in each if w in PEOPLE_WORDS]
    ranks += [
        len(PEOPLE_WORDS) + i
        for w in each
        for i, stem in enumerate(PEOPLE_STEMS)
        if w.startswith(stem) or w.endswith(stem)
    ]
    return min(ranks) if ranks else None


OPT_OUT_WORDS = _set(
    """none optout opt out outside nochoice neither status quo statusquo sq nobuy no current today
    donothing"""
)


def pieces(name: str) -> list[str]:
    """A name cut into words, numbers and what separates them: ``TRAIN_TT1`` -> TRAIN _ TT 1."""
    return [p for run in _PIECES.findall(name) for p in _HUMP.split(run)]


def words(name: str) -> list[str]:
    """The words of a name, in small letters without accents: ``Person-ID`` -> person id."""
    return [plain(p) for p in pieces(name) if p[0].isalnum()]


def plain(text: str) -> str:
    """Small letters and digits only, accents off."""
    bare = unicodedata.normalize("NFKD", text.casefold().replace("ß", "ss"))
    return "".join(c for c in bare if c.isalnum())


def says(name: str, vocabulary: frozenset[str]) -> int:
    """2 where the whole name is in the vocabulary, 1 where a word of it is, 0 where none."""
    if plain(name) in vocabulary:
        return 2
    return int(any(w in vocabulary for w in words(name)))


def unlike_others(names: Sequence[str]) -> tuple[bool, tuple[str, ...]]:
    """Whether alternatives are merely numbered (1, 2; alt1, alt2; A, B), and which stand apart.

    Apart stand 'none', the status quo and the like.
    """
    apart = tuple(n for n in names if plain(n) in OPT_OUT_WORDS or set(words(n)) <= OPT_OUT_WORDS)
    rest = [words(n) for n in names if n not in apart]
    numbered = all(w.isdigit() or w in UNLABELLED_WORDS for name in rest for w in name)
    return bool(rest) and numbered, apart
