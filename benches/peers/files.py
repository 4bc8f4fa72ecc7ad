#!/usr/bin/env python3
"""Reads files that peers write, and lets peers read files that this program writes: the optima must agree.

usage: benches/peers/files.py [--networks 20] [--seed 1] [--peer pyagrum|pgmpy|toulbar2] [--keep FOLDER]

Needs pyagrum, pgmpy, pytoulbar2 and numpy from PyPI; FANGS names the program. Each peer writes random small networks:
mixed arities and domains, zeros, names, evidence. The optimum is compared with an enumeration by an independent reader
of the file, and with the peer's optimum; if these two differ because the writer deviates from the order of the format,
a warning is expected. toulbar2 reads files of `fangs generate` and their solutions, and both programs read equal .uai
and .LG files.
"""
import argparse, itertools, json, os, pathlib, random, subprocess, sys, tempfile
from collections import Counter
import numpy as np

FANGS = os.path.abspath(os.environ.get("FANGS", "target/release/fangs"))


def fangs(*words, code=(0,)):
    done = subprocess.run([FANGS, *map(str, words)], capture_output=True, text=True)
    if done.returncode not in code:
        raise AssertionError(f"{words}: exit {done.returncode}: {done.stderr}")
    return done


def solve(path, *options):
    found = fangs("solve", path, "--json", "-t", 20, "--device", "cpu", *options, code=(0, 4))
    return json.loads(found.stdout), found.stderr


def best(domains, factors, known={}, maximise=True):
    """Returns the best value of a product (or sum) of (scope, array) over all assignments, by enumeration."""
    total = np.zeros(domains) if domains else np.zeros(())
    for scope, table in factors:
        with np.errstate(divide="ignore"):
            log = np.log(np.asarray(table, float)) if maximise else np.asarray(table, float)
        order = np.argsort(scope)
        log = np.transpose(log, order)
        shape = [1] * len(domains)
        for v in scope:
            shape[v] = domains[v]
        total = total + log.reshape(shape)
    where = tuple(known.get(v, slice(None)) for v in range(len(domains)))
    return float(total[where].max() if maximise else total[where].min())


def parse_uai(path):
    """An independent reader of .uai: words without comments, last variable fastest."""
    words = [w for line in open(path) for w in line.split("#")[0].split()]
    take = iter(words[1:])
    domains = [int(next(take)) for _ in range(int(next(take)))]
    scopes = [[int(next(take)) for _ in range(int(next(take)))] for _ in range(int(next(take)))]
    factors = []
    for scope in scopes:
        entries = [float(next(take)) for _ in range(int(next(take)))]
        factors.append((scope, np.array(entries).reshape([domains[v] for v in scope])))
    assert next(take, None) is None, path
    return domains, factors


def parse_wcsp(path):
    """An independent reader of .wcsp without shared functions."""
    take = iter(open(path).read().split())
    _, n, _, functions, top = next(take), *(int(next(take)) for _ in range(4))
    domains = [int(next(take)) for _ in range(n)]
    factors = []
    for _ in range(functions):
        scope = [int(next(take)) for _ in range(int(next(take)))]
        table = np.full([domains[v] for v in scope], float(next(take)))
        for _ in range(int(next(take))):
            values = tuple(int(next(take)) for _ in scope)
            table[values] = float(next(take))
        factors.append((scope, np.where(table >= top, np.inf, table)))
    assert next(take, None) is None, path
    return domains, factors


def same(found, expected, what):
    if expected == -np.inf:
        assert found["status"] == "infeasible", (what, found)
    else:
        assert found["status"] == "optimal", (what, found)
        # the rounding of each function, and the error of sums of doubles
        slack = 2 * found["precision_slack"] + 1e-9 * max(1, abs(expected))
        assert abs(found["cost"] - expected) <= slack, (what, found["cost"], expected)


def shape(rng):
    domains = [rng.randint(1, 4) for _ in range(rng.randint(2, 7))]
    scopes = []
    for _ in range(rng.randint(2, 8)):
        scopes.append(rng.sample(range(len(domains)), rng.randint(1, min(4, len(domains)))))
    return domains, scopes


def entries(rng, count):
    return [0.0 if rng.random() < 0.1 else rng.random() * 10 ** rng.randint(-6, 3) for _ in range(count)]


def evidence(rng, domains, path):
    """Writes random evidence in one of the accepted forms."""
    known = {v: rng.randrange(domains[v]) for v in rng.sample(range(len(domains)), rng.randint(0, 2))}
    pairs = " ".join(f"{v} {x}" for v, x in known.items())
    n = len(known)
    forms = [f"{n} {pairs}\n", f"1\n{n} {pairs}\n", f"# seen\n{n} # pairs\n{pairs} # values\n"]
    path.write_text("0\n" if not known else rng.choice(forms))
    return known


def with_evidence(rng, path, domains, factors, what):
    found, warned = solve(path)
    same(found, best(domains, factors), what)
    seen = path.with_suffix(".evid")
    known = evidence(rng, domains, seen)
    found, told = solve(path, "--evidence", seen)
    same(found, best(domains, factors, known), what + " with evidence")
    words = {0: "no variable is observed", 1: "1 variable"}.get(len(known), f"{len(known)} variables")
    assert words in told, told
    return warned


def check_solution(path, found):
    """Checks a solution in each form of solution files."""
    if found["status"] != "optimal":
        return
    values, n = " ".join(map(str, found["solution"])), len(found["solution"])
    file = path.with_suffix(".sol")
    headed = [f"{head}\n{n} {values}\n" for head in ("MPE", "MAP", "MPE\n1", f"MPE\n{n} {values}\n-BEGIN-")]
    for text in [values, str(found["solution"]), json.dumps(found), *headed]:
        file.write_text(text)
        checked = json.loads(fangs("check", path, file, "--json").stdout)
        assert abs(checked["cost"] - found["cost"]) <= 1e-9 * max(1, abs(found["cost"])), (text, checked)


def own_optimum(kind, own, read, warned):
    """Checks that a warning names a writer that deviates from the order of the format."""
    same = abs(own - read) < 1e-5 or own == read
    assert same or warned, "another optimum than the peer's, without a warning"
    return f"{kind}: {'the optimum of its own' if same else 'another optimum, warned of'}"


def pyagrum(rng, folder, number):
    import pyagrum as gum
    if number % 2:
        model, save, load = gum.MarkovRandomField(), gum.saveMRF, gum.loadMRF
        domains, scopes = shape(rng)
        domains = [max(2, d) for d in domains]  # pyAgrum refuses variables with one value
        for v, d in enumerate(domains):
            model.add(gum.LabelizedVariable(f"v {v}", f"the {v}th", [f"label {x}" for x in range(d)]))
        for scope in {tuple(sorted(s)) for s in scopes}:
            factor = model.addFactor(set(scope))
            factor.fillWith(entries(rng, factor.domainSize()))
    else:
        model, save, load = gum.BayesNet("a net"), gum.saveBN, gum.loadBN
        domains = [rng.randint(2, 4) for _ in range(rng.randint(2, 7))]
        for v, d in enumerate(domains):
            model.add(gum.LabelizedVariable(f"node {v}", "", d))
        for v in range(1, len(domains)):
            for parent in rng.sample(range(v), rng.randint(0, min(3, v))):
                model.addArc(parent, v)
        model.generateCPTs()
    path = folder / f"agrum{number}.uai"
    save(model, str(path))
    model = load(str(path))  # read back: it writes six digits, and keeps single precision
    tensors = [model.cpt(v) for v in model.nodes()] if not number % 2 else [model.factor(s) for s in model.factors()]
    factors = []
    for tensor in tensors:
        names = list(tensor.names)
        # pyAgrum's arrays have the first variable last
        factors.append(([model.idFromName(name) for name in reversed(names)], tensor.toarray()))
    domains = [model.variable(v).domainSize() for v in range(model.size())]
    read_domains, read_factors = parse_uai(path)
    assert read_domains == domains
    warned = with_evidence(rng, path, domains, read_factors, f"pyagrum {number}")
    check_solution(path, solve(path)[0])
    arity = "3 and more" if max(len(scope) for scope, _ in read_factors) > 2 else "up to 2"
    own, read = best(domains, factors), best(domains, read_factors)
    return own_optimum(f"arity {arity}", own, read, "as pyAgrum writes them" in warned)


def pgmpy(rng, folder, number):
    from pgmpy.readwrite import UAIWriter
    from pgmpy.models import DiscreteBayesianNetwork, DiscreteMarkovNetwork
    from pgmpy.factors.discrete import TabularCPD, DiscreteFactor
    path = folder / f"pgmpy{number}.uai"
    if number % 2:
        domains, scopes = shape(rng)
        scopes = [s for s in scopes if len(s) > 1] + [list(range(min(3, len(domains))))]
        used = sorted({v for s in scopes for v in s})
        model = DiscreteMarkovNetwork()
        model.add_nodes_from(f"v{v}" for v in used)
        model.add_edges_from((f"v{a}", f"v{b}") for s in scopes for a, b in itertools.combinations(s, 2))
        for s in scopes:
            sizes = [domains[v] for v in s]
            model.add_factors(DiscreteFactor([f"v{v}" for v in s], sizes, entries(rng, int(np.prod(sizes)))))
        factors = [(f.variables, f.values) for f in model.get_factors()]
    else:
        domains = [rng.randint(1, 4) for _ in range(rng.randint(2, 7))]
        model = DiscreteBayesianNetwork()
        model.add_nodes_from(f"v{v}" for v in range(len(domains)))
        for v, d in enumerate(domains):
            parents = rng.sample(range(v), rng.randint(0, min(2, v)))
            model.add_edges_from((f"v{p}", f"v{v}") for p in parents)
            sizes = [domains[p] for p in parents]
            rows = np.array([[rng.random() + 1e-3 for _ in range(d)] for _ in range(int(np.prod(sizes)))]).T
            model.add_cpds(TabularCPD(f"v{v}", d, rows / rows.sum(axis=0), [f"v{p}" for p in parents], sizes))
        factors = [(c.variables, c.values) for c in model.get_cpds()]
    writer = UAIWriter(model)
    writer.write(str(path))
    names = [name for name, _ in sorted(writer.domain.items(), key=lambda x: (x[1], x[0]))]
    own = [([names.index(name) for name in scope], values) for scope, values in factors]
    sizes = [int(writer.domain[name]) for name in names]
    read_domains, read_factors = parse_uai(path)
    assert read_domains == sizes
    # the optimum by the order of the format, and whether pgmpy's own tables have the same one
    warned = with_evidence(rng, path, sizes, read_factors, f"pgmpy {number}")
    check_solution(path, solve(path)[0])
    kind = "MARKOV" if number % 2 else "BAYES"
    return own_optimum(kind, best(sizes, own), best(sizes, read_factors), "pgmpy writes" in warned)


def toulbar2_solves(path, assigned=""):
    """Returns solution and cost by a separate process, because the options of toulbar2 are global."""
    code = ("import sys, json, pytoulbar2 as tb2\n"
            "model = tb2.CFN(resolution=int(sys.argv[3]))\n"
            "model.Read(sys.argv[1])\n"
            "if sys.argv[2]: model.Parse(sys.argv[2])\n"
            "print(json.dumps(model.Solve()))")
    words = [sys.executable, "-c", code, path, assigned, "0" if path.suffix == ".wcsp" else "7"]
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode and "Contradiction" in done.stderr:
        return None  # infeasible, found during reading
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def toulbar2(rng, folder, number):
    import pytoulbar2 as tb2
    domains, scopes = shape(rng)
    model, top = tb2.CFN(100000), 100000
    for v, d in enumerate(domains):
        model.AddVariable(f"v {v}".replace(" ", "_"), [f"a{x}" for x in range(d)] if number % 3 else range(d))
    factors = []
    for scope in scopes:
        sizes = [domains[v] for v in scope]
        low = -50 if number % 2 else 0
        costs = [top if rng.random() < 0.1 else rng.randint(low, 200) for _ in range(int(np.prod(sizes)))]
        factors.append((scope, np.where(np.array(costs) >= top, np.inf, costs).reshape(sizes)))
        model.AddFunction(scope, costs)
    path = folder / f"tb2-{number}.wcsp"
    model.Dump(str(path))
    expected = best(domains, factors, maximise=False)
    found, told = solve(path)
    assert "warning" not in told, told
    if expected == np.inf:
        assert found["status"] == "infeasible", found
        return "infeasible"
    # if costs are negative, toulbar2 shifts the written ones by a constant
    assert found["cost"] == best(*parse_wcsp(path), maximise=False), (number, found["cost"])
    at = sum(table[tuple(found["solution"][v] for v in scope)] for scope, table in factors)
    assert at == expected, (number, at, expected)
    own = model.Solve()
    assert own and round(own[1]) == expected, (own, expected)
    check_solution(path, found)
    # this program reads the peer's solution
    file = path.with_suffix(".tb2.sol")
    file.write_text(" ".join(str(x).lstrip("a") for x in own[0]))
    checked = json.loads(fangs("check", path, file, "--json").stdout)
    assert checked["cost"] == found["cost"], (checked, found)
    return "optimal"


def toulbar2_reads(rng, folder, number):
    """Lets toulbar2 read a generated network."""
    kinds = [("random", ["--n", 9, "--d", 3]), ("grid", ["--side", 3]), ("scale-free", ["--n", 9]),
             ("queens", ["--n", 5]), ("ising", ["--side", 3]), ("potts", ["--side", 3])]
    kind, options = kinds[number % len(kinds)]
    path = folder / f"own{number}.wcsp"
    fangs("generate", kind, *options, "--seed", number, "-o", path)
    found, _ = solve(path, "--solution", path.with_suffix(".sol"))
    own = toulbar2_solves(path)
    if found["status"] == "infeasible":
        assert own is None
        return kind
    assert own and round(own[1]) == found["cost"], (path, own, found["cost"])
    # toulbar2 assigns every variable as in this program's solution
    values = path.with_suffix(".sol").read_text().split()
    assigned = toulbar2_solves(path, "".join(f",{v}={x}" for v, x in enumerate(values)))
    assert assigned and round(assigned[1]) == found["cost"], (path, assigned)
    return kind


def toulbar2_reads_uai(rng, folder, number):
    """Lets both programs solve the same .uai or .LG file."""
    domains, scopes = shape(rng)
    log = number % 2
    path = folder / f"both{number}.{'LG' if log else 'uai'}"
    lines = ["MARKOV", str(len(domains)), " ".join(map(str, domains)), str(len(scopes))]
    lines += [" ".join(map(str, [len(s), *s])) for s in scopes]
    for s in scopes:
        table = entries(rng, int(np.prod([domains[v] for v in s])))
        with np.errstate(divide="ignore"):
            table = np.maximum(np.log(table), -40) if log else table  # toulbar2's reader does not accept -inf
        lines += ["", str(len(table)), " ".join(map(repr, map(float, table)))]
    path.write_text("\n".join(lines) + "\n")
    found, _ = solve(path)
    own = toulbar2_solves(path)
    if own is None or found["status"] == "infeasible":
        assert (own is None) == (found["status"] == "infeasible"), (path, own, found["status"])
        return "infeasible"
    indices = [int(x) for x in own[0]]
    file = path.with_suffix(".sol")
    file.write_text(" ".join(map(str, indices)))
    checked = json.loads(fangs("check", path, file, "--json").stdout)
    assert -1e-4 <= checked["cost"] - found["cost"] <= 1e-6, (path, checked["cost"], found["cost"])
    return "optimal"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--networks", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--peer", default="")
    parser.add_argument("--keep")
    given = parser.parse_args()
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(given.keep or folder)
        folder.mkdir(exist_ok=True)
        peers = (pyagrum, pgmpy, toulbar2, toulbar2_reads, toulbar2_reads_uai)
        for peer in (peer for peer in peers if peer.__name__.startswith(given.peer)):
            rng, passed, told = random.Random(given.seed), 0, []
            for number in range(given.networks):
                try:
                    told.append(peer(rng, folder, number))
                    passed += 1
                except Exception as error:
                    print(f"  {peer.__name__} {number}: {type(error).__name__} {error}")
                    failed += 1
            print(f"{peer.__name__}: {passed} of {given.networks} agree {dict(Counter(map(str, told)))}", flush=True)
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
