use super::*;
use crate::model::Variable;

/// Rain, sprinkler and wet grass, and a fourth variable that is independent of them.
fn garden() -> Potentials {
    let mut garden = Potentials::new("garden");
    for domain in [2, 2, 2, 3] {
        let _ = garden.variable(Variable { domain, name: None, values: None }).expect("it has values");
    }
    for (scope, table) in [
        (&[0u32][..], &[0.75, 0.25][..]),
        (&[0, 1], &[0.5, 0.5, 0.875, 0.125]),
        (&[0, 1, 2], &[1.0, 0.0, 0.25, 0.75, 0.25, 0.75, 0.0, 1.0]),
        (&[3], &[0.5, 0.25, 0.25]),
    ] {
        garden.function(scope, table).expect("it fits");
    }
    garden
}

/// The evidence is wet grass; by hand: 0.75 * 0.5 * 0.75 + 0.25 * (0.875 * 0.75 + 0.125) = 0.4765625.
fn right() -> MarginalsClaim {
    let rain = 0.1953125 / 0.4765625;
    let sprinkler = (0.28125 + 0.03125) / 0.4765625;
    MarginalsClaim {
        values: vec![(2, 1)],
        weights: vec![],
        ln_z: Some(0.4765625f64.ln()),
        at_least: false,
        error_bound: 1e-15,
        posteriors: vec![
            (0, vec![1.0 - rain, rain]),
            (1, vec![1.0 - sprinkler, sprinkler]),
            (2, vec![0.0, 1.0]),
            (3, vec![0.5, 0.25, 0.25]),
        ],
        posterior_error: 1e-15,
    }
}

#[test]
fn right_claims_hold() {
    let found = check_marginals(&garden(), &right(), &Stop::new()).expect("it is right");
    assert!(found.posteriors == 4 && found.off < 1e-15 && found.posteriors_off < 1e-15);
    let soft = MarginalsClaim { values: vec![], weights: vec![(2, vec![0.0, 1.0])], ..right() };
    let _ = check_marginals(&garden(), &soft, &Stop::new()).expect("it is right");
    for values in [vec![(0, 0), (1, 0), (2, 1)], vec![(2, 0), (2, 1)]] {
        let impossible = MarginalsClaim { values, ln_z: None, posteriors: vec![], ..right() };
        let found = check_marginals(&garden(), &impossible, &Stop::new()).expect("it is right");
        assert_eq!(found.ln_z, f64::NEG_INFINITY);
    }
}

#[test]
fn a_sum_may_be_larger_than_what_it_is_said_to_be_at_least() {
    let claimed = |ln_z: f64| MarginalsClaim { ln_z: Some(ln_z), at_least: true, ..right() };
    for below in [0.0, 0.1, 3.0] {
        let claim = claimed(0.4765625f64.ln() - below);
        assert_eq!(check_marginals(&garden(), &claim, &Stop::new()).expect("it is right").off, 0.0);
    }
    for wrong in [0.477f64.ln(), f64::INFINITY, f64::NAN] {
        let refused = check_marginals(&garden(), &claimed(wrong), &Stop::new()).expect_err("it is wrong");
        assert!(matches!(refused, Error::Refused(_)), "{refused}");
    }
}

#[test]
fn wrong_claims_are_refused() {
    let changed = |change: &dyn Fn(&mut MarginalsClaim)| {
        let mut claim = right();
        change(&mut claim);
        check_marginals(&garden(), &claim, &Stop::new())
    };
    type Change<'a> = &'a dyn Fn(&mut MarginalsClaim);
    let wrong: [(&str, Change<'_>); 12] = [
        ("another sum", &|claim| claim.ln_z = Some(0.4765624f64.ln())),
        ("no sum", &|claim| claim.ln_z = Some(f64::NAN)),
        ("a sum of 0", &|claim| claim.ln_z = None),
        ("other evidence", &|claim| claim.values = vec![(2, 0)]),
        ("no evidence", &|claim| claim.values = vec![]),
        ("a value too much", &|claim| claim.values = vec![(2, 2)]),
        ("other weights", &|claim| claim.weights = vec![(3, vec![1.0, 0.5, 1.0])]),
        ("a posterior off", &|claim| claim.posteriors[0].1[0] += 1e-13),
        ("values exchanged", &|claim| claim.posteriors[1].1.swap(0, 1)),
        ("variables exchanged", &|claim| claim.posteriors[0].0 = 1),
        ("too few values", &|claim| claim.posteriors[3].1.truncate(2)),
        ("no number", &|claim| claim.posteriors[3].1[2] = f64::NAN),
    ];
    for (name, change) in wrong {
        let error = changed(change).expect_err(name);
        assert!(matches!(error, Error::Refused(_)), "{name}: {error}");
    }
}
