"""ardchoice: find, estimate and explain the utility functions of discrete choice models.

A public name is imported from its room when it is first used, so that `import ardchoice` and the
command line start without NumPy, SciPy, pandas and matplotlib.
"""

TYPE_CHECKING = False  # type checkers take it for True; importing it from typing costs start-up
if TYPE_CHECKING:
    from ardchoice.ard import ArdFit as ArdFit
    from ardchoice.ard import Dsvi as Dsvi
    from ardchoice.ard import Newton as Newton
    from ardchoice.ard import Prior as Prior
    from ardchoice.ard import fit_ard as fit_ard
    from ardchoice.cluster import connect as connect
    from ardchoice.cluster import local_cluster as local_cluster
    from ardchoice.data import Categorical as Categorical
    from ardchoice.data import ChoiceData as ChoiceData
    from ardchoice.data import Cut as Cut
    from ardchoice.data import Numeric as Numeric
    from ardchoice.data import datasets as datasets
    from ardchoice.data import read_long as read_long
    from ardchoice.data import read_wide as read_wide
    from ardchoice.design import Design as Design
    from ardchoice.design import running as running
    from ardchoice.errors import ArdchoiceError as ArdchoiceError
    from ardchoice.errors import ArdchoiceWarning as ArdchoiceWarning
    from ardchoice.errors import ConvergenceWarning as ConvergenceWarning
    from ardchoice.errors import DataError as DataError
    from ardchoice.errors import IdentificationError as IdentificationError
    from ardchoice.errors import SeparationError as SeparationError
    from ardchoice.errors import SettingsError as SettingsError
    from ardchoice.errors import SpecificationError as SpecificationError
    from ardchoice.errors import TransformError as TransformError
    from ardchoice.estimation import Curve as Curve
    from ardchoice.estimation import Result as Result
    from ardchoice.estimation import Scenario as Scenario
    from ardchoice.estimation import Scenarios as Scenarios
    from ardchoice.estimation import compare as compare
    from ardchoice.estimation import fit as fit
    from ardchoice.estimation import fit_mnl as fit_mnl
    from ardchoice.estimation import likelihood_ratio_test as likelihood_ratio_test
    from ardchoice.estimation import simulate_choices as simulate_choices
    from ardchoice.estimation import wald_test as wald_test
    from ardchoice.evaluation import compare_families as compare_families
    from ardchoice.evaluation import held_out as held_out
    from ardchoice.evaluation import selection_path as selection_path
    from ardchoice.evaluation import stability as stability
    from ardchoice.exports import export as export
    from ardchoice.families import LatentClass as LatentClass
    from ardchoice.families import Mixed as Mixed
    from ardchoice.families import Mnl as Mnl
    from ardchoice.families import Nested as Nested
    from ardchoice.record import Path as Path
    from ardchoice.scripts import ScriptModel as ScriptModel
    from ardchoice.scripts import read_specification as read_specification
    from ardchoice.selection import Bic as Bic
    from ardchoice.selection import Ebic as Ebic
    from ardchoice.selection import Evidence as Evidence
    from ardchoice.selection import FalseDiscovery as FalseDiscovery
    from ardchoice.selection import HeldOut as HeldOut
    from ardchoice.selection import LambdaAbove as LambdaAbove
    from ardchoice.selection import Structure as Structure
    from ardchoice.selection import select as select
    from ardchoice.space import Rival as Rival
    from ardchoice.space import SearchSpace as SearchSpace
    from ardchoice.space import Specification as Specification
    from ardchoice.space import Term as Term
    from ardchoice.space import parse_specification as parse_specification
    from ardchoice.space import parse_term as parse_term
    from ardchoice.space import swissmetro_space as swissmetro_space
    from ardchoice.study import Study as Study
    from ardchoice.study import load as load
    from ardchoice.study import specify as specify

    __version__: str

_PUBLIC_NAMES = {
    "ard": ["ArdFit", "Dsvi", "Newton", "Prior", "fit_ard"],
    "cluster": ["connect", "local_cluster"],
    "data": ["Categorical", "ChoiceData", "Cut", "Numeric", "datasets", "read_long", "read_wide"],
    "design": ["Design", "running"],
    "errors": [
        "ArdchoiceError",
        "ArdchoiceWarning",
        "ConvergenceWarning",
        "DataError",
        "IdentificationError",
        "SeparationError",
        "SettingsError",
        "SpecificationError",
        "TransformError",
    ],
    "estimation": [
        "Curve",
        "Result",
        "Scenario",
        "Scenarios",
        "compare",
        "fit",
        "fit_mnl",
        "likelihood_ratio_test",
        "wald_test",
        "simulate_choices",
    ],
    "evaluation": ["compare_families", "held_out", "selection_path", "stability"],
    "exports": ["export"],
    "families": ["LatentClass", "Mixed", "Mnl", "Nested"],
    "record": ["Path"],
    "scripts": ["ScriptModel", "read_specification"],
    "selection": [
        "Bic",
        "Ebic",
        "Evidence",
        "FalseDiscovery",
        "HeldOut",
        "LambdaAbove",
        "Structure",
        "select",
    ],
    "space": [
        "Rival",
        "SearchSpace",
        "Specification",
        "Term",
        "parse_specification",
        "parse_term",
        "swissmetro_space",
    ],
    "study": ["Study", "load", "specify"],
}
"""Room -> the names that it makes public; the same as type checkers see above."""
_ROOM_OF = {name: room for room, names in _PUBLIC_NAMES.items() for name in names}

__all__ = sorted(_ROOM_OF)

if not TYPE_CHECKING:  # else any name would pass for one of ours

    def __getattr__(name):
        """Import a public name, or its room, when it is first used."""
        from importlib import import_module

        if name in _PUBLIC_NAMES:
            return import_module(f"ardchoice.{name}")
        if name == "__version__":
            value = import_module("importlib.metadata").version("ardchoice")
        elif name in _ROOM_OF:
            value = getattr(import_module(f"ardchoice.{_ROOM_OF[name]}"), name)
        else:
            raise AttributeError(f"module 'ardchoice' has no attribute {name!r}")
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_PUBLIC_NAMES, *__all__, "__version__"})
