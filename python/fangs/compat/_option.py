"""pytoulbar2's options: those with a meaning here, and the others, which are refused by name."""

from __future__ import annotations

import difflib
import warnings
from typing import Any

from .._errors import Unsupported
from ._errors import Missing, SearchOption

#: Options of toulbar2's search and preprocessing: they change its speed, not the solutions of a problem.
SEARCH = frozenset(
    """
    Berge_Dec DEE FullEAC GilmoreLawler LcLevel MSTDAC QueueComplexity RASPSangle RASPSnbBacktracks RASPSreset
    ReducedCostsFiltering Static_variable_ordering VAClin VACthreshold addAMOConstraints backtrackLimit binaryBranching
    bisupport boostingBTD btdMode btdRootCluster btdSubTree cardinality clusterFile constrOrdering costThreshold
    costThresholdPre costThresholdPreS costThresholdS costfuncSeparate debug dichotomicBranching dichotomicBranchingSize
    elimDegree elimDegree_preprocessing elimSpaceMaxMB hbfs hbfsAlpha hbfsBeta hbfsCPLimit hbfsGlobalLimit
    hbfsOpenNodeLimit hve incop_cmd knapsackDP lastConflict lds learning lrBCD_cmd maxEACIter maxSeparatorSize
    minProperVarSize minsumDiffusion nbDecisionVars pils_cmd preprocessFunctional preprocessNary preprocessTernaryRPC
    pwc pwcMinimalDualGraph reduceHeight restart rootHeuristic searchMethod setVarOrder singletonAccuracy
    singletonConsistency solutionBasedPhaseSaving sortBFS sortDomains splitClusterMaxSize trwsAccuracy trwsNIter
    trwsNIterComputeUb trwsNIterNoChange trwsOrder useRASPS vacValueHeuristic vnsKcur vnsKinc vnsKmax vnsKmin vnsLDScur
    vnsLDSinc vnsLDSmax vnsLDSmin vnsNeighborChange vnsNeighborSizeSync vnsNeighborVarHeur vnsParallelLimit
    vnsParallelSync weightedDegree weightedTightness
    """.split()
)
#: Options that change the result, and what is offered in their place.
ELSEWHERE = {
    "NormFactor": "networks of potentials are read by fangs.read",
    "absgap": "fangs.Network.solve has the relative gap (gap=…)",
    "absgapstr": "fangs.Network.solve has the relative gap (gap=…)",
    "approximateCountingBTD": "fangs.Network.marginals counts solutions",
    "bayesian": "networks of probabilities are read by fangs.read",
    "bilevel": "bilevel problems are not supported",
    "costMultiplierBLP": "bilevel problems are not supported",
    "decimalPointBLP": "bilevel problems are not supported",
    "deltaUb": "SetUB and UpdateUB set the upper bound",
    "divBound": "Solve has diversityBound",
    "divMethod": "Solve has diversityBound",
    "divNbSol": "Solve has allSolutions, with diversityBound",
    "divRelax": "Solve has diversityBound",
    "divWidth": "Solve has diversityBound",
    "dumpOriginalAfterPreprocessing": "Dump writes the problem",
    "dumpWCSP": "Dump writes the problem",
    "eps": "embarrassingly parallel search is not supported",
    "epsFilename": "embarrassingly parallel search is not supported",
    "epsilon": "fangs.Network.marginals has the time limit time=…",
    "errorg": "files of this format are read by fangs.read",
    "evidence_file": "fangs.read has evidence=…",
    "externalUB": "CFN has ubinit",
    "initialLbBLP": "bilevel problems are not supported",
    "initialUbBLP": "bilevel problems are not supported",
    "isZ": "fangs.Network.marginals computes partition functions",
    "logU": "fangs.Network.marginals computes partition functions",
    "logZ": "fangs.Network.marginals computes partition functions",
    "logepsilon": "fangs.Network.marginals computes partition functions",
    "markov_log": "networks of potentials are read by fangs.read",
    "negCostBLP": "bilevel problems are not supported",
    "parallel": "Fangs uses all threads",
    "problemsaved_filename": "Dump writes the problem",
    "qpboQuadraticCoefMultiplier": "quadratic problems are read by fangs.read",
    "relgap": "fangs.Network.solve has the relative gap (gap=…)",
    "resolution_Update": "CFN has resolution",
    "sigma": "the computation of partition functions is deterministic",
    "solution_uai_filename": "Solve has writeSolution",
    "uaieval": "networks of potentials are read by fangs.read",
    "verifyOpt": "every solution is evaluated again by independent code",
    "writeSolution": "Solve has writeSolution",
}
#: The options with a meaning here, and their initial values.
KNOWN: dict[str, Any] = {
    "allSolutions": 0,
    "decimalPoint": 0,
    "resolution": 0,
    "seed": 1,
    "showSolutions": 0,
    "vac": 0,
    "verbose": -1,
    "vnsInitSol": None,
    "vnsOptimumS": "",
}


class Option:
    """The options of a problem.

    ``allSolutions``, ``decimalPoint``, ``seed``, ``showSolutions``, ``verbose`` and ``vnsOptimumS`` (the cost at which
    the search ends) have pytoulbar2's meaning. ``vac`` and ``vnsInitSol`` ask for cost shifting and for local search,
    which every run does. All others are refused by name, unless ``tolerant`` is set: options of toulbar2's own search
    are then warnings (``SearchOption``), because they do not change what the solutions are.
    """

    tolerant: bool

    def __init__(self, **options: Any) -> None:
        object.__setattr__(self, "tolerant", False)
        object.__setattr__(self, "_values", KNOWN | options)

    def __getattr__(self, name: str) -> Any:
        if name in KNOWN:
            return self._values["decimalPoint" if name == "resolution" else name]
        if name.startswith("_"):
            raise AttributeError(name)
        if name == "setVarOrder" and self.tolerant:
            return lambda order: warn(name)
        raise Missing(f"Option.{name}: {reason(name)}")

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "tolerant":
            object.__setattr__(self, name, bool(value))
        elif name in KNOWN:
            self._values["decimalPoint" if name == "resolution" else name] = value
        elif name in SEARCH and self.tolerant:
            warn(name)
        elif name in SEARCH or name in ELSEWHERE:
            raise Unsupported(f"Option.{name}: {reason(name)}")
        else:
            raise Missing(f"Option.{name}: {reason(name)}")


def warn(name: str) -> None:
    """Warns that an option of toulbar2's search has no effect."""
    warnings.warn(f"Option.{name} controls toulbar2's own search and has no effect here", SearchOption, stacklevel=3)


def reason(name: str) -> str:
    """Why an option is refused, and what would work."""
    if name in SEARCH:
        what = "it controls toulbar2's own search, which does not run here; leave it out"
        return what + ", or set Option.tolerant = True, which makes such options warnings"
    if name in ELSEWHERE:
        return f"it has no effect here: {ELSEWHERE[name]}"
    near = difflib.get_close_matches(name, [*KNOWN, *SEARCH, *ELSEWHERE], 1)
    hint = f"; {near[0]} is a similar name" if near else ""
    return "pytoulbar2 has no such option that Fangs knows; it knows " + ", ".join(sorted(KNOWN)) + hint
