use super::*;

/// The number that a text is, with x = 3, y = -2, s = "R".
fn number(text: &str) -> Result<f64, Wrong> {
    let meaning = |name: &str| match name {
        "x" => Some(Meaning::Variable(0)),
        "y" => Some(Meaning::Variable(1)),
        "s" => Some(Meaning::Fixed(Value::Text("R"))),
        _ => None,
    };
    let all = ["x".into(), "y".into(), "s".into()];
    parse(text, &meaning, &all)?.number(&|variable| Value::Number([3.0, -2.0][variable as usize]))
}

/// Each as Python 3 computes it.
#[test]
fn numbers_are_pythons() {
    for (text, expected) in [
        ("1 + 2 * 3", 7.0),
        ("(1 + 2) * 3", 9.0),
        ("2 ** 3 ** 2", 512.0),
        ("-2 ** 2", -4.0),
        ("2 ** -1", 0.5),
        ("--x", 3.0),
        ("+x - -y", 1.0),
        ("7 // 2", 3.0),
        ("-7 // 2", -4.0),
        ("7 // -2", -4.0),
        ("-7 % 3", 2.0),
        ("7 % -3", -2.0),
        ("7.5 % 2", 1.5),
        ("7 / 2", 3.5),
        ("round(0.5) + round(1.5) + round(2.5)", 4.0),
        ("round(-0.5)", 0.0),
        ("round(2.675, 2)", 2.67),
        ("round(125, -1)", 120.0),
        ("0 if x == round(0.7 * 3 + 0.5 * 1 + 0.3 * 3) else 1000", 0.0),
        ("10 * (abs(x - 3) + abs(y -3))", 50.0),
        ("1 < x < 4", 1.0),
        ("1 < x < 3", 0.0),
        ("1 < 2 == 2", 1.0),
        ("not x == 3 or y == -2", 1.0),
        ("x and y", -2.0),
        ("0 or x", 3.0),
        ("1 if x > 5 else 2 if x > 2 else 3", 2.0),
        ("s == 'R'", 1.0),
        ("s == \"G\"", 0.0),
        ("s == 1", 0.0),
        ("s != 1", 1.0),
        ("'a' < 'b'", 1.0),
        ("True + True", 2.0),
        ("min(x, y, 0) + max(x, y)", 1.0),
        ("int(-2.7) + float(3)", 1.0),
        ("float('inf')", f64::INFINITY),
        ("-math.inf", f64::NEG_INFINITY),
        ("math.sqrt(16) + math.floor(-0.5) + math.ceil(0.2)", 4.0),
        ("math.log(math.exp(2))", 2.0),
        ("math.log(8, 2)", 3.0),
        ("1e3 + .5 + 1_000", 2000.5),
        ("x if x else 1 / 0", 3.0),
    ] {
        let found = number(text).unwrap_or_else(|wrong| panic!("{text}: {wrong:?}"));
        assert!(found == expected, "{text}: {found}, not {expected}");
    }
}

/// Each as Python 3 computes it, x = 3 and y = -2.
#[test]
fn lines_are_pythons() {
    for (text, expected) in [
        ("return x + y", 1.0),
        ("if x == y:\n  return 10\nreturn 0\n", 0.0),
        ("if x > y: return 10\nelse: return 0", 10.0),
        ("cost = 0\nif x > 2:\n    cost += 5\nelif x > 1:\n    cost = 7\ncost *= 2\nreturn cost - 1", 9.0),
        ("x = x + 1\nif y < 0:\n  y = 10\nreturn x * y", 40.0),
        ("if y < -5:\n  x = 10\nreturn x", 3.0),
        ("a = (x +\n  y)\n# the sum\nreturn a  # or so", 1.0),
        ("if x < 0:\n  if y < 0:\n    z = 1\n  else:\n    z = 2\nelse:\n  z = 3\nreturn z", 3.0),
        ("if s == 'R: return':\n  pass\nelif s == 'R':\n  return True\nreturn 0", 1.0),
        ("if x < 0:\n  return 1\nelse:\n  w = 4\nreturn w", 4.0),
    ] {
        let found = number(text).unwrap_or_else(|wrong| panic!("{text}: {wrong:?}"));
        assert!(found == expected, "{text}: {found}, not {expected}");
    }
    for (text, at, part) in [
        ("for i in x:\n  return 1", 0, "a value for a name, `if`"),
        ("if x > 5: return 1", 0, "returns a number for all values"),
        ("if x:\nreturn 1", 5, "lines with a deeper indentation"),
        ("a = 1\n  return a", 8, "the indentation of the line before it"),
        ("  a = 1\nreturn a", 8, "the indentation of the first line"),
        ("if x > 1:\n  z = 2\nreturn z", 25, "a variable, a function or a number"),
        ("if x\n  return 2", 4, "`:`"),
        ("a = x +\nreturn a", 7, "a number, a name"),
        ("import os\nreturn 1", 0, "a value for a name"),
        ("a == 1\nreturn a", 0, "a value for a name"),
        ("return math.inf - math.inf", 7, "that can be computed"),
    ] {
        let wrong = number(text).expect_err(text);
        assert!(wrong.at.start == at && wrong.expected.contains(part), "{text}: {wrong:?}");
    }
    let deep: String = (0..1000).map(|depth| format!("{}if x:\n", " ".repeat(depth))).collect();
    assert!(number(&format!("{deep}{}return 1", " ".repeat(1000))).is_err());
}

#[test]
fn what_is_not_read_is_told_with_its_place() {
    for (text, at, part) in [
        ("", 0, "a number, a name"),
        ("1 +", 3, "a number, a name"),
        ("1 = 2", 2, "an operator"),
        ("(1", 2, "`)`"),
        ("z + 1", 0, "a variable"),
        ("x.y", 0, "a variable"),
        ("sum(x, y)", 0, "one of the functions"),
        ("__import__('os')", 0, "one of the functions"),
        ("[x]", 0, "a number, a name"),
        ("x & y", 2, "a number, a name"),
        ("'a", 0, "a text that ends"),
        ("'a\\n' == s", 0, "without `\\`"),
        ("1 / (x - 3)", 0, "that can be computed"),
        ("0 ** -1", 0, "that can be computed"),
        ("math.log(0)", 0, "that can be computed"),
        ("math.sqrt(y)", 0, "that can be computed"),
        ("2 ** 5000", 0, "that can be computed"),
        ("math.inf - math.inf", 0, "that can be computed"),
        ("s + 1", 0, "a number"),
        ("s < 1", 0, "two numbers or two texts"),
        ("min(x)", 0, "at least 2 arguments"),
        ("1 if x", 6, "`else`"),
        ("lambda: 1", 6, "a number, a name"),
        ("x if", 4, "a number, a name"),
        ("float('a')", 6, "the text of a number"),
    ] {
        let wrong = number(text).expect_err(text);
        assert!(wrong.at.start == at && wrong.expected.contains(part), "{text}: {wrong:?}");
    }
    for deep in ["(".repeat(1000), "-".repeat(1000), "not ".repeat(1000), "1**".repeat(1000)] {
        assert!(number(&deep).expect_err("too deep").expected.contains("levels"), "{deep}");
    }
    // long chains are not deep
    assert_eq!(number(&format!("0{}", "+1".repeat(90_000))), Ok(90_000.0));
}
