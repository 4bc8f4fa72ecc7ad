//! Tests of cost shifting against enumeration, and of its waves against a sequence of visits.

use super::amounts::Amounts;
use super::*;
use crate::bounds::tuning::cost_shifting::SHARED;
use crate::rng::Rng;
use fangs_testing::problems::random;
use rayon::ThreadPoolBuilder;

/// Returns all assignments, the last variable running fastest.
fn assignments(problem: &Problem) -> Vec<Vec<u32>> {
    let mut all = vec![vec![]];
    for &domain in &problem.domains {
        all = all.into_iter().flat_map(|head| (0..domain).map(move |v| [&head[..], &[v]].concat())).collect();
    }
    all
}

#[test]
fn shifting_keeps_every_cost_and_bounds_never_fall_nor_pass_the_optimum() {
    let mut rng = Rng::new(7);
    let stop = Stop::new();
    let mut positive = 0;
    for case in 0..2000 {
        let mut problem = random(&mut rng, 4);
        let all = assignments(&problem);
        let optimum = all.iter().map(|values| problem.cost(values)).min().expect("an assignment");
        if case % 3 == 0 {
            // as with an incumbent: solutions from this cost on are not wanted
            problem.top = problem.top.min(optimum.saturating_add(rng.below(20) as Cost)).max(1);
        }
        let limit = problem.top;
        let problem = Arc::new(problem);
        let mut order: Vec<u32> = (0..problem.variables() as u32).collect();
        rng.shuffle(&mut order);
        let mut shift = Shift::new(&problem, None, &order, &Stop::new()).expect("small costs");
        let mut before = Cost::MIN;
        loop {
            let progress = shift.advance(1 + rng.below(50), &stop);
            let bound = shift.lower_bound(limit);
            assert!(bound >= before && bound <= optimum.min(limit), "case {case}: {before} {bound} {optimum} {limit}");
            before = bound;
            if progress == Progress::Done {
                break;
            }
        }
        positive += u32::from(before > problem.constant);
        let bounds = shift.value_bounds(&Stop::new()).expect("no stop is set");
        let shifted = shift.problem(&Stop::new()).expect("no stop is set");
        assert!(shifted.functions.iter().all(|f| f.min(&shifted.domains) >= 0), "case {case}");
        assert!(shifted.unary.iter().flatten().all(|&cost| cost >= 0), "case {case}");
        for values in &all {
            let (ours, theirs) = (problem.cost(values), shifted.cost(values));
            if ours < limit && ours < FORBIDDEN {
                assert!(
                    bounds.iter().zip(values).all(|(bounds, &value)| bounds[value as usize] <= ours),
                    "case {case}"
                );
                assert_eq!(theirs, shift.scaled(ours), "case {case}: {values:?}");
            } else {
                assert!(theirs >= shift.scaled(limit), "case {case}: {values:?}: {theirs}");
            }
        }
    }
    assert!(positive > 1000, "{positive}");
}

/// Returns the unary costs of each variable.
fn unary(shift: &Shift) -> Vec<Vec<Cost>> {
    (0..shift.layout.variables() as u32).map(|v| shift.costs.unary.part(shift.layout.values(v))).collect()
}

/// A plain implementation that moves costs from table to table.
struct Plain {
    /// Entries of each function; `None` for functions that are not written out.
    tables: Vec<Option<Vec<Cost>>>,
    unary: Vec<Vec<Cost>>,
    constant: Cost,
    place: Vec<usize>,
}

impl Plain {
    fn new(shift: &Shift, order: &[u32]) -> Plain {
        let entries = |function: u32| shift.layout.address(function).map(|_| shift.all(function).collect());
        let mut place = vec![0; order.len()];
        order.iter().enumerate().for_each(|(at, &v)| place[v as usize] = at);
        Plain {
            tables: (0..shift.layout.functions() as u32).map(entries).collect(),
            unary: unary(shift),
            constant: shift.here.constant,
            place,
        }
    }

    /// Returns the indices of a function's entries with one value of a variable.
    fn row<'a>(problem: &'a Problem, function: usize, v: u32, value: usize) -> impl Iterator<Item = usize> + 'a {
        let scope = &problem.functions[function].scope;
        let mut digits = Odometer::new(scope.iter().map(|&v| problem.domains[v as usize] as usize).collect());
        let at = scope.iter().position(|&u| u == v).expect("it is there");
        let size = problem.functions[function].combinations(&problem.domains) as usize;
        (0..size).filter(move |_| {
            let has = digits.digits[at] == value;
            let _ = digits.advance();
            has
        })
    }

    fn visit(&mut self, problem: &Problem, v: u32, forward: bool, limit: Cost) {
        let own: Vec<usize> = (0..self.tables.len())
            .filter(|&f| self.tables[f].is_some() && problem.functions[f].scope.contains(&v))
            .collect();
        let place = &self.place;
        let onward = |f: usize, forward: bool| {
            let other = |&u: &u32| {
                if forward { place[u as usize] > place[v as usize] } else { place[u as usize] < place[v as usize] }
            };
            problem.functions[f].scope.iter().any(other)
        };
        let values = 0..self.unary[v as usize].len();
        let sum = &mut self.unary[v as usize];
        for &f in &own {
            let table = self.tables[f].as_mut().expect("it is written out");
            for value in values.clone() {
                let row: Vec<usize> = Plain::row(problem, f, v, value).collect();
                let least = row.iter().map(|&at| table[at]).min().expect("an entry");
                if least.max(sum[value]) >= NEVER / 2 {
                    sum[value] = NEVER;
                } else {
                    sum[value] += least;
                    row.iter().for_each(|&at| table[at] -= if table[at] < NEVER / 2 { least } else { 0 });
                }
            }
        }
        let lowest = sum.iter().copied().min().expect("a value");
        let parts = [true, false].map(|forward| own.iter().filter(|&&f| onward(f, forward)).count() as Cost);
        let parts = parts[0].max(parts[1]).max(1);
        for value in values {
            let rest = if sum[value] >= limit { NEVER } else { sum[value] - lowest };
            sum[value] = rest;
            for &f in own.iter().filter(|&&f| rest == NEVER || onward(f, forward)) {
                let table = self.tables[f].as_mut().expect("it is written out");
                for at in Plain::row(problem, f, v, value) {
                    table[at] = if rest == NEVER {
                        NEVER
                    } else {
                        table[at] + if table[at] < NEVER / 2 { rest / parts } else { 0 }
                    };
                }
                sum[value] -= if rest == NEVER { 0 } else { rest / parts };
            }
        }
        self.constant += lowest;
    }

    /// Compares all costs with those of a shift.
    fn is(&self, shift: &Shift) {
        assert_eq!(self.constant, shift.here.constant);
        let never = |cost: Cost| if cost >= NEVER / 2 { NEVER } else { cost };
        assert_eq!(unary(shift), self.unary);
        for (function, table) in (0..).zip(&self.tables) {
            let Some(table) = table else { continue };
            assert!(table.iter().copied().map(never).eq(shift.all(function).map(never)), "function {function}");
        }
    }
}

#[test]
fn waves_leave_what_the_sequence_leaves() {
    let mut rng = Rng::new(8);
    let stop = Stop::new();
    let (mut passes, mut deep, mut lost) = (0, 0, 0);
    for case in 0..1500 {
        let problem = Arc::new(random(&mut rng, 7));
        let mut order: Vec<u32> = (0..problem.variables() as u32).collect();
        rng.shuffle(&mut order);
        let mut shift = Shift::new(&problem, None, &order, &Stop::new()).expect("small costs");
        let limited = case % 2 == 0;
        if !limited {
            // no value reaches the limit, so only the order of visits counts
            shift.range = NEVER / 4;
        }
        let mut plain = Plain::new(&shift, &order);
        // waves by definition: the longest chain of shared functions
        let mut level = vec![0; order.len()];
        for (at, &v) in order.iter().enumerate() {
            let shares = |u: u32| {
                let mut own = problem.functions.iter().zip(&plain.tables);
                own.any(|(f, table)| table.is_some() && f.scope.contains(&u) && f.scope.contains(&v))
            };
            let before = order[..at].iter().filter(|&&u| shares(u)).map(|&u| level[u as usize] + 1);
            level[v as usize] = before.max().unwrap_or(0);
        }
        let waves = level.iter().max().map_or(0, |most| most + 1);
        assert_eq!(waves, shift.layout.waves.len());
        deep += usize::from(waves > 2);
        for pass in 0..6u32 {
            let forward = pass % 2 == 0;
            let mut visits = order.clone();
            if !forward {
                visits.reverse();
            }
            if limited {
                visits.sort_by_key(|&v| if forward { level[v as usize] } else { waves - level[v as usize] });
            }
            let mut wave = (usize::MAX, 0);
            let mut limit = shift.range - plain.constant;
            for &v in &visits {
                if limited && wave.0 != level[v as usize] {
                    (wave, limit) = ((level[v as usize], plain.constant), shift.range - plain.constant);
                }
                if plain.constant < shift.range {
                    plain.visit(&problem, v, forward, limit);
                }
            }
            while shift.here.passes == pass && !shift.infeasible {
                assert_eq!(
                    shift.advance(1, &stop),
                    if shift.here.done || shift.infeasible { Progress::Done } else { Progress::More }
                );
            }
            if plain.constant >= shift.range {
                assert!(shift.infeasible, "case {case}");
                break;
            }
            plain.is(&shift);
            passes += 1;
            lost += plain.unary.iter().flatten().filter(|&&cost| cost == NEVER).count();
            if shift.here.done {
                break;
            }
        }
    }
    assert!(passes > 2000 && deep > 500 && lost > 500, "{passes} {deep} {lost}");
}

/// Returns a problem whose waves are large enough for several threads.
fn wide(rng: &mut Rng, n: u32, domain: u32) -> Problem {
    let mut functions = Vec::new();
    for _ in 0..3 * n {
        let mut scope = vec![rng.below(u64::from(n)) as u32, rng.below(u64::from(n)) as u32];
        scope.sort_unstable();
        scope.dedup();
        let entry = |rng: &mut Rng| if rng.below(20) == 0 { FORBIDDEN } else { rng.below(1000) as Cost };
        if scope.len() == 2 {
            let costs = (0..domain * domain).map(|_| entry(rng)).collect();
            functions.push(CostFunction { scope: scope.into(), table: Table::dense(costs) });
        }
    }
    let unary = (0..n).map(|_| (0..domain).map(|_| rng.below(900) as Cost).collect()).collect();
    Problem { domains: vec![domain; n as usize], unary, functions, constant: 3, top: FORBIDDEN }
}

#[test]
fn threads_change_nothing() {
    let mut rng = Rng::new(9);
    let stop = Stop::new();
    let problem = wide(&mut rng, 100, 50);
    let order: Vec<u32> = (0..100).collect();
    let made = |problem: &Problem, threads: usize| {
        let pool = ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
        let mut shift = Shift::new(&Arc::new(problem.clone()), None, &order, &Stop::new()).expect("small costs");
        shift.keep_journal();
        assert!(shift.layout.waves.iter().any(|wave| wave.work >= SHARED));
        pool.install(|| while shift.advance(400_000, &stop) == Progress::More {});
        (shift.here.constant, shift.steps(), shift.work, shift.lower_bound(FORBIDDEN), shift.costs)
    };
    let unlimited = made(&problem, 1).3;
    let mut lost = 0;
    for limit in [FORBIDDEN, unlimited + 700, unlimited + 100, unlimited - 500] {
        let mut problem = problem.clone();
        problem.top = limit;
        let one = made(&problem, 1);
        let losses = one.1.iter().flatten().filter(|entry| matches!(entry, Step::TooDear { .. }));
        lost += losses.count();
        assert!([2, 4].into_iter().all(|threads| made(&problem, threads) == one), "{limit}");
    }
    assert!(lost > 10, "{lost}");
}

#[test]
fn the_width_of_amounts_changes_nothing() {
    let mut rng = Rng::new(10);
    let stop = Stop::new();
    let (mut kept, mut grown) = (0, 0);
    for case in 0..60 {
        let mut problem = wide(&mut rng, 20, 3);
        let times = |cost: Cost| if cost < FORBIDDEN { cost << (case % 30) } else { FORBIDDEN };
        for function in &mut problem.functions {
            function.table = Table::dense(function.table.costs().map(times).collect());
        }
        problem.unary.iter_mut().flatten().for_each(|cost| *cost = times(*cost));
        if case % 2 == 0 {
            problem.top = 3000 << (case % 30);
        }
        let (problem, order) = (Arc::new(problem), (0..20).collect::<Vec<u32>>());
        let [mut short, mut long] = [true, false].map(|short| {
            let mut shift = Shift::new(&problem, None, &order, &stop).expect("small costs");
            shift.costs = shift.layout.costs(short, &stop).expect("no stop is set");
            shift.keep_journal();
            shift
        });
        while short.advance(1, &stop) == Progress::More {
            assert_eq!(long.advance(1, &stop), Progress::More, "case {case}");
            assert_eq!((short.here.constant, &short.costs), (long.here.constant, &long.costs), "case {case}");
        }
        assert_eq!(long.advance(1, &stop), Progress::Done, "case {case}");
        assert_eq!((short.reached, &short.costs, short.steps()), (long.reached, &long.costs, long.steps()));
        let is_short = matches!(short.costs.taken, Amounts::Short(_));
        (kept, grown) = (kept + u32::from(is_short), grown + u32::from(!is_short));
    }
    assert!(kept > 10 && grown > 10, "{kept} {grown}");
}
