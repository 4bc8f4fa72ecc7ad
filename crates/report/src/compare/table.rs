//! Tables of a comparison as text, Markdown and LaTeX.

use super::{Cell, Comparison, Quartiles};
use crate::error::Error;
use crate::file::ReplacedFile;
use crate::model::Number;
use crate::stop::Stop;
use crate::terminal;
use crate::text::{grouped, per_cent};
use std::fmt::{Display, Write};
use std::path::Path;

/// A table whose first `texts` columns hold text and the others numbers.
#[derive(Clone, Debug)]
pub struct Table {
    head: Vec<&'static str>,
    texts: usize,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// Returns a row for each instance and setting.
    pub fn of_instances(comparison: &Comparison) -> Table {
        let head =
            ["instance", "setting", "solved", "proved", "median cost", "quartiles", "gap", "integral", "best after"];
        let rows = comparison.instances.iter().flat_map(|instance| {
            instance.settings.iter().filter(|cell| cell.runs > 0).map(|cell| row(&instance.instance, cell))
        });
        Table { head: head.to_vec(), texts: 2, rows: rows.collect() }
    }

    /// Returns a row for each setting.
    pub fn of_settings(comparison: &Comparison) -> Table {
        let head = ["setting", "runs", "failed", "solved", "proved", "wins", "mean integral", "change of ln integral"];
        let rows = comparison.settings.iter().enumerate().map(|(place, total)| {
            let change = match place {
                0 => "reference".into(),
                _ => format!("{:+.3} ± {:.3}", total.change, total.change_error),
            };
            let counts = [total.runs, total.failed, total.solved, total.proved, total.wins].map(grouped);
            let integral = total.primal_integral.map_or("-".into(), |integral| format!("{integral:.4}"));
            [total.setting.clone()].into_iter().chain(counts).chain([integral, change]).collect()
        });
        Table { head: head.to_vec(), texts: 1, rows: rows.collect() }
    }

    /// Returns the headings.
    pub fn head(&self) -> &[&'static str] {
        &self.head
    }

    /// Returns the rows.
    pub fn rows(&self) -> &[Vec<String>] {
        &self.rows
    }

    /// Returns the table with aligned columns.
    pub fn text(&self) -> String {
        let head: Vec<String> = self.head.iter().map(|&text| text.into()).collect();
        let lines = || std::iter::once(&head).chain(&self.rows);
        let width = |column: usize| lines().map(|row| row[column].chars().count()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..self.head.len()).map(width).collect();
        let mut text = String::new();
        for row in lines() {
            let cells = row.iter().zip(&widths).enumerate().map(|(column, (cell, &width))| {
                if column < self.texts { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
            });
            let line = cells.collect::<Vec<_>>().join("  ");
            // writing to a string cannot fail
            let _ = writeln!(text, "{}", line.trim_end());
        }
        text
    }

    /// Returns the table in Markdown.
    pub fn markdown(&self) -> String {
        let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
        let escaped = |cell: &String| cell.replace('\\', "\\\\").replace('|', "\\|").replace(['\n', '\r'], " ");
        let rule = (0..self.head.len()).map(|column| if column < self.texts { ":--" } else { "--:" }.into());
        let mut text = line(self.head.iter().map(|&head| head.into()).collect());
        text += &line(rule.collect());
        for row in &self.rows {
            text += &line(row.iter().map(escaped).collect());
        }
        text
    }

    /// Returns the table as a `tabular` of LaTeX, which needs no package.
    pub fn latex(&self) -> String {
        let columns: String = (0..self.head.len()).map(|column| if column < self.texts { 'l' } else { 'r' }).collect();
        let line = |cells: Vec<String>| format!("{} \\\\\n", cells.join(" & "));
        let mut text = format!("\\begin{{tabular}}{{{columns}}}\n\\hline\n");
        text += &line(self.head.iter().map(|head| of_latex(head)).collect());
        text += "\\hline\n";
        for row in &self.rows {
            text += &line(row.iter().map(|cell| of_latex(cell)).collect());
        }
        text + "\\hline\n\\end{tabular}\n"
    }
}

fn row(instance: &str, cell: &Cell) -> Vec<String> {
    let none = if cell.solved == 0 && cell.proved > 0 { "infeasible" } else { "none" };
    let cost = |cost: Option<Number>| cost.map_or(none.into(), grouped);
    let Quartiles { better, median, worse } = cell.cost;
    let quartiles = if cell.solved == 0 { "-".into() } else { format!("{} to {}", cost(better), cost(worse)) };
    vec![
        instance.into(),
        cell.setting.clone(),
        format!("{} of {}", cell.solved, cell.runs),
        cell.proved.to_string(),
        cost(median),
        quartiles,
        cell.gap.median.map_or("-".into(), per_cent),
        cell.primal_integral.median.map_or("-".into(), |integral| format!("{integral:.4}")),
        cell.time_to_best_s.median.map_or("-".into(), |time| format!("{time:.2} s")),
    ]
}

/// Returns a text with the special characters of LaTeX escaped.
fn of_latex(text: &str) -> String {
    let mut escaped = String::new();
    for character in text.chars() {
        match character {
            '\\' => escaped += "\\textbackslash{}",
            '~' => escaped += "\\textasciitilde{}",
            '^' => escaped += "\\textasciicircum{}",
            '±' => escaped += "$\\pm$",
            '&' | '%' | '$' | '#' | '_' | '{' | '}' => {
                escaped.push('\\');
                escaped.push(character);
            }
            // `--` would become a dash, and quotes others
            '-' => escaped += "{-}",
            '"' => escaped += "\\textquotedbl{}",
            other if other.is_control() => escaped.push(' '),
            other => escaped.push(other),
        }
    }
    escaped
}

/// The notation of a file of tables.
#[derive(Clone, Copy, Debug)]
enum Notation {
    Markdown,
    Latex,
}

/// A file of tables; its extension decides the notation.
#[derive(Debug)]
pub struct TableFile {
    file: ReplacedFile,
    notation: Notation,
}

impl TableFile {
    /// Prepares to write `path`.
    ///
    /// # Errors
    /// Fails if the extension is not `.md` or `.tex`, or the path cannot be written.
    pub fn new(path: &Path) -> Result<TableFile, Error> {
        let extension = path.extension().map(|extension| extension.to_string_lossy().to_lowercase());
        let notation = match extension.as_deref() {
            Some("md") => Notation::Markdown,
            Some("tex") => Notation::Latex,
            _ => return Err(Error::Usage(format!("{}: a table is .md or .tex", terminal::path(path)))),
        };
        Ok(TableFile { file: ReplacedFile::new(path)?, notation })
    }

    /// Writes tables, the totals of settings first.
    ///
    /// # Errors
    /// Fails if the file cannot be written.
    pub fn save(&mut self, comparison: &Comparison, stop: &Stop) -> Result<(), Error> {
        let tables = [Table::of_settings(comparison), Table::of_instances(comparison)];
        let texts = tables.map(|table| match self.notation {
            Notation::Markdown => table.markdown(),
            Notation::Latex => table.latex(),
        });
        self.file.write_to_end(texts.join("\n").into_bytes(), stop)
    }
}

impl Display for Comparison {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(f, "{}", Table::of_instances(self).text())?;
        write!(f, "{}", Table::of_settings(self).text())
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::run;
    use super::*;

    #[test]
    fn tables_are_escaped_and_have_all_cells() {
        let runs = [run("a_b|c", "x & 100 %", 1, &[(1.0, 1200)]), run("a_b|c", "y", 1, &[])];
        let comparison = Comparison::of(&runs, 10.0, 0.01);
        let [settings, instances] = [Table::of_settings(&comparison), Table::of_instances(&comparison)];
        for table in [&settings, &instances] {
            let cells = table.head().len();
            assert!(table.rows().iter().all(|row| row.len() == cells));
            let markdown = table.markdown();
            assert!(
                markdown.lines().all(|line| line.replace("\\|", "").matches('|').count() == cells + 1),
                "{markdown}"
            );
            let latex = table.latex();
            let rows: Vec<&str> = latex.lines().filter(|line| line.ends_with("\\\\")).collect();
            assert_eq!(rows.len(), table.rows().len() + 1);
            assert!(rows.iter().all(|row| row.replace("\\&", "").matches('&').count() == cells - 1), "{latex}");
        }
        let text = instances.text();
        assert!(text.contains("1,200 to 1,200") && text.contains("none") && text.contains("0 of 1"), "{text}");
        assert!(instances.latex().contains("a\\_b|c") && settings.latex().contains("x \\& 100 \\%"));
    }
}
