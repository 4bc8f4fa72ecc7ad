//! The figures of the paper (Bistaffa, Bombieri, Farinelli, CUBE, tables I and II), measured on an AMD A8-7600 and a
//! Tesla K40.

/// A column of both tables. Sizes are entries of tables, times are in milliseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Figures {
    pub network: &'static str,
    /// The number of cliques of the junction tree.
    pub cliques: u64,
    /// The sizes of the largest and of the mean clique, and of the largest and of the mean separator.
    pub largest_clique: u64,
    pub mean_clique: u64,
    pub largest_separator: u64,
    pub mean_separator: u64,
    /// The time of all messages on the CPU, one after another.
    pub cpu_ms: f64,
    /// The time of the preprocessing, which brings tables into order.
    pub layout_ms: f64,
    pub transfer_ms: f64,
    pub device_ms: f64,
    /// The speed-up as printed, which is not the quotient of the times in all columns.
    pub speed_up: f64,
}

const FIGURES: [Figures; 8] = [
    of("mildew", [29, 1_249_280, 117_257, 62_464, 3950], [117.0, 28.0, 12.0, 3.0], 39.0),
    of("diabetes", [337, 84_480, 29_157, 5280, 1698], [219.0, 71.0, 57.0, 14.0], 15.64),
    of("barley", [36, 7_257_600, 476_133, 907_200, 38_237], [1057.0, 294.0, 110.0, 35.0], 33.03),
    of("munin1", [162, 38_400_000, 516_887, 2_400_000, 58_691], [6584.0, 2395.0, 1464.0, 193.0], 34.11),
    of("munin2", [854, 151_200, 2400, 6048, 204], [54.0, 24.0, 16.0, 14.0], 3.85),
    of("munin3", [904, 156_800, 3404, 22_400, 528], [109.0, 37.0, 39.0, 19.0], 5.73),
    of("munin4", [877, 448_000, 10_102, 56_000, 1376], [315.0, 106.0, 45.0, 31.0], 10.16),
    of("water", [21, 589_824, 144_205, 147_456, 28_527], [123.0, 46.0, 15.0, 12.0], 10.25),
];

const fn of(network: &'static str, sizes: [u64; 5], ms: [f64; 4], speed_up: f64) -> Figures {
    let [cliques, largest_clique, mean_clique, largest_separator, mean_separator] = sizes;
    let [cpu_ms, layout_ms, transfer_ms, device_ms] = ms;
    Figures {
        network,
        cliques,
        largest_clique,
        mean_clique,
        largest_separator,
        mean_separator,
        cpu_ms,
        layout_ms,
        transfer_ms,
        device_ms,
        speed_up,
    }
}

/// Returns the figures of a network by its name; `None` if the paper has none.
pub(super) fn of_network(name: &str) -> Option<&'static Figures> {
    FIGURES.iter().find(|known| known.network.eq_ignore_ascii_case(name))
}
