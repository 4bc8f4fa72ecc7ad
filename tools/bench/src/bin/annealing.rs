//! Plain simulated annealing of a file, as a baseline.
//!
//! usage: `annealing FILE SECONDS SEED [COLORS]`
//!
//! It prints a line `seconds cost` for each better solution, with costs in the file's own numbers.

use fangs_base::rng::Rng;
use fangs_base::stop::Stop;
use fangs_bench::annealing::Annealing;
use fangs_formats::{self as formats, ReadOptions, Source};
use std::error::Error;
use std::time::Instant;

fn main() -> Result<(), Box<dyn Error>> {
    let began = Instant::now();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [file, seconds, seed, colors @ ..] = &arguments[..] else {
        return Err("usage: `annealing FILE SECONDS SEED [COLORS]`".into());
    };
    let colors = colors.first().map(|colors| colors.parse()).transpose()?;
    let options = ReadOptions::default().with(|options| options.colors = colors);
    let network = formats::read(&Source::File(file.into()), None, &options, &Stop::new())?;
    let mut rng = Rng::new(seed.parse()?);
    let left = seconds.parse::<f64>()? - began.elapsed().as_secs_f64();
    Annealing::new(&network).run(left, &mut rng, &mut |cost| {
        println!("{:.6} {}", began.elapsed().as_secs_f64(), network.units().number(cost).as_f64());
    });
    Ok(())
}
