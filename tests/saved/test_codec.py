"""Every class of the white list is encoded and decoded to the last bit, and nothing else is."""

import enum
import io
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import pytest

import ardchoice as ac
from ardchoice._types import Floats
from ardchoice.ard import DsviPaper, Step
from ardchoice.data.number_text import NumberFormat
from ardchoice.design.encoding import Levels, PersonColumns
from ardchoice.errors import ArdchoiceError, Problem
from ardchoice.estimation import Constraints
from ardchoice.families import FAMILIES, Mnl, register_family
from ardchoice.record import Note, StudyRecord
from ardchoice.saved import Decoder, Encoder, saved_classes
from ardchoice.saved.arrays import read_arrays, write_arrays
from ardchoice.saved.classes import EXECUTION_FIELDS
from ardchoice.saved.upgrades import SCHEMA_UPGRADES, SCHEMA_VERSION, upgraded
from ardchoice.selection import Confirmed
from ardchoice.space import Factor, Term, Transform
from saved.saved_support import STUDIES, differences, plain_study
from selection.selection_support import made, read, table, usual

HERE = Path(__file__).parent


def through_files(value: object, hint: Any, *references: object) -> Any:
    """Encoded, written as text and arrays, read and decoded."""
    encoder, out = Encoder(references), io.BytesIO()
    text = json.dumps(encoder.encode(value, "value"), allow_nan=False)
    write_arrays(out, encoder.arrays)
    arrays = read_arrays(io.BytesIO(out.getvalue()))
    return Decoder(arrays, references).decode(json.loads(text), hint, "value")


def parts(value: object) -> Iterator[object]:
    """A value and all that it holds."""
    if isinstance(value, Term | Transform):
        return
    yield value
    if isinstance(value, Mapping):
        inside = list(value.values())
    elif isinstance(value, tuple | list):
        inside = list(value)
    elif isinstance(value, ac.SearchSpace):
        inside = list(vars(value).values())
    elif is_dataclass(value):
        inside = [getattr(value, f.name) for f in fields(value)]
    else:
        inside = []
    for one in inside:
        yield from parts(one)


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    """One object of every class."""
    early, late = made(300, 1, usual), made(300, 2, usual)
    space = ac.SearchSpace(early, by=["G"])
    previous = ac.fit_ard(early, space).memory(0.5)
    path = tmp_path_factory.mktemp("table") / "trips.csv"
    table(300, 1, usual).to_csv(path, index=False)
    studies = [
        STUDIES["honest"](),
        STUDIES["evaluated"](),
        ac.fit_ard(late, space, previous=previous),
    ]
    joint = ac.specify(late, ac.SearchSpace(late), family=ac.Mixed(nodes=16)).joint
    assert joint is not None
    others = [
        read(path, covariates={"INC": ac.Cut(edges=[1.0], labels=["low", "high"])}),
        [ac.Bic(), ac.Ebic(gamma=0.5), ac.Evidence(), ac.FalseDiscovery(q=0.1), ac.HeldOut()],
        [ac.Newton(), DsviPaper(seed=2)],
        [ac.Numeric("a"), ac.Categorical(levels=["x", "y"], merge={"z": ["x", 2]})],
        Problem("warning", "code", "message", (1, 2)),
        Note("look", "title", "text"),
        NumberFormat("number", ",", ".", "€"),
        Factor("INC", "log"),
        Constraints(fixed={"A": 1.0}, equal=(("B", "C"),), bounds={"D": (None, 0.0)}),
        PersonColumns("INC", Levels("INC", ("low", "high"), 0)),
        ac.compare_families(late, "*: TT", families=[], folds=2),
        joint,
        Confirmed(joint.selection, None),
        ac.fit_ard(late, ac.SearchSpace(late), family=ac.Mixed()).spreads,
        STUDIES["honest"]().evaluated(folds=0, scenarios={"A": "B: unavailable"}).evaluation,
    ]
    found: dict[str, object] = {}
    for one in parts([studies, others]):
        found.setdefault(type(one).__name__, one)
    return found


# Families are registered by being imported, tests' own among them, and have a test below.
NAMES = sorted(set(saved_classes()) - {"Study", "StudyRecord", "Frame", *FAMILIES})


@pytest.mark.parametrize("name", NAMES)
def test_every_class_of_the_white_list_is_the_same_again(
    examples: dict[str, object], name: str
) -> None:
    value = examples[name]
    after = through_files(value, type(value))
    assert type(after) is type(value)
    assert differences(value, after) == []


def test_every_registered_family_is_the_same_again() -> None:
    for cls in FAMILIES.values():
        family = cls()
        assert through_files(family, cls) == family


def test_every_field_is_stored() -> None:
    for entry in saved_classes().values():
        if is_dataclass(entry.cls):
            left = {f.name for f in fields(entry.cls)} - set(entry.types)
            assert left <= EXECUTION_FIELDS, entry.cls
    space = plain_study().space
    assert set(saved_classes()["SearchSpace"].types) == set(vars(space))


def test_shared_objects_are_stored_once_and_references_not_at_all() -> None:
    study = plain_study()
    encoder = Encoder([study.data, study.space])
    encoded = encoder.encode(study.fit, "value")
    assert (encoded["data"], encoded["space"]) == (0, 1)
    assert not [name for name in encoder.arrays if "available" in name]
    fit = through_files(study.fit, type(study.fit), study.data, study.space)
    assert fit.data is study.data


def test_steps_are_stored_in_columns() -> None:
    steps = tuple(Step(i, 9, i / 2, 3, 0.25, np.array([0.5, np.inf])) for i in range(4))
    encoder = Encoder()
    assert list(encoder.encode(steps, "trace")) == ["columns"]
    assert encoder.arrays["trace/lam"].shape == (4, 2)
    assert differences(steps, through_files(steps, tuple[Step, ...])) == []


# -- What is refused -------------------------------------------------------------------------------


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


REFUSED: list[tuple[Any, Any, str]] = [
    ("1", int, "value: Input should be a valid integer, not '1'"),
    (True, int, "value: Input should be a valid integer, not True"),
    (1.5, int, "value: Input should be a valid integer, not 1.5"),
    ("1", float, "value: Input should be a valid number, not '1'"),
    (None, float, "value: Input should be a valid number, not None"),
    (1, str, "value: Input should be valid text, not 1"),
    (1, bool, "value: Input should be true or false, not 1"),
    ("c", Literal["a", "b"], "value: Input should be one of 'a', 'b', not 'c'"),
    ("green", Colour, "value: Input should be one of 'red', 'blue', not 'green'"),
    ([1, "x"], tuple[int, ...], "value.1: Input should be a valid integer, not 'x'"),
    ([1], tuple[int, int], "value: Input should be a valid list of 2, not [1]"),
    ("ab", list[str], "value: Input should be a valid list, not 'ab'"),
    ([], dict[str, int], "value: Input should be a valid mapping, not []"),
    ({"a": {"b": 1}}, dict[str, dict[str, str]], "value.a.b: Input should be valid text, not 1"),
    ("x", int | float | None, "a valid integer, not 'x', or value: Input should be a valid number"),
    ("floats", ac.HeldOut, "value: Input should be an object: HeldOut"),
    ({"folds": 2.5}, ac.HeldOut, "value.folds: Input should be a valid integer, not 2.5"),
    ({"fold": 2}, ac.HeldOut, "value.fold: Extra field, HeldOut has none of this name"),
    ({"class": "Bic"}, ac.HeldOut, "value: class 'Bic' is none of HeldOut"),
    ({"class": "Popen", "args": "ls"}, object, "value: class 'Popen' is none of"),
    ({"class": "StudyRecord"}, object, "value.data: Field required"),
    ({"class": ["Bic"]}, ac.Bic | ac.Ebic, "value: class ['Bic'] is none of Bic, Ebic"),
    ({"signs": {"TT": "?"}}, ac.Structure, "value.signs.TT: Input should be one of"),
    ({"q": 2.0}, ac.FalseDiscovery, "value: "),
    (3, ac.ChoiceData, "value: number 3 points to nothing"),
    (0, ac.SearchSpace, "value: Input should be the number of an object: SearchSpace"),
    ("missing", Floats, "value: the array 'missing' is missing"),
    ("texts", Floats, "value: Input should be an array of kind floating, not dtype('<U1')"),
    ({"columns": {"iteration": "floats", "of": "texts"}}, tuple[Step, ...], "of one length"),
    ("A: nothing(TT)", Term, "value: "),
    ({"date": 3}, object, "value: Input should be a valid date, not 3"),
    ({"number": "many"}, object, "value: Input should be a valid number, not 'many'"),
    ([{"date": "tomorrow"}], list[object], "value.0: Input should be a valid date"),
    ({"pickle": "gASVBA=="}, object, "value: Input should be an object or one of"),
]


@pytest.mark.parametrize(("value", "hint", "message"), REFUSED, ids=str)
def test_what_is_of_another_type_is_refused_with_its_path(
    value: object, hint: Any, message: str
) -> None:
    arrays = {"floats": np.zeros(3), "texts": np.array(["a", "b"])}
    known = made(50, 1, usual)
    with pytest.raises(ValueError, match="value") as error:
        Decoder(arrays, [known]).decode(value, hint, "value")
    assert message in str(error.value)


def test_what_loading_would_not_know_is_not_saved() -> None:
    @dataclass(frozen=True)
    class Ebic(ac.Ebic):
        """Another class of a name that is on the list."""

    with pytest.raises(ArdchoiceError, match="value: a Ebic cannot be saved"):
        Encoder().encode(Ebic(), "value")
    with pytest.raises(ArdchoiceError, match="register_family"):
        Encoder().encode(HERE_ONLY, "value")
    with pytest.raises(TypeError, match="a value of type object cannot be stored"):
        Encoder().encode([object()], "value")
    with pytest.raises(TypeError, match="a key of type int cannot be stored"):
        Encoder().encode({1: 2}, "value")


# -- Families --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Nest:
    members: tuple[str, ...]
    dissimilarity: float | None = None


@dataclass(frozen=True)
class Draws:
    kind: Literal["halton", "random"]
    n: int


@dataclass(frozen=True, eq=False)
class OfAllKinds(Mnl):
    """A family with options of every type that can be saved."""

    tag: ClassVar[str] = "of-all-kinds"
    title: ClassVar[str] = "Of all kinds"
    nests: Mapping[str, Nest] = field(default_factory=dict)
    draws: Draws | Nest | None = None
    colour: Colour = Colour.RED
    names: frozenset[str] = frozenset()
    sizes: set[int] = field(default_factory=set)
    limits: tuple[float, float] = (-np.inf, np.inf)
    matrix: Floats = field(default_factory=lambda: np.zeros((2, 2)))
    panels: bool | list[str] = False


HERE_ONLY = OfAllKinds()
OPTIONS: list[dict[str, Any]] = [
    {},
    {"nests": {"class": Nest(("A", "B"), 0.5), "other": Nest(())}, "draws": Draws("halton", 50)},
    {"draws": Nest(("A",)), "colour": Colour.BLUE, "limits": (0.25, np.inf)},
    {"names": frozenset({"é", "b"}), "sizes": {3, 1}, "matrix": np.array([[np.nan, 1.0]])},
    {"panels": ["A", "B"]},
]


@pytest.mark.parametrize("options", OPTIONS)
def test_a_family_is_saved_by_its_tag_with_its_own_fields(
    options: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    family = OfAllKinds(**options)
    study = plain_study()
    before = replace(study, result=replace(study.result, family=family))
    with pytest.raises(ArdchoiceError, match=r"OfAllKinds cannot be saved.*register_family"):
        before.save(tmp_path / "unregistered")
    monkeypatch.setitem(FAMILIES, OfAllKinds.tag, Mnl)  # so that it is not registered afterwards
    register_family(OfAllKinds)
    before.save(tmp_path / "study")
    after = ac.load(tmp_path / "study")
    assert type(after.result.family) is OfAllKinds
    assert differences(before, after) == []
    content = json.loads((tmp_path / "study" / "study.json").read_text())
    assert content["study"]["result"]["family"]["class"] == "of-all-kinds"
    monkeypatch.delitem(FAMILIES, OfAllKinds.tag)
    with pytest.raises(
        ArdchoiceError, match=r"study\.result\.family: class 'of-all-kinds' is none of"
    ):
        ac.load(tmp_path / "study")


# -- Earlier schemas -------------------------------------------------------------------------------


def test_every_earlier_schema_has_an_upgrade_and_a_stored_study() -> None:
    assert list(SCHEMA_UPGRADES) == list(range(1, SCHEMA_VERSION))
    assert all((HERE / f"schema_{schema}" / "study.json").exists() for schema in SCHEMA_UPGRADES)


def test_names_of_the_user_are_not_renamed_by_an_upgrade() -> None:
    content = json.loads((HERE / "schema_1" / "study.json").read_text())
    source = content["study"]["data"]["source"]
    source["covariates"] |= {"kind": "recalled", "recalled": "of_most"}
    source["roles"]["kind"] = {"kind": "Numeric", "column": None}
    source = upgraded(content, 1)["study"]["data"]["source"]
    assert source["covariates"]["kind"] == "recalled"
    assert source["covariates"]["recalled"] == "of_most"
    assert source["roles"]["kind"] == {"class": "Numeric", "column": None}


def test_a_study_of_schema_1_has_the_defaults_of_new_fields() -> None:
    record = ac.load(HERE / "schema_1")
    assert record.result.family == Mnl()
    assert record.result.notes == ()
    assert record.fit.revisited == 0
    assert isinstance(record, StudyRecord)
