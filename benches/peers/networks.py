"""Writers of networks, which `families.py` and `planning.py` share."""
import itertools

BIG, HARD = 10**8, 10**6  # tops: one above any sum, and one for hard constraints
folder = None  # the folder of the written networks; set by families.py


def write(name, domains, functions, top):
    """Writes a .wcsp file; functions are (scope, default cost, [(values, cost), ...])."""
    with open(folder / f"{name}.wcsp", "w") as file:
        sizes = " ".join(map(str, domains))
        file.write(f"{name} {len(domains)} {max(domains)} {len(functions)} {top}\n{sizes}\n")
        for scope, default, rows in functions:
            file.write(f"{len(scope)} {' '.join(map(str, scope))} {default} {len(rows)}\n")
            file.writelines(f"{' '.join(map(str, values))} {cost}\n" for values, cost in rows)


def write_uai(name, kind, domains, functions, digits):
    """Writes a .uai file; functions are (scope, table)."""
    with open(folder / f"{name}.uai", "w") as file:
        file.write(f"{kind}\n{len(domains)}\n{' '.join(map(str, domains))}\n{len(functions)}\n")
        file.writelines(f"{len(scope)} {' '.join(map(str, scope))}\n" for scope, _ in functions)
        file.writelines(f"{len(table)}\n{' '.join(f'{x:.{digits}g}' for x in table)}\n" for _, table in functions)


def pairs(domains, cost):
    """Returns all pairs of values with a nonzero cost."""
    rows = ((values, cost(*values)) for values in itertools.product(*map(range, domains)))
    return [row for row in rows if row[1]]
