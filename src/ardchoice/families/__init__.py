"""How utilities become probabilities and how persons differ: one folder per model family."""

from ardchoice.families.estimate import climb
from ardchoice.families.family import Family, FamilyMeasure, family_pass
from ardchoice.families.latent import LatentClass
from ardchoice.families.mixed import (
    FamilyHeterogeneityMeasure,
    HeterogeneitySums,
    HeterogeneityTest,
    Mixed,
    MnlHeterogeneityMeasure,
    candidate_parameters,
    constants_without_term,
    difference_steps,
    heterogeneity_test,
)
from ardchoice.families.mixed.evidence import TasteEvidence, TasteSet
from ardchoice.families.mixed.modes import ModeMeasure, ModeSums, TasteColumn, taste_values
from ardchoice.families.mixed.persons import Component
from ardchoice.families.mixed.quadratics import PersonQuadratics, person_quadratics
from ardchoice.families.mixed.quick import QuickFit, QuickFits
from ardchoice.families.mixed.search import candidates_of
from ardchoice.families.mixed.structure import Spread, structure_of
from ardchoice.families.mixed.taste_pass import PersonTastes, TastePass, TasteSums
from ardchoice.families.mixed.tastes import TasteDraws, coefficient_draws, taste_draws
from ardchoice.families.mnl import Mnl
from ardchoice.families.mnl.bounds import proves_maximum
from ardchoice.families.mnl.identification import check_identification, must_be_identified
from ardchoice.families.mnl.kernel import (
    choice_probabilities,
    evaluate,
    evaluate_at,
    evaluate_with_scores,
    one_pass,
    utilities,
    weighted_columns,
)
from ardchoice.families.mnl.separation import check_separation, vanished_directions
from ardchoice.families.mnl.start import Start, start_near
from ardchoice.families.nested import Nested
from ardchoice.families.nested.screening import candidate_subsets, screen_nests
from ardchoice.families.nested.structure import SCALE_BOUNDS
from ardchoice.families.parameters import (
    LOCATIONS,
    Parameter,
    ParameterLayout,
    coefficient_parameters,
)
from ardchoice.families.persons import person_rows
from ardchoice.families.records import (
    EstimationTask,
    Individuals,
    Information,
    Logsum,
    Maximum,
    Prediction,
    Resolved,
    Scores,
    Separation,
    TasteKind,
    TermRules,
)
from ardchoice.families.registry import FAMILIES, must_be_family, register_family
from ardchoice.families.scores import ScoredSums, scored_pass
from ardchoice.families.shape_search import candidate_shapes, estimated_shapes, refined_shapes
from ardchoice.families.shapes import (
    Profile,
    ProfilePoint,
    Shape,
    shape_values,
    shapes_of,
    with_shapes,
)

__all__ = [
    "FAMILIES",
    "LOCATIONS",
    "SCALE_BOUNDS",
    "Component",
    "EstimationTask",
    "Family",
    "FamilyHeterogeneityMeasure",
    "FamilyMeasure",
    "HeterogeneitySums",
    "HeterogeneityTest",
    "Individuals",
    "Information",
    "LatentClass",
    "Logsum",
    "Maximum",
    "Mixed",
    "Mnl",
    "MnlHeterogeneityMeasure",
    "ModeMeasure",
    "ModeSums",
    "Nested",
    "Parameter",
    "ParameterLayout",
    "PersonQuadratics",
    "PersonTastes",
    "Prediction",
    "Profile",
    "ProfilePoint",
    "QuickFit",
    "QuickFits",
    "Resolved",
    "ScoredSums",
    "Scores",
    "Separation",
    "Shape",
    "Spread",
    "Start",
    "TasteColumn",
    "TasteDraws",
    "TasteEvidence",
    "TasteKind",
    "TastePass",
    "TasteSet",
    "TasteSums",
    "TermRules",
    "candidate_parameters",
    "candidate_shapes",
    "candidate_subsets",
    "candidates_of",
    "check_identification",
    "check_separation",
    "choice_probabilities",
    "climb",
    "coefficient_draws",
    "coefficient_parameters",
    "constants_without_term",
    "difference_steps",
    "estimated_shapes",
    "evaluate",
    "evaluate_at",
    "evaluate_with_scores",
    "family_pass",
    "heterogeneity_test",
    "must_be_family",
    "must_be_identified",
    "one_pass",
    "person_quadratics",
    "person_rows",
    "proves_maximum",
    "refined_shapes",
    "register_family",
    "scored_pass",
    "screen_nests",
    "shape_values",
    "shapes_of",
    "start_near",
    "structure_of",
    "taste_draws",
    "taste_values",
    "utilities",
    "vanished_directions",
    "weighted_columns",
    "with_shapes",
]
