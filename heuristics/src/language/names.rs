//! The names that expressions have besides inputs and those of the file.

/// The expressions that a file may have.
pub(super) const EXPRESSIONS: [&str; 5] = ["active", "allowed", "rating", "weight", "largest"];

/// The names of constants, with their values.
pub const CONSTANTS: [(&str, f64); 3] = [("true", 1.0), ("false", 0.0), ("inf", f64::INFINITY)];

/// A function that expressions may call.
#[derive(Clone, Copy, Debug)]
pub struct Function {
    /// The name.
    pub name: &'static str,
    /// The form of a call.
    pub call: &'static str,
    /// A description in one line.
    pub about: &'static str,
    /// The smallest and the largest number of arguments.
    pub(super) arguments: (usize, usize),
}

const fn function(name: &'static str, call: &'static str, least: usize, most: usize, about: &'static str) -> Function {
    Function { name, call, about, arguments: (least, most) }
}

/// All functions.
pub const FUNCTIONS: [Function; 11] = [
    function("abs", "abs(x)", 1, 1, "x without its sign"),
    function("floor", "floor(x)", 1, 1, "the next integer below"),
    function("sqrt", "sqrt(x)", 1, 1, "square root; no number where x < 0"),
    function("exp", "exp(x)", 1, 1, "e to the power of x; 0 where x < -708, infinite where x > 709"),
    function("log", "log(x)", 1, 1, "natural logarithm; minus infinity of 0, no number where x < 0"),
    function("clamp", "clamp(x, low, high)", 3, 3, "x, but at least low and at most high"),
    function("if", "if(condition, x, y)", 3, 3, "x where the condition holds, else y"),
    function("min", "min(x), min(x, y, ...)", 1, usize::MAX, "the least value of one column, or the least of several"),
    function("max", "max(x), max(x, y, ...)", 1, usize::MAX, "the largest value of one column, or of several numbers"),
    function("count", "count(condition)", 1, 1, "for how many values the condition holds"),
    function("best", "best(x)", 1, 1, "the least of the values that `allowed` allows; infinite where it allows none"),
];
