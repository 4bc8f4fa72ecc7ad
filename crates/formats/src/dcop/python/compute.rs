//! Evaluation of expressions.

use super::{Comparison, Expr, Function, Kind, Operator, Value};
use crate::text::{Wrong, quote};

impl<'a> Value<'a> {
    pub(super) fn is_true(self) -> bool {
        match self {
            Value::Number(number) => number != 0.0,
            Value::Truth(truth) => truth,
            Value::Text(text) => !text.is_empty(),
        }
    }

    fn number(self) -> Option<f64> {
        match self {
            Value::Number(number) => Some(number),
            Value::Truth(truth) => Some(f64::from(u8::from(truth))),
            Value::Text(_) => None,
        }
    }

    fn shown(self) -> String {
        match self {
            Value::Number(number) => number.to_string(),
            Value::Truth(truth) => if truth { "True" } else { "False" }.into(),
            Value::Text(text) => quote(text),
        }
    }
}

/// The values of names during an evaluation.
pub(super) struct Values<'a, 'v> {
    /// Returns the value of a variable by its index.
    pub of: &'v dyn Fn(u32) -> Value<'a>,
    /// The values of local names by index; `None` before the first assignment.
    pub locals: Vec<Option<Value<'a>>>,
}

impl<'a> Expr<'a> {
    /// Returns an error about a failed evaluation, with its result `found`.
    pub fn fails(&self, found: impl Into<String>) -> Wrong {
        Wrong::new(self.at.clone(), "an expression that can be computed for all values").found(found)
    }

    pub fn number(&self, values: &Values<'a, '_>) -> Result<f64, Wrong> {
        let found = self.value(values)?;
        found.number().ok_or_else(|| Wrong::new(self.at.clone(), "a number").found(found.shown()))
    }

    pub fn value(&self, values: &Values<'a, '_>) -> Result<Value<'a>, Wrong> {
        Ok(match &self.kind {
            &Kind::Value(constant) => constant,
            &Kind::Variable(variable) => (values.of)(variable),
            &Kind::Local(local) => values.locals[local]
                .ok_or_else(|| Wrong::new(self.at.clone(), "a name that is assigned before, whatever the values"))?,
            Kind::Minus(inner) => Value::Number(-inner.number(values)?),
            Kind::Plus(inner) => Value::Number(inner.number(values)?),
            Kind::Not(inner) => Value::Truth(!inner.value(values)?.is_true()),
            Kind::And(all) => self.first(all, false, values)?,
            Kind::Or(all) => self.first(all, true, values)?,
            Kind::If(parts) => parts[if parts[1].value(values)?.is_true() { 0 } else { 2 }].value(values)?,
            Kind::Arithmetic(first, others) => {
                let mut left = first.number(values)?;
                for (operator, other) in others {
                    left = self.arithmetic(*operator, left, other.number(values)?)?;
                }
                Value::Number(left)
            }
            Kind::Compared(first, others) => {
                let mut left = first.value(values)?;
                for (comparison, other) in others {
                    let right = other.value(values)?;
                    if !self.holds(*comparison, left, right)? {
                        return Ok(Value::Truth(false));
                    }
                    left = right;
                }
                Value::Truth(true)
            }
            Kind::Call(function, arguments) => Value::Number(self.call(*function, arguments, values)?),
        })
    }

    /// Returns the first of several values whose truth is `wanted`; the last one if there is none.
    fn first(&self, all: &[Expr<'a>], wanted: bool, values: &Values<'a, '_>) -> Result<Value<'a>, Wrong> {
        let mut found = Value::Truth(!wanted);
        for one in all {
            found = one.value(values)?;
            if found.is_true() == wanted {
                break;
            }
        }
        Ok(found)
    }

    fn arithmetic(&self, operator: Operator, x: f64, y: f64) -> Result<f64, Wrong> {
        let divides = matches!(operator, Operator::Divide | Operator::Floor | Operator::Modulo);
        if y == 0.0 && divides || operator == Operator::Power && x == 0.0 && y < 0.0 {
            return Err(self.fails("a division by 0"));
        }
        let modulo = || {
            let rest = x % y;
            if rest != 0.0 && (rest < 0.0) != (y < 0.0) { rest + y } else { rest }
        };
        let result = match operator {
            Operator::Add => x + y,
            Operator::Subtract => x - y,
            Operator::Multiply => x * y,
            Operator::Divide => x / y,
            Operator::Floor if x.is_finite() && y.is_finite() => ((x - modulo()) / y).round_ties_even(),
            Operator::Floor => (x / y).floor(),
            Operator::Modulo => modulo(),
            Operator::Power => x.powf(y),
        };
        if result.is_nan() {
            return Err(self.fails("not a number"));
        }
        if result.is_infinite() && x.is_finite() && y.is_finite() {
            return Err(self.fails("a number above 1.8e308"));
        }
        Ok(result)
    }

    fn holds(&self, comparison: Comparison, x: Value<'a>, y: Value<'a>) -> Result<bool, Wrong> {
        let order = match (x, y) {
            (Value::Text(x), Value::Text(y)) => Some(x.cmp(y)),
            _ => match (x.number(), y.number()) {
                (Some(x), Some(y)) => x.partial_cmp(&y),
                _ => match comparison {
                    Comparison::Equal => return Ok(false),
                    Comparison::Differ => return Ok(true),
                    _ => {
                        let found = format!("{} beside {}", x.shown(), y.shown());
                        return Err(Wrong::new(self.at.clone(), "two numbers or two texts").found(found));
                    }
                },
            },
        };
        Ok(match comparison {
            Comparison::Less => order.is_some_and(|order| order.is_lt()),
            Comparison::AtMost => order.is_some_and(|order| order.is_le()),
            Comparison::Greater => order.is_some_and(|order| order.is_gt()),
            Comparison::AtLeast => order.is_some_and(|order| order.is_ge()),
            Comparison::Equal => order.is_some_and(|order| order.is_eq()),
            Comparison::Differ => order.is_none_or(|order| order.is_ne()),
        })
    }

    fn call(&self, function: Function, arguments: &[Expr<'a>], values: &Values<'a, '_>) -> Result<f64, Wrong> {
        let first = &arguments[0];
        if let (Function::Float | Function::Int, Value::Text(text)) = (function, first.value(values)?) {
            let whole = |number: &f64| function == Function::Float || number.fract() == 0.0;
            let number = text.trim().parse::<f64>().ok().filter(whole);
            return number.ok_or_else(|| Wrong::new(first.at.clone(), "the text of a number").found(quote(text)));
        }
        let x = first.number(values)?;
        let second = arguments.get(1).map(|second| second.number(values)).transpose()?;
        let result = match function {
            Function::Abs => x.abs(),
            Function::Round => rounded(x, second.unwrap_or(0.0)),
            Function::Min | Function::Max => {
                let mut best = x;
                for other in &arguments[1..] {
                    let y = other.number(values)?;
                    if if function == Function::Min { y < best } else { y > best } {
                        best = y;
                    }
                }
                best
            }
            Function::Int => x.trunc(),
            Function::Float => x,
            Function::Sqrt => x.sqrt(),
            Function::Floor => x.floor(),
            Function::Ceil => x.ceil(),
            Function::Exp => x.exp(),
            Function::Log if x <= 0.0 => return Err(self.fails(format!("the logarithm of {x}"))),
            Function::Log => second.map_or(x.ln(), |base| x.ln() / base.ln()),
        };
        if result.is_nan() {
            return Err(self.fails("not a number"));
        }
        if result.is_infinite() && x.is_finite() {
            return Err(self.fails("a number above 1.8e308"));
        }
        Ok(result)
    }
}

/// Rounds to `decimals` decimal digits, halves to even.
fn rounded(x: f64, decimals: f64) -> f64 {
    if decimals <= 0.0 || !x.is_finite() {
        let scale = 10f64.powf(-decimals.trunc());
        return (x / scale).round_ties_even() * scale;
    }
    // formatting rounds the exact value, and not a rounded product
    format!("{x:.*}", decimals.min(400.0) as usize).parse().unwrap_or(x)
}
