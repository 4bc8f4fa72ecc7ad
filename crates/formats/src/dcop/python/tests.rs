use super::*;

/// Evaluates a text with x = 3, y = -2, s = "R".
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

/// Expressions have the values that Python 3 computes.
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

/// Function bodies have the values that Python 3 computes.
#[test]
fn statements_are_pythons() {
    for (text, expected) in [
        ("return x", 3.0),
        ("  if x > 2:\n    return 1\n  return 2\n", 1.0),
        ("if x > 5: return 1\nelif x > 2: return 2\nelse: return 3", 2.0),
        ("if x > 5:\n return 1\nelse:\n  if y > 0:\n    return 2\n  return 4 # the end\n# nothing", 4.0),
        ("a = x\na += 2\na *= y\n\nreturn a - 1", -11.0),
        ("if y > 0:\n    x = 7\nx -= 1\nreturn x", 2.0),
        ("if x:\n\tpass\nelse:\n\ta = 1\nimport math\nreturn (math.floor(2.5) +\n1)", 3.0),
        ("if s == '#':\n  a = ':'\nelse:\n  a = 'b'\nreturn a == 'b'", 1.0),
        ("returned = 3\nreturn returned", 3.0),
    ] {
        let found = number(text).unwrap_or_else(|wrong| panic!("{text}: {wrong:?}"));
        assert!(found == expected, "{text}: {found}, not {expected}");
    }
    for (text, at, part) in [
        ("if x > 5:\n  return 1", 0, "a `return` for all values"),
        ("if y > 5:\n  a = 1\nreturn a", 25, "a name that is assigned before"),
        ("return a", 7, "a variable"),
        ("a += 1\nreturn a", 0, "a name that is assigned before"),
        ("for i in x:\n  return 1", 0, "an assignment"),
        ("if x:\nreturn 1", 5, "a block of deeper lines"),
        ("a = 1\n  return a", 8, "the indentation of those before"),
        ("return 1 2", 9, "the end of the line"),
        ("else: return 1", 0, "an assignment"),
        ("if x return 1", 5, "`:`"),
        ("x // 2\nreturn 1", 0, "an assignment"),
    ] {
        let wrong = number(text).expect_err(text);
        assert!(wrong.at.start == at && wrong.expected.contains(part), "{text}: {wrong:?}");
    }
    let deep: String = (0..1000).map(|k| format!("{}if x:\n", " ".repeat(k))).collect();
    assert!(number(&format!("{deep}{}return 1", " ".repeat(1000))).expect_err("too deep").expected.contains("levels"));
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
        ("lambda: 1", 0, "a variable"),
        ("x if", 4, "a number, a name"),
        ("float('a')", 6, "the text of a number"),
    ] {
        let wrong = number(text).expect_err(text);
        assert!(wrong.at.start == at && wrong.expected.contains(part), "{text}: {wrong:?}");
    }
    for deep in ["(".repeat(1000), "-".repeat(1000), "not ".repeat(1000), "1**".repeat(1000)] {
        assert!(number(&deep).expect_err("too deep").expected.contains("levels"), "{deep}");
    }
    // long chains are not nested
    assert_eq!(number(&format!("0{}", "+1".repeat(90_000))), Ok(90_000.0));
}
