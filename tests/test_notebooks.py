"""What notebooks show: HTML without scripts, names escaped; and the figures of a study."""

import re
import warnings
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

import ardchoice as ac

EVIL = "<script>alert(1)</script>"
VOID = {"br", "hr", "img"}


class Page(HTMLParser):
    """Tags as they open and close, and the text between them."""

    def __init__(self):
        super().__init__()
        self.open, self.tags, self.attributes, self.text = [], set(), set(), []

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def page_of(shown):
    page = Page()
    page.feed(shown._repr_html_())
    assert not page.open
    return page


@pytest.fixture(scope="module")
def study():
    """A study whose alternatives, attributes, covariates and levels would break a page."""
    rng = np.random.default_rng(3)
    n = 200
    table = pd.DataFrame({f"{a}_{x}": rng.gamma(2, size=n) for a in "ab" for x in ("t", "c")})
    table["sex"] = rng.choice(["<b>f", "m&m"], n)
    table["who"] = np.repeat(np.arange(n // 4), 4)
    better = table["b_t"] + table["b_c"] - table["a_t"] - table["a_c"] + rng.logistic(size=n) > 0
    table["choice"] = np.where(better, "a", "b")
    data = ac.read_wide(
        table,
        alternatives={EVIL: "a", 'b"<i>': "b"},
        choice="choice",
        attributes={
            "time": {EVIL: "a_t", 'b"<i>': "b_t"},
            f"cost{EVIL}": {EVIL: "a_c", 'b"<i>': "b_c"},
        },
        covariates={EVIL: "sex"},
        person="who",
    )
    space = ac.SearchSpace(data, by=[EVIL], generic=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ac.ArdchoiceWarning)
        return ac.specify(data, space)


@pytest.mark.parametrize("what", ["data", "space", "fit", "specification", "result", "study"])
def test_a_notebook_shows_it_whole_with_every_name_escaped(study, what):
    shown = study if what == "study" else getattr(study, what)
    page = page_of(shown)
    assert page.tags <= {
        *("div", "p", "b", "table", "thead", "tbody", "tr", "th", "td", "pre"),
        *("details", "summary", "ul", "li"),
    }
    assert page.attributes <= {"class", "style"}
    assert EVIL in " ".join(page.text)  # as text
    assert len(shown._repr_html_()) < 60_000


def test_a_notebook_shows_the_estimates_of_the_result(study):
    text = " ".join(page_of(study.result).text)
    for name, estimate in study.result.estimates.items():
        assert str(name) in text
        assert f"{estimate:.3g}"[:4] in text
    assert f"{study.result.loglik:,.3f}" in text


def test_a_long_space_is_cut_and_says_by_how_much():
    data = ac.datasets.swissmetro_choices("real").take(range(300))
    space = ac.swissmetro_space(data, "medium")
    html = space._repr_html_()
    assert f"({len(space):,})" in html
    assert re.search(r"<li>TRAIN: ASC</li>", html)


def test_a_study_draws_its_figures_and_computes_what_they_need(study):
    small = study.plot.relevance()
    assert [a.get_title(loc="left") for a in small.axes if a.get_title(loc="left")]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ac.ArdchoiceWarning)
        path, calibration = study.plot.path(), study.plot.calibration()
    assert path.axes[-1].get_xlabel() == "coefficients"
    drawn = path.axes[0].lines[0].get_ydata()
    assert np.allclose(drawn, study.path().frame["criterion"])
    assert len(calibration.axes) == 2
    wtp = study.plot.wtp()
    low, high = wtp.axes[0].get_xlim()
    frame = study.result.wtp("time", f"cost{EVIL}")
    assert low < frame["estimate"].min() and frame["estimate"].max() < high


def test_a_figure_that_cannot_be_says_why():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"x_a": rng.normal(size=200), "x_b": rng.normal(size=200)})
    better = table["x_a"] - table["x_b"] + rng.logistic(size=200) > 0
    table["choice"] = np.where(better, "a", "b")
    data = ac.read_wide(
        table, alternatives=["a", "b"], choice="choice", attributes={"x": "x_{alt}"}
    )
    study = ac.specify(data, ac.SearchSpace(data))
    with pytest.raises(ac.ArdchoiceError, match="no figure 'wtp' of this study: no attribute"):
        study.plot.wtp()
