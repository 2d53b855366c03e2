"""Specifications of Rodrigues, Ortelli, Bierlaire and Pereira (arXiv 1906.03855), in the grammar.

S1 to S9 are the true specifications of their semi-artificial data, R1 to R7 those that they
estimate on the real data.
"""

SPECIFICATIONS: dict[str, str] = {
    "S1": """
        TRAIN: ASC + TT + CO
        SM:    ASC + TT + CO
        CAR:   TT + CO
    """,
    "S2": """
        TRAIN: ASC + TT + TT x AGE + CO
        SM:    ASC + TT + CO + CO x GA
        CAR:   TT + TT x AGE + CO
    """,
    "S3": """
        TRAIN: ASC + TT + TT x AGE + CO + CO x GA + HE
        SM:    ASC + TT + CO + CO x GA + log1p(HE)
        CAR:   TT + TT x AGE + CO
    """,
    "S4": """
        TRAIN: ASC + ASC x GA + TT + CO
        SM:    ASC + ASC x GA + TT + CO
        CAR:   TT + CO + CO x PURPOSE
    """,
    "S5": """
        TRAIN: ASC + log1p(TT) + HE
        SM:    ASC + log1p(TT) + HE
        CAR:   TT + CO
    """,
    "S6": """
        TRAIN: ASC + log1p(TT) + log1p(TT) x GA + CO
        SM:    ASC + log1p(TT)
        CAR:   TT + CO
    """,
    "S7": """
        TRAIN: ASC + boxcox(TT, 1) + boxcox(TT, 1) x GA + CO
        SM:    ASC + TT
        CAR:   TT + CO
    """,
    "S8": """
        TRAIN: ASC + ASC x GA + TT + CO + CO x WHO
        SM:    ASC + ASC x GA + TT + CO + CO x WHO
        CAR:   TT + CO + CO x LUGGAGE
    """,
    "S9": """
        TRAIN: ASC + TT + CO + CO x GA
        SM:    ASC + TT + TT x AGE + CO + CO x GA
        CAR:   TT + CO + CO x INCOME
    """,
    "R1": """
        TRAIN: ASC + TT + CO
        SM:    ASC + TT + CO
        CAR:   TT + CO
    """,
    "R2": """
        TRAIN: ASC + log1p(TT) + log1p(TT) x GA + log1p(CO)
        SM:    ASC + log1p(TT) + log1p(CO)
        CAR:   TT + log1p(CO)
    """,
    "R3": """
        TRAIN: ASC + log1p(TT) + log1p(TT) x GA + log1p(CO) + log1p(CO) x PURPOSE
        SM:    ASC + log1p(TT) + log1p(CO) + log1p(CO) x GA
        CAR:   TT + log1p(CO)
    """,
    "R4": """
        TRAIN: ASC + log1p(TT) + log1p(TT) x GA + log1p(CO) + log1p(CO) x GA + log1p(CO) x PURPOSE
        SM:    ASC + log1p(TT) + log1p(CO) + log1p(CO) x GA + log1p(CO) x PURPOSE
        CAR:   TT + TT x GA + log1p(CO)
    """,
    "R5": """
        TRAIN: ASC + log1p(TT) + log1p(TT) x GA + log1p(CO) + log1p(CO) x GA + log1p(CO) x PURPOSE
            + log1p(CO) x AGE
        SM:    ASC + ASC x AGE + log1p(TT) + log1p(CO) + log1p(CO) x GA + log1p(CO) x PURPOSE
        CAR:   TT + TT x GA + TT x PURPOSE + log1p(CO)
    """,
    "R6": """
        TRAIN: ASC + log1p(TT) + log1p(TT) x GA + log1p(CO) + log1p(CO) x GA + log1p(CO) x PURPOSE
            + log1p(CO) x AGE + log1p(HE)
        SM:    ASC + ASC x AGE + log1p(TT) + log1p(CO) + log1p(CO) x GA + log1p(CO) x PURPOSE
        CAR:   TT + TT x GA + TT x PURPOSE + log1p(CO)
    """,
    "R7": """
        TRAIN: ASC + log1p(TT) + log1p(TT) x GA + log1p(CO) + log1p(CO) x GA + log1p(CO) x PURPOSE
            + log1p(CO) x AGE + log1p(HE)
        SM:    ASC + ASC x GA + ASC x AGE + log1p(TT) + log1p(CO) + log1p(CO) x GA
            + log1p(CO) x PURPOSE
        CAR:   TT + TT x GA + TT x PURPOSE + log1p(CO) + log1p(CO) x AGE + log1p(CO) x PURPOSE
    """,
}
