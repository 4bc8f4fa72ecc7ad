"""Networks as files: what `families.py` and `planning.py` share."""
import itertools

BIG, HARD = 10**8, 10**6  # tops: above any sum, and that of hard constraints
folder = None  # where networks are written; set by families.py


def write(name, domains, functions, top):
    """Functions are (scope, default cost, [(values, cost), ...])."""
    with open(folder / f"{name}.wcsp", "w") as file:
        sizes = " ".join(map(str, domains))
        file.write(f"{name} {len(domains)} {max(domains)} {len(functions)} {top}\n{sizes}\n")
        for scope, default, rows in functions:
            file.write(f"{len(scope)} {' '.join(map(str, scope))} {default} {len(rows)}\n")
            file.writelines(f"{' '.join(map(str, values))} {cost}\n" for values, cost in rows)


def write_uai(name, kind, domains, functions, digits):
    """Functions are (scope, table)."""
    with open(folder / f"{name}.uai", "w") as file:
        file.write(f"{kind}\n{len(domains)}\n{' '.join(map(str, domains))}\n{len(functions)}\n")
        file.writelines(f"{len(scope)} {' '.join(map(str, scope))}\n" for scope, _ in functions)
        file.writelines(f"{len(table)}\n{' '.join(f'{x:.{digits}g}' for x in table)}\n" for _, table in functions)


def pairs(domains, cost):
    """All rows of two variables that cost something."""
    rows = ((values, cost(*values)) for values in itertools.product(*map(range, domains)))
    return [row for row in rows if row[1]]
