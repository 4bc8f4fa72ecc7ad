//! The workload of the FANG paper's section 4 on the CPU: points on a plane that move toward goals. The domain itself
//! is `fangs::fang::manhattan`, which is an example of a domain of your own.
//!
//! `cargo run --release --example manhattan -- [states] [variables] [j] [load]`

use std::error::Error;
use std::time::Instant;

use fangs::fang::manhattan::Manhattan;
use fangs::fang::{Order, Population, State, Uniform};
use fangs::rng::Rng;
use fangs::stop::Stop;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = [1024, 8, 67, 1];
    for (argument, given) in arguments.iter_mut().zip(std::env::args().skip(1)) {
        *argument = given.parse().map_err(|error| format!("{given}: {error}"))?;
    }
    let [states, variables, side, load] = arguments;
    if states == 0 || variables == 0 || load == 0 || side % 2 == 0 || !(3..=999).contains(&side) {
        return Err("expected states, variables and load above 0 and an odd j from 3 to 999".into());
    }

    let mut rng = Rng::new(1);
    let manhattan = Uniform(Manhattan::new(variables, side as i32, load, &mut rng));
    let points = (0..states).map(|_| manhattan.0.state(&mut rng)).collect();
    let mut population = Population::new(points, rng);
    let possibilities = side * side - 1;
    println!("{states} states, {variables} variables, {possibilities} possibilities, load {load}");
    println!("generation      ms  G ratings/s  mean distance");
    println!("{:10}  {:>6}  {:>11}  {:13.1}", 0, "", "", manhattan.0.mean_distance(population.states()));
    for generation in 1..=10 {
        population.states_mut().iter_mut().for_each(|state| state.active().activate_all());
        let started = Instant::now();
        let _ = population.expand(&manhattan, 1, Order::Permuted, &Stop::new());
        let seconds = started.elapsed().as_secs_f64();
        let ratings = (states * variables * possibilities) as f64;
        let mean = manhattan.0.mean_distance(population.states());
        println!("{generation:10}  {:6.2}  {:11.2}  {mean:13.1}", seconds * 1e3, ratings / seconds / 1e9);
    }
    Ok(())
}
