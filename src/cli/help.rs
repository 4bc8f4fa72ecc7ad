//! Help besides the options: headings, two examples for each command, and the meaning of names.

use clap::builder::PossibleValue;
use fangs_formats::FORMATS;
use fangs_generate::Kind;

/// Headings of options.
pub const INPUT: &str = "Input";
pub const BUDGET: &str = "Budget";
pub const SEARCH: &str = "Search";
pub const SEVERAL: &str = "Several solutions";
pub const BOUNDS: &str = "Bounds";
pub const OUTPUT: &str = "Output";

/// The meanings of exit codes, shown below the list of commands.
pub const EXIT_CODES: &str = "\
Exit codes:
  0  done; solve: a solution was found
  2  bad usage or bad input
  3  no solution within the budget
  4  proven infeasible; check: the total reaches top
  1  anything else; check: a certificate is refused
  130  stopped by Ctrl-C (SIGINT), whatever was found; SIGTERM leaves the codes above";

/// Two example calls of a command, each preceded by its purpose.
pub type Examples = [(&'static str, &'static str); 2];

pub const FANGS: Examples = [
    ("Search for a minute, then say what was found and how far it can be from the optimum", "fangs solve net.wcsp"),
    ("What a command does, with all its options", "fangs bound --help"),
];
pub const SOLVE: Examples = [
    (
        "Five minutes; the best solution, the convergence rows and a picture of them go to files",
        "fangs solve net.wcsp --time 5m --solution net.sol --csv run.csv --plot run.svg",
    ),
    (
        "Most probable values of a Bayesian network with some observed, to within 1 %, as JSON",
        "fangs solve net.uai --evidence net.evid --gap 1% --json",
    ),
];
pub const BOUND: Examples = [
    ("Two minutes; what proves the bound goes to a file", "fangs bound net.wcsp --time 2m --certificate net.cert"),
    (
        "Exact bucket elimination with 8 GiB of tables, along an order by one rule",
        "fangs bound net.uai.xz --method be --order min-fill --bound-memory 8G",
    ),
];
pub const INFO: Examples = [
    ("Sizes, reductions, and what elimination would take", "fangs info net.wcsp"),
    ("What mini-buckets of up to 12 variables would take, as JSON", "fangs info net.uai --z 12 --json"),
];
pub const CHECK: Examples = [
    ("What a solution costs, and which functions it violates", "fangs check net.wcsp net.sol"),
    ("Whether a certificate proves its bound", "fangs check net.wcsp --certificate net.cert"),
];
pub const CONVERT: Examples = [
    ("A quadratic sum for a MaxSAT solver", "fangs convert net.qpbo net.wcnf"),
    ("To standard output, without the limit on totals", "fangs convert net.wcsp - --to uai --without-top"),
];
pub const EXPLAIN: Examples = [
    ("The ten functions that cost most", "fangs explain net.cfn net.sol --limit 10"),
    ("Which functions leave a network without a solution, as JSON", "fangs explain net.wcsp --time 5m --json"),
];
pub const DIFF: Examples = [
    ("What changed from one solution to the next", "fangs diff net.wcsp old.sol new.sol"),
    ("All of it, as JSON", "fangs diff net.wcsp old.sol new.sol --json"),
];
pub const COMPARE: Examples = [
    (
        "Two settings on two networks, five seeds, two runs at a time, a page",
        "fangs compare a.wcsp b.wcsp --with default \"tabu: --driver tabu\" --seeds 5 --jobs 2 --report out.html",
    ),
    (
        "The search beside toulbar2, whose last solution is checked; the table for a paper",
        "fangs compare a.wcsp --external \"tb2: toulbar2 {file} -timer={time} -w={solution}\" --table out.tex",
    ),
];
pub const MARGINALS: Examples = [
    ("Posteriors of a Bayesian network, given what is observed", "fangs marginals net.bif --observe rain=yes,wind=no"),
    (
        "The sum alone as JSON; then sum and posteriors as the UAI competitions have them",
        "fangs marginals net.uai --evidence net.evid --only-z --json && fangs marginals net.uai --uai net",
    ),
];
pub const DECIDE: Examples = [
    ("The best policy of a process over six steps, drawn", "fangs decide tiger.POMDP --horizon 6 --policy tiger.svg"),
    ("An influence diagram, as JSON, with its policy in a file", "fangs decide net.uai --policy net.json --json"),
];
pub const GENERATE: Examples = [
    ("A grid of 20 by 20 variables with 5 values each", "fangs generate grid --side 20 --d 5 -o grid.wcsp"),
    (
        "A graph to color, straight into the search",
        "fangs generate coloring --n 50 --k 5 | fangs solve - --format wcsp --time 5s",
    ),
];
pub const PLOT: Examples = [
    ("One run", "fangs plot run.csv -o run.svg"),
    ("Two runs on one chart", "fangs plot seed1.csv seed2.csv -o seeds.png --title 'Two seeds' --log-time"),
];
pub const HEURISTICS: Examples = [
    ("What a built-in one does", "fangs heuristics min-conflicts"),
    ("Whether a file of your own has mistakes", "fangs heuristics my.toml"),
];
pub const TRY: Examples = [
    (
        "Does it help? Three runs of 10 s with it, three without",
        "fangs heuristics try net.wcsp --heuristic default --heuristic min-conflicts",
    ),
    (
        "Two heuristics by themselves, five runs each, with a picture",
        "fangs heuristics try net.wcsp --heuristic boltzmann --heuristic my.toml --alone --seeds 5 --plot try.svg",
    ),
];
pub const NEW: Examples = [
    ("In the folder that has the sources", "fangs heuristics new my-own"),
    ("From elsewhere", "fangs heuristics new my-own --folder ~/src/fangs"),
];
pub const DCOP: Examples = [
    ("The optimum by DPOP along a good tree, as JSON", "fangs dcop problem.yaml --pseudo-tree order --json"),
    (
        "How long agents would take that send messages of at most two variables, 1 ms each",
        "fangs dcop problem.xml --z 3 --mode agents --latency 1ms --trace agents.csv",
    ),
];
pub const DEVICES: Examples = [("As text", "fangs devices"), ("As JSON", "fangs devices --json")];
pub const BENCH: Examples = [
    ("Successor generation", "fangs bench fang"),
    ("The search on a network of your own", "fangs bench search net.wcsp"),
];
pub const BENCH_FANG: Examples = [
    ("All loads", "fangs bench fang"),
    ("On the device alone, rows to a file", "fangs bench fang --cpu-repeats 0 --csv fang.csv"),
];
pub const BENCH_MBE: Examples = [
    ("Single buckets", "fangs bench mbe"),
    ("Whole networks, as JSON", "fangs bench mbe a.wcsp b.uai --repeats 5 --json"),
];
pub const BENCH_SEARCH: Examples = [
    ("Annealing's sweeps of two networks", "fangs bench search a.wcsp b.uai"),
    (
        "Two heuristics, the second compared with the first",
        "fangs bench search net.wcsp --heuristic boltzmann --heuristic my.toml",
    ),
];
pub const COMPLETIONS: Examples = [
    ("For bash", "fangs completions bash > ~/.local/share/bash-completion/completions/fangs"),
    ("For zsh, into a folder of its fpath", "fangs completions zsh > ~/.zfunc/_fangs"),
];
pub const MAN: Examples = [
    ("Read the page of the program", "fangs man > fangs.1 && man ./fangs.1"),
    ("Pages of all commands", "fangs man --folder ~/.local/share/man/man1"),
];

/// Returns the list of network formats for the help.
pub fn formats() -> String {
    let line = |info: &fangs_formats::FormatInfo| {
        format!("  {:<8}{}{}", info.name, info.about, if info.is_written() { ", also written" } else { "" })
    };
    format!("Formats:\n{}", FORMATS.iter().map(line).collect::<Vec<_>>().join("\n"))
}

/// Returns examples in the form that help shows.
pub fn examples(examples: &Examples) -> String {
    let [(first_why, first), (second_why, second)] = examples;
    format!("Examples:\n  {first_why}:\n    {first}\n  {second_why}:\n    {second}")
}

/// Returns examples for a kind of network: one with its defaults, and one with every parameter.
pub fn of_network(kind: &Kind) -> String {
    of_kind(kind, "wcsp", "search", "solve - --format wcsp")
}

/// Returns examples for a kind of interactive diagram: one with its defaults, and one with every parameter.
pub fn of_diagram(kind: &Kind<String>) -> String {
    of_kind(kind, "idid", "solver", "decide - --format idid")
}

fn of_kind<M>(kind: &Kind<M>, extension: &str, reader: &str, command: &str) -> String {
    let name = kind.name;
    let all: String = kind.parameters.iter().map(|known| format!(" --{} {}", known.name, known.default)).collect();
    format!(
        "Examples:\n  To a file, from a seed of your choice:\n    \
         fangs generate {name} --seed 7 -o {name}.{extension}\n  \
         With its defaults in full, straight into the {reader}:\n    fangs generate {name}{all} | fangs {command}"
    )
}

/// Names on the command line and their meaning.
type Words = [(&'static str, &'static str)];

pub const DECIDE_METHODS: &Words = &[
    ("auto", "What fits the problem and has room"),
    ("eliminate", "Elimination on probabilities and utilities; processes as the diagrams they stand for"),
    ("belief-tree", "Processes along the beliefs that can be reached"),
    ("alpha", "Processes by linear functions of beliefs, backwards from the horizon"),
    ("spu", "Single policy updating: each decision improved while the others stay"),
    ("team", "Branch and bound over joint policies of agents that do not share their observations"),
];

pub const SOLUTION_FORMATS: &Words = &[
    ("native", "MPE, count and values for .uai and .LG, otherwise value indices"),
    ("indices", "Value indices on one line, for any format"),
];

pub const ALGORITHMS: &Words = &[
    ("auto", "DPOP where it fits the memory, else ADPOP with the largest z that does"),
    ("dpop", "Exact: each agent sends its parent a table over all that it depends on"),
    ("adpop", "Tables of at most z variables: a bound, and the values that agents choose by it"),
    ("dsa", "Local search: each agent takes its best value with a probability"),
    ("mgm", "Local search: the agent of the largest gain among its neighbours moves"),
    ("max-sum", "Belief propagation between variables and functions"),
];
pub const TRANSPORTS: &Words = &[("tcp", "Processes on this machine, over the loopback interface")];
pub const MODES: &Words = &[
    ("levels", "All agents at once, on all threads or a device"),
    ("agents", "One agent after the other, each timed"),
];

/// Former names of drivers, the driver that runs instead, and the warning. They are hidden and will be removed in the
/// next version.
pub const OLD_DRIVERS: &[(&str, &str, &str)] = &[
    ("deep", "long-anneal", "it is called long-anneal now"),
    ("islands", "lns", "it is called lns now"),
    ("dives", "limited-discrepancy", "it is called limited-discrepancy now"),
    ("weights", "weighting", "it is called weighting now"),
    ("construct", "portfolio", "it is gone, as it found nothing that others missed: the portfolio runs"),
];

/// Returns a name and its meaning for clap.
pub fn possible_value(name: &'static str, words: &Words) -> PossibleValue {
    let about = words.iter().find(|(known, _)| *known == name).map(|(_, about)| *about);
    about.into_iter().fold(PossibleValue::new(name), PossibleValue::help)
}

#[cfg(test)]
#[path = "help_tests.rs"]
mod tests;
