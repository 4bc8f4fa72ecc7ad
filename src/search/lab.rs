use super::driver::{Driver, Field, Pool};
use super::*;
use crate::model::{CostFunction, FORBIDDEN, Problem, Table};
use crate::rng::Rng;
use std::sync::Arc;
use std::time::Instant;

fn load(path: &str) -> Problem {
    let text = std::fs::read_to_string(path).unwrap();
    let mut t = text.split_ascii_whitespace();
    let _ = t.next();
    let mut int = || t.next().unwrap().parse::<i64>().unwrap();
    let n = int() as usize;
    let _ = int();
    let m = int();
    let top = int();
    let domains: Vec<u32> = (0..n).map(|_| int() as u32).collect();
    let mut unary: Vec<Vec<i64>> = domains.iter().map(|&d| vec![0; d as usize]).collect();
    let mut functions = vec![];
    let mut constant = 0;
    for _ in 0..m {
        let a = int() as usize;
        let scope: Vec<u32> = (0..a).map(|_| int() as u32).collect();
        let def = int();
        let nt = int();
        if a == 0 {
            constant += def;
            continue;
        }
        let size: usize = scope.iter().map(|&v| domains[v as usize] as usize).product();
        let h = |c: i64| if c >= top { FORBIDDEN } else { c };
        let mut table = vec![h(def); size];
        for _ in 0..nt {
            let mut ix = 0;
            for k in 0..a {
                ix = ix * domains[scope[k] as usize] as usize + int() as usize;
            }
            table[ix] = h(int());
        }
        if a == 1 {
            for (u, c) in unary[scope[0] as usize].iter_mut().zip(table) {
                *u = crate::model::add(*u, c);
            }
            continue;
        }
        functions.push(CostFunction { scope: scope.into(), table: Table::dense(table) });
    }
    Problem { domains, unary, functions, constant, top }
}

#[test]
fn memetic_lab() {
    let file = std::env::var("LAB").unwrap();
    let secs: f64 = std::env::var("SECS").unwrap_or("10".into()).parse().unwrap();
    let seed: u64 = std::env::var("SEED").unwrap_or("1".into()).parse().unwrap();
    let which = std::env::var("DRV").unwrap_or("anneal".into());
    let problem = Arc::new(load(&file));
    rayon::ThreadPoolBuilder::new().num_threads(2).build_global().unwrap();
    let stop = Stop::new();
    let mut rng = Rng::new(seed);
    let t = Instant::now();
    let field = Field::new(&problem, problem.top - problem.constant, None, &mut rng, &stop);
    println!(
        "field {:.3}s n {} shift {} hard {} sched {:?} forests {} sweep {}",
        t.elapsed().as_secs_f64(),
        field.variables(),
        field.rows.shift,
        field.rows.hard,
        field.schedule,
        field.forests.len(),
        field.sweep_work
    );
    let mut pool = Pool::default();
    let mut anneal: Box<dyn Driver> = if which == "tabu" {
        Box::new(tabu::Tabu::new(rng.split()))
    } else {
        Box::new(anneal::Anneal::new(rng.split()))
    };
    let _clock = Clock::start(t, Some(std::time::Duration::from_secs_f64(secs)), &stop);
    let mut best = i64::MAX;
    let mut ratings = 0;
    let mut work = 0;
    let mut rounds = 0;
    while !stop.is_set() {
        let e = anneal.round(&field, &mut pool, &stop);
        ratings += e.ratings;
        work += e.work;
        rounds += 1;
        if pool.best() < best {
            best = pool.best();
            println!(
                "{:.3} {} viol {} rounds {}",
                t.elapsed().as_secs_f64(),
                best + problem.constant,
                pool.elites()[0].energy.violations,
                rounds
            );
        }
    }
    println!(
        "END {} best {} ratings/s {:.1}M work/s {:.2}G pop {}",
        file,
        best + problem.constant,
        ratings as f64 / secs / 1e6,
        work as f64 / secs / 1e9,
        anneal.population()
    );
}

#[test]
fn sa_lab_x() {
    use super::heat_bath::HeatBath;
    use super::state::{Elite, State};
    let file = std::env::var("LAB").unwrap();
    let problem = Arc::new(load(&file));
    let stop = Stop::new();
    let mut rng = Rng::new(1);
    let field = Field::new(&problem, problem.top - problem.constant, None, &mut rng, &stop);
    let mut state = State::new(field.variables(), rng.split());
    state.randomize(&field.rows);
    let mut scratch = Default::default();
    for _ in 0..3 {
        super::sweep::sweep(&field, HeatBath::greedy(&field.rows), &mut state, &mut scratch, &stop);
    }
    let e = Elite::new(&field.rows, state.values.clone());
    let s = field.schedule.settled(&field.rows, &[&e.values]);
    println!("greedy {} schedule {:?} -> {:?}", e.energy.total + problem.constant, field.schedule, s);
    for (hot, cold) in [(s.hot, s.cold)] {
        for sweeps in [128, 512, 2048, 8192] {
            state.randomize(&field.rows);
            let t = Instant::now();
            for k in 0..sweeps {
                let temp = hot * (cold / hot as f64).powf(k as f64 / (sweeps - 1) as f64);
                let m = state.moves;
                super::sweep::sweep(&field, HeatBath::new(&field.rows, temp), &mut state, &mut scratch, &stop);
                if k % (sweeps / 8) == 0 {
                    print!(
                        " T{:.2}:{:.3}/{}",
                        temp,
                        (state.moves - m) as f64 / field.variables() as f64,
                        field.rows.energy(&state.values).total + problem.constant
                    );
                }
            }
            for _ in 0..2 {
                super::sweep::sweep(&field, HeatBath::greedy(&field.rows), &mut state, &mut scratch, &stop);
            }
            println!(
                "\nhot {hot:.2} cold {cold:.2} sweeps {sweeps}: {} in {:.2}s",
                field.rows.energy(&state.values).total + problem.constant,
                t.elapsed().as_secs_f64()
            );
        }
    }
}
