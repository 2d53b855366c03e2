"""A model whose names and levels hold whatever breaks scripts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from export_support import quietly

import ardchoice as ac

NAMES = [
    "<script>alert(1)</script>",
    "=cmd|' /C calc'!A0",
    "a\"); open('canary', 'w').write('x') #",
    "quote' + str(open('canary', 'w')) + '",
    "triple \"\"\" quotes ''' here",
    "back\\slash \\n \\x41 \\u0041",
    "new\nline\nimport os",
    "{{ 7 * 7 }}{% raw %}",
    "# -*- coding: utf-7 -*-",
    "Zürich → 東京 🚆",
    "东京",
    "class",
    "TRUE",
    "T",
    "\u202eright to left",
    "\\input{/etc/passwd}$x_1^2$ %&~",
    '"); system("touch canary") ; ("',
    "`rm -rf canary`",
]
ALTERNATIVES = ["if else", "ASC", "None\n'x'"]
LEVELS = ['"', "'; quit()", "\\", "NULL ", "=1+1", "é", "a\nb", "1e5x", "{0}", "#"]


def hostile(n: int = 400, seed: int = 5) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    table = {f"{alt}|{name}": rng.gamma(3, 1, n) for alt in ALTERNATIVES for name in NAMES[:6]}
    table |= {name: rng.choice(LEVELS, n) for name in NAMES[6:9]}
    table |= {name: rng.normal(size=n) for name in NAMES[9:]}
    table["picked; DROP TABLE"] = rng.choice(ALTERNATIVES, n)
    return pd.DataFrame(table)


ROLES: dict[str, Any] = {
    "alternatives": ALTERNATIVES,
    "choice": "picked; DROP TABLE",
    "attributes": {name: "{alt}|" + name for name in NAMES[:6]},
    "covariates": {
        **{name: ac.Categorical() for name in NAMES[6:9]},
        **{name: ac.Numeric() for name in NAMES[9:]},
    },
}


def terms() -> list[ac.Term]:
    first, second, _ = ALTERNATIVES
    return [
        ac.Term((first,)),
        ac.Term((second,)),
        *(ac.Term((first,), name) for name in NAMES[:3]),
        *(ac.Term((), name) for name in NAMES[3:6]),
        *(ac.Term((second,), NAMES[0], by=(name,)) for name in NAMES[6:]),
    ]


def read(source: object) -> ac.ChoiceData:
    """The choices, from a table or a file."""
    return quietly(ac.read_wide, source, **ROLES)
