//! Tests of certificates of branch and bound against enumeration.

use super::tests::{follow, random, solved};
use crate::bounds::Proof;
use crate::bounds::{Begin, Branch, Search, Style};
use crate::certificate::{Certificate, Ending};
use crate::files::sealed;
use crate::model::{Cost, FORBIDDEN, Network};
use crate::order::{Method, best_orders};
use crate::reduce::Reducer;
use crate::rng::Rng;
use crate::stop::Stop;
use fangs_elimination::elimination::Progress;
use std::sync::Arc;

/// Returns a random network, the certificate of a search that may have ended early, and the optimum.
fn search(rng: &mut Rng) -> Option<(Network, Certificate, Cost)> {
    let stop = Stop::new();
    let network = random(rng);
    let (solutions, optimum) = solved(&network);
    let reducer = Arc::new(Reducer::logged(&network, rng.below(4) == 0, &stop).expect("the flag is not set"));
    let problem = Arc::new(reducer.problem(&Stop::new()).expect("no stop is set"));
    if reducer.infeasible() || problem.variables() == 0 {
        return None;
    }
    let order = best_orders(&problem, &[Method::MinFill], 1, 1, 1, &stop).remove(0);
    let known = solutions.get(rng.index(2 * solutions.len() + 1)).map(|(cost, _)| *cost);
    let style = Style::ALL[rng.index(2)];
    let begin = Begin { problem: &problem, ub: known, order: &order, memory: 1 << 30, journal: true, network: None };
    let mut branch = Branch::new(begin, style, &stop)?.leaves(4.0);
    while branch.advance(1 + rng.below(2000), &stop) == Progress::More && rng.below(6) > 0 {}
    let bound = branch.lower_bound().min(network.top());
    let solution = solutions.first().map(|(cost, values)| (*cost, &values[..]));
    let certificate = branch.proof(&reducer).expect("log and forks").certificate(&network, bound, solution);
    Some((network, certificate, optimum))
}

fn forks(certificate: &Certificate) -> usize {
    match &certificate.proof.ending {
        Ending::Search(search) => search.forks.len(),
        _ => panic!("no search"),
    }
}

#[test]
fn searches_are_followed_and_never_pass_the_optimum() {
    let mut rng = Rng::new(51);
    let (mut branched, mut optimal) = (0, 0);
    for case in 0..5000 {
        let Some((network, certificate, optimum)) = search(&mut rng) else { continue };
        branched += usize::from(forks(&certificate) > 2);
        optimal += usize::from(certificate.bound == optimum);
        match follow(&network, &certificate) {
            Ok(proven) => assert!(proven >= certificate.bound && proven <= optimum, "case {case}: {proven} {optimum}"),
            Err(error) => panic!("case {case}: {error}\n{}", certificate.to_text().expect("text")),
        }
    }
    assert!(branched > 200 && optimal > 1000, "{branched} {optimal}");
}

#[test]
fn no_wrong_fork_proves_anything_wrong() {
    let mut rng = Rng::new(52);
    let (mut changed, mut accepted) = (0, 0);
    for case in 0..900 {
        let Some((network, certificate, optimum)) = search(&mut rng) else { continue };
        let text = certificate.to_text().expect("text");
        let body = text.lines().next().expect("a first line");
        let begin = body.find("\"proof\"").expect("a proof");
        for (place, digit) in body.char_indices().skip(begin).filter(|(_, character)| character.is_ascii_digit()) {
            let other = char::from(b'0' + (digit as u8 - b'0' + 1 + rng.below(9) as u8) % 10);
            let body = format!("{}{other}{}", &body[..place], &body[place + 1..]);
            let Ok(certificate) = Certificate::from_text(&sealed(&body)) else { continue };
            changed += 1;
            if follow(&network, &certificate).is_ok() {
                assert!(certificate.bound <= optimum, "case {case}: {} above {optimum}: {body}", certificate.bound);
                accepted += 1;
            }
        }
    }
    assert!(changed > 5000 && accepted > 1000, "{changed} {accepted}");
}

#[test]
fn a_search_proves_no_more_than_there_is_and_keeps_to_what_it_states() {
    let mut rng = Rng::new(53);
    let (mut above, mut starved) = (0, 0);
    for case in 0..1000 {
        let Some((network, mut certificate, optimum)) = search(&mut rng) else { continue };
        if let Ending::Search(search) = &mut certificate.proof.ending {
            search.work = rng.below(20);
        }
        if let Err(error) = follow(&network, &certificate) {
            assert!(error.to_string().contains("more work"), "case {case}: {error}");
            starved += 1;
        }
        if optimum < network.top().min(FORBIDDEN) {
            let proof = Proof::default();
            let mut claim = proof.certificate(&network, optimum + 1, None);
            claim.proof = certificate.proof.clone();
            for step in &mut claim.proof.steps {
                if let crate::certificate::Step::Limit(limit) = step {
                    *limit = (*limit).max(optimum + 1);
                }
            }
            if let Ending::Search(search) = &mut claim.proof.ending {
                search.work = u64::MAX / 2;
            }
            let error = follow(&network, &claim).expect_err("above the optimum").to_string();
            assert!(error.contains("less than") || error.contains("large"), "case {case}: {error}");
            above += 1;
        }
    }
    assert!(above > 300 && starved > 100, "{above} {starved}");
}

/// The certificate decides how deep a search goes: each entry fixes a variable, and no stack may overflow.
#[test]
fn searches_may_go_as_deep_as_there_are_variables() {
    const DEPTH: u32 = 600;
    let mut builder = Network::builder("deep");
    for _ in 0..DEPTH {
        let v = builder.variable(2).expect("a variable");
        let _ = builder.dense(&[v], vec![1, 1]).expect("costs");
    }
    let network = builder.build();
    let forks = (0..DEPTH).map(|v| (v, v.saturating_sub(1), 0)).collect();
    let mut certificate = Proof::default().certificate(&network, Cost::from(DEPTH), None);
    certificate.proof.ending =
        Ending::Search(crate::certificate::Search { work: 1 << 40, bytes: 1 << 28, mini: 0, forks });
    let deep = std::thread::Builder::new().stack_size(1 << 17).spawn(move || follow(&network, &certificate));
    let proven = deep.expect("a thread").join().expect("no panic").expect("a proof");
    assert_eq!(proven, Cost::from(DEPTH));
}

#[test]
fn cases_within_cases_are_no_deeper_than_json_goes() {
    let network = Network::builder("n").build();
    let whole = Proof::default().certificate(&network, 0, None).to_text().expect("text");
    let body = whole.lines().next().expect("a line");
    let ending = body.find("\"ending\":\"constant\"").expect("an ending");
    let (begin, end) = ("\"ending\":{\"cases\":{\"variable\":0,\"cases\":[[[0],{\"steps\":[],", "}]]}}");
    for depth in [1, 100_000] {
        let (before, after) = body.split_at(ending);
        let (inner, rest) = after.split_at("\"ending\":\"constant\"".len());
        let nested = format!("{before}{}{inner}{}{rest}", begin.repeat(depth), end.repeat(depth));
        assert_eq!(Certificate::from_text(&sealed(&nested)).is_ok(), depth == 1, "{depth}");
    }
}
