//! Networks in every format: the first line names the format, the rest is the file.

#![no_main]

use fangs_formats::{self as formats, Format, ReadOptions, read_from, read_potentials_from};
use fangs_model::model::CostFunction;
use fangs_base::stop::Stop;
use fangs_check as check;
use libfuzzer_sys::fuzz_target;

/// Largest number of entries of all tables with which a network is written again.
const ENTRIES: u64 = 10_000;

fuzz_target!(|data: &[u8]| {
    let Some(end) = data.iter().position(|&byte| byte == b'\n') else { return };
    let (name, text) = (String::from_utf8_lossy(&data[..end]), &data[end + 1..]);
    let Ok(format) = name.parse::<Format>() else { return };
    let (stop, options) = (Stop::new(), ReadOptions::default().with(|options| options.colors = Some(3)));
    // costs need a temperature, potentials have none
    for temperature in [None, Some(1.0)] {
        let _ = read_potentials_from(text, "fuzz", format, temperature, &stop);
    }
    let Ok(network) = read_from(text, "fuzz", format, &options, &stop) else { return };
    let of = |function: &CostFunction| function.combinations(network.domains());
    let entries = network.functions().iter().map(of).fold(0, u64::saturating_add);
    let values: u64 = network.domains().iter().map(|&domain| u64::from(domain)).sum();
    if entries > ENTRIES || values > ENTRIES {
        return;
    }
    let zeros = vec![0; network.domains().len()];
    let cost = check::evaluate(&network, &zeros).cost;
    let mut written = Vec::new();
    if formats::write(&network, Format::Cfn, &mut written).is_ok() {
        let again = read_from(&written[..], "again", Format::Cfn, &options, &stop).expect("what is written is read");
        let found = check::evaluate(&again, &zeros).cost;
        assert!(found == cost || found.min(cost) >= network.top(), "{cost} is written, {found} is read");
    }
});
