//! The list of the kinds of networks.

use super::{Frequency, Kind, Parameter, Parity, Quads, Timetable};
use super::{cliques, coloring, frequency, grid, ising, large_sparse, latin, parity, permutation, potts, queens};
use super::{random, roster, routes, sat, scale_free, side_chains, timetable, warehouse};

pub(super) const fn whole(
    name: &'static str,
    about: &'static str,
    default: u32,
    least: u32,
    largest: u32,
) -> Parameter {
    Parameter { name, about, default: default as f64, range: (least as f64, largest as f64), whole: true }
}

const fn share(name: &'static str, about: &'static str, default: f64) -> Parameter {
    Parameter { name, about, default, range: (0.0, 1.0), whole: false }
}

const N: Parameter = whole("n", "Number of variables", 10, 1, 10_000_000);
const D: Parameter = whole("d", "Values of each variable", 10, 1, 10_000);
const SIDE: Parameter = whole("side", "Rows and columns of the grid", 10, 1, 3000);
const P2: Parameter =
    share("p2", "Share of the entries of each table that are forbidden; at 0.9 there is rarely a solution", 0.9);

/// The list of the kinds of networks.
pub static KINDS: [Kind; 20] = [
    Kind {
        name: "random",
        about: "a connected random network with random costs and forbidden entries",
        parameters: &[N, D, share("p1", "Share of all pairs of variables that have a function", 0.3), P2],
        build: |v, rng| random(v.whole("n"), v.whole("d"), v.real("p1"), v.real("p2"), rng),
    },
    Kind {
        name: "scale-free",
        about: "a scale-free network by preferential attachment, two functions for each new variable",
        parameters: &[N, D, P2],
        build: |v, rng| scale_free(v.whole("n"), v.whole("d"), v.real("p2"), rng),
    },
    Kind {
        name: "grid",
        about: "a grid with random costs and forbidden entries",
        parameters: &[
            SIDE,
            whole("rows", "Rows of the grid, where they are not as many as columns; 0 is as many", 0, 0, 3000),
            D,
            P2,
        ],
        build: |v, rng| {
            let (side, rows) = (v.whole("side"), v.whole("rows"));
            grid(if rows > 0 { rows } else { side }, side, v.whole("d"), v.real("p2"), rng)
        },
    },
    Kind {
        name: "large-sparse",
        about: "a large network with few functions a variable, random costs, nothing forbidden",
        parameters: &[
            whole("n", "Number of variables", 1000, 1, 10_000_000),
            D,
            whole("functions", "Number of functions, of two variables each", 5000, 0, 100_000_000),
            whole("max-cost", "Largest cost of an entry", 100, 0, 1_000_000_000),
        ],
        build: |v, rng| large_sparse(v.whole("n"), v.whole("d"), v.whole("functions"), v.whole("max-cost"), rng),
    },
    Kind {
        name: "coloring",
        about: "a random graph to color with as few edges of one color as possible",
        parameters: &[
            whole("n", "Number of vertices", 100, 1, 10_000_000),
            share("p", "Share of all pairs of vertices that are edges", 0.1),
            whole("k", "Number of colors", 4, 1, 1000),
        ],
        build: |v, rng| coloring(v.whole("n"), v.real("p"), v.whole("k"), rng),
    },
    Kind {
        name: "queens",
        about: "a board of queens that must not attack each other, each square with a random cost",
        parameters: &[
            whole("n", "Rows and columns of the board", 8, 1, 1000),
            whole("max-cost", "Largest cost of a square", 100, 0, 1_000_000_000),
        ],
        build: |v, rng| queens(v.whole("n"), v.whole("max-cost"), rng),
    },
    Kind {
        name: "ising",
        about: "an Ising spin glass on a square grid, couplings and fields of either sign",
        parameters: &[
            SIDE,
            whole("wrap", "Whether the grid closes to a torus: 1 yes, 0 no", 0, 0, 1),
            whole("coupling", "Largest strength of a coupling", 100, 0, 1_000_000_000),
            whole("field", "Largest strength of a field", 100, 0, 1_000_000_000),
        ],
        build: |v, rng| ising(v.whole("side"), v.whole("wrap") == 1, v.whole("coupling"), v.whole("field"), rng),
    },
    Kind {
        name: "potts",
        about: "a Potts grid of labels: random data costs, a price for unequal neighbours",
        parameters: &[
            SIDE,
            D,
            whole("smoothness", "Largest price of unequal neighbours", 100, 0, 1_000_000_000),
            whole("data", "Largest data cost", 100, 0, 1_000_000_000),
        ],
        build: |v, rng| potts(v.whole("side"), v.whole("d"), v.whole("smoothness"), v.whole("data"), rng),
    },
    Kind {
        name: "sat",
        about: "clauses of three literals that can all be satisfied, a cost for one value of each variable",
        parameters: &[
            whole("n", "Number of variables", 100, 3, 10_000_000),
            whole("clauses", "Number of clauses; about 4.2 for each variable are hard", 400, 0, 100_000_000),
            whole("max-cost", "Largest cost of a value", 100, 0, 1_000_000_000),
        ],
        build: |v, rng| sat(v.whole("n"), v.whole("clauses"), v.whole("max-cost"), rng),
    },
    Kind {
        name: "latin",
        about: "a Latin square with holes to fill in, a random cost for each symbol in each",
        parameters: &[
            whole("order", "Rows, columns and symbols", 10, 1, 200),
            whole("holes", "Cells to fill in; about 0.42 of all are hard", 42, 0, 40_000),
            whole("max-cost", "Largest cost of a symbol", 100, 0, 1_000_000_000),
        ],
        build: |v, rng| latin(v.whole("order"), v.whole("holes"), v.whole("max-cost"), rng),
    },
    Kind {
        name: "warehouse",
        about: "warehouses to open and stores to supply from one each, at a cost that grows with the distance",
        parameters: &[
            whole("warehouses", "Places for a warehouse", 10, 1, 10_000),
            whole("stores", "Number of stores", 30, 1, 1_000_000),
            whole("open", "Largest cost of an open warehouse", 9000, 0, 1_000_000_000),
        ],
        build: |v, rng| warehouse(v.whole("warehouses"), v.whole("stores"), v.whole("open"), rng),
    },
    Kind {
        name: "frequency",
        about: "radio links in pairs at a fixed distance of frequencies, interference where they are near",
        parameters: &[
            whole("n", "Number of variables, two for each link", 100, 2, 20_000),
            whole("width", "Frequencies of a band", 12, 1, 16),
            whole("bands", "Number of bands", 4, 2, 40),
            whole("partners", "Most frequencies at the distance of a pair: 1, or 2", 2, 1, 2),
            whole("degree", "Others that a variable interferes with on average", 16, 0, 1000),
            whole("separation", "Largest distance that interference asks for, in steps of a band", 24, 1, 100),
            share("hard", "Share of the interference that must be avoided", 0.1),
            whole("span", "Lowest largest frequency without interference (1), or least penalties (0)", 0, 0, 1),
        ],
        build: |v, rng| {
            let [n, width, bands, partners] = ["n", "width", "bands", "partners"].map(|p| v.whole(p));
            let [degree, separation] = ["degree", "separation"].map(|p| v.whole(p));
            let (hard, span) = (v.real("hard"), v.whole("span") == 1);
            frequency(Frequency { n, width, bands, partners, degree, separation, hard, span }, rng)
        },
    },
    Kind {
        name: "timetable",
        about: "lessons to time slots: teachers with one at a time, lessons that soon follow others",
        parameters: &[
            whole("lessons", "Number of lessons", 60, 1, 100_000),
            whole("slots", "Number of time slots", 20, 1, 1000),
            whole("teachers", "Number of teachers, who share the lessons", 6, 1, 100_000),
            whole("precedences", "Pairs of lessons of which one follows the other", 40, 0, 10_000_000),
            whole("window", "Slots until it follows, at most", 2, 1, 1000),
            whole("max-cost", "Largest cost of a slot", 100, 0, 1_000_000_000),
        ],
        build: |v, rng| {
            let [lessons, slots, teachers] = ["lessons", "slots", "teachers"].map(|p| v.whole(p));
            let [precedences, window] = ["precedences", "window"].map(|p| v.whole(p));
            timetable(Timetable { lessons, slots, teachers, precedences, window }, v.whole("max-cost"), rng)
        },
    },
    Kind {
        name: "roster",
        about: "shifts of nurses: patterns that no one may work, and counters of who is there",
        parameters: &[
            whole("nurses", "Number of nurses", 8, 1, 1000),
            whole("days", "Number of days", 7, 1, 1000),
            whole("demand", "Most nurses that a shift needs", 3, 1, 100),
            whole("max-cost", "Largest cost of a shift for a nurse", 100, 0, 1_000_000_000),
        ],
        build: |v, rng| roster(v.whole("nurses"), v.whole("days"), v.whole("demand"), v.whole("max-cost"), rng),
    },
    Kind {
        name: "permutation",
        about: "a quadratic assignment: facilities to as many places, at flow times distance",
        parameters: &[
            whole("n", "Number of facilities and places", 12, 1, 150),
            share("flows", "Share of the pairs of facilities with a flow", 0.5),
        ],
        build: |v, rng| permutation(v.whole("n"), v.real("flows"), rng),
    },
    Kind {
        name: "routes",
        about: "a shortest round trip, by the successor and the position of each place",
        parameters: &[whole("n", "Number of places", 8, 3, 40)],
        build: |v, rng| routes(v.whole("n"), rng),
    },
    Kind {
        name: "cliques",
        about: "random sets of variables whose values all differ, a cost for each value",
        parameters: &[
            whole("n", "Number of variables", 60, 1, 1_000_000),
            whole("d", "Values of each variable", 10, 1, 1000),
            whole("cliques", "Number of sets", 20, 0, 1_000_000),
            whole("size", "Variables of a set", 7, 1, 1000),
            whole("max-cost", "Largest cost of a value", 100, 0, 1_000_000_000),
        ],
        build: |v, rng| {
            let [n, d, sets, size, max_cost] = ["n", "d", "cliques", "size", "max-cost"].map(|p| v.whole(p));
            cliques(n, d, sets, size, max_cost, rng)
        },
    },
    Kind {
        name: "side-chains",
        about: "rotamers of a protein's side chains, which must not clash and attract each other",
        parameters: &[whole("n", "Number of residues", 40, 1, 5000), D],
        build: |v, rng| side_chains(v.whole("n"), v.whole("d"), rng),
    },
    Kind {
        name: "parity",
        about: "bits received with errors, and hard sums of bits that tell the right ones",
        parameters: &[
            whole("bits", "Number of bits", 60, 1, 1_000_000),
            whole("checks", "Number of parity checks", 30, 0, 1_000_000),
            whole("width", "Bits of a check", 6, 1, 16),
            share("noise", "Share of bits received wrong", 0.08),
            whole("max-cost", "Largest cost of a bit", 100, 1, 1_000_000_000),
        ],
        build: |v, rng| {
            let [bits, checks, width] = ["bits", "checks", "width"].map(|p| v.whole(p));
            parity(Parity { bits, checks, width, noise: v.real("noise") }, v.whole("max-cost"), rng)
        },
    },
    Kind {
        name: "quads",
        about: "pairs of tied variables that are tied to each other, and random costs between them",
        parameters: &[
            whole("quads", "Groups of four variables", 20, 2, 1_000_000),
            whole("d", "Values of each variable", 12, 1, 1000),
            whole("partners", "Values of the next variable that a value allows", 2, 1, 1000),
            whole("functions", "Functions between groups", 200, 0, 10_000_000),
            whole("max-cost", "Largest cost of an entry", 100, 0, 1_000_000_000),
        ],
        build: |v, rng| {
            let [quads, d, partners, functions] = ["quads", "d", "partners", "functions"].map(|p| v.whole(p));
            super::quads(Quads { quads, d, partners, functions }, v.whole("max-cost"), rng)
        },
    },
];
