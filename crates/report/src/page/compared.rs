//! The page of a comparison: totals of the settings, their performance profile, a table of all instances, and a panel
//! for each instance with the median curve of each setting.

use super::{Figure, Line, Page};
use crate::compare::{ComparedRun, Comparison, Table, profile_svg};
use crate::comparison::median_of;
use crate::plot::style::color;
use crate::plot::{Chart, TimeScale};
use crate::text::counted;

/// Returns the page of a comparison of runs.
pub fn compared_page(title: &str, runs: &[ComparedRun], comparison: &Comparison) -> String {
    let mut page = Page::new(title, false);
    let counts = [
        counted(comparison.runs.len(), "run"),
        counted(comparison.settings.len(), "setting"),
        counted(comparison.instances.len(), "instance"),
    ];
    let time = comparison.time_s;
    page.put(format_args!("<p class=\"verdict\">{} of {} on {}, {time} s each.</p>", counts[0], counts[1], counts[2]));
    page.heading("Settings");
    put(&mut page, &Table::of_settings(comparison));
    page.put(
        "<p class=\"soft\">A setting wins an instance if no other one has a better median. The integral is the mean \
         relative distance from the best cost of all runs over the time limit; its change is that of the logarithm of \
         the median against the first setting, below 0 is better, with the standard error over instances.</p>",
    );
    page.heading("Performance profile");
    page.put(format_args!("<figure>{}</figure>", profile_svg(comparison, "")));
    page.heading("Instances");
    put(&mut page, &Table::of_instances(comparison));
    page.put(
        "<p class=\"soft\">Medians and quartiles over seeds; of an even number of runs the worse middle one. A run \
         without a solution counts as the worst.</p>",
    );
    for (place, instance) in comparison.instances.iter().enumerate() {
        page.heading(&instance.instance);
        let curves: Vec<_> = instance
            .settings
            .iter()
            .map(|cell| {
                let own = runs.iter().filter(|run| run.instance == instance.instance && run.setting == cell.setting);
                let curves: Vec<_> = own.map(|run| &run.recorded.curve).collect();
                median_of(&cell.setting, &curves, time, instance.sense == "max")
            })
            .collect();
        let lines = curves.iter().enumerate().map(|(run, curve)| {
            let points = curve.points.iter().filter_map(|point| Some((point.time, point.found?, None)));
            Line::new(curve.label.clone(), color(run), false, points.collect())
        });
        let lines = lines.collect();
        let svg = Chart { curves, time: TimeScale::Auto, ..Chart::default() }.svg();
        page.figure(&format!("panel {place}"), &svg, "", Figure { name: "median cost".into(), lines });
    }
    page.finish()
}

fn put(page: &mut Page, table: &Table) {
    let head: Vec<&str> = table.head().to_vec();
    page.table(&head, table.rows());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::tests::run;

    #[test]
    fn the_page_has_all_settings_and_a_panel_for_each_instance() {
        let runs = [
            run("<a>", "x", 1, &[(1.0, 20), (5.0, 10)]),
            run("<a>", "y", 1, &[(1.0, 12)]),
            run("b", "x", 1, &[(0.0, 7)]),
            run("b", "y", 1, &[]),
        ];
        let comparison = Comparison::of(&runs, 10.0, 0.01);
        let html = compared_page("title & more", &runs, &comparison);
        for text in ["title &amp; more", "<h2>&lt;a&gt;</h2>", "4 runs of 2 settings on 2 instances", "share of runs"] {
            assert!(html.contains(text), "{text}");
        }
        assert_eq!(html.matches("data-figure=").count(), 2);
    }
}
