//! `fangs compare`: settings of `solve`, and other solvers, on several networks with several seeds.

mod external;
mod runs;
mod setting;

use self::runs::{Plan, Program};
use self::setting::Setting;
use super::output::{self, Files, Rows};
use super::{Exit, help, signals, values};
use clap::Args;
use external::External;
use fangs_base::Error;
use fangs_base::activity::Activity;
use fangs_base::stop::Stop;
use fangs_base::terminal;
use fangs_report::compare::{ComparedRun, Comparison, TableFile, profile_svg};
use fangs_report::page::compared_page;
use fangs_report::plot::PictureFile;
use fangs_report::{Console, ReplacedFile, Verbosity, end_progress, read_run};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

#[derive(Args, Debug)]
pub struct CompareFlags {
    /// Networks to solve, or convergence CSVs of earlier runs, whose folders name their settings
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Options of `fangs solve`, with a name in front: --with default "tabu: --driver tabu" [default: default]
    #[arg(long, value_name = "SETTING", num_args = 1.., value_parser = Setting::parse, help_heading = help::SEARCH)]
    with: Vec<Setting>,
    /// Another solver, as "NAME: COMMAND" in which {file}, {time}, {seed} and {solution} are replaced [default: none]
    #[arg(long, value_name = "SOLVER", value_parser = External::parse, help_heading = help::SEARCH)]
    external: Vec<External>,
    /// Wall-clock time of each run: 30, 500ms, 5m [default: 10s; for CSVs, that of the longest run]
    #[arg(short, long, value_name = "DUR", value_parser = values::duration, help_heading = help::BUDGET)]
    time: Option<Duration>,
    /// Runs of each setting on each network, with the seeds 1, 2 and so on
    #[arg(long, value_name = "K", default_value_t = 3, value_parser = values::positive::<u64>,
        help_heading = help::BUDGET)]
    seeds: u64,
    /// Runs at a time; they share the CPU threads evenly, unless a setting has --threads
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = values::threads, help_heading = help::BUDGET)]
    jobs: usize,
    /// Relative distance from the best cost of all runs that is the target of the performance profile
    #[arg(long, value_name = "SHARE", default_value = "1%", value_parser = values::relative,
        help_heading = help::OUTPUT)]
    within: f64,
    /// Write the convergence CSV of each run as FOLDER/SETTING/NETWORK-SEED.csv
    #[arg(long, value_name = "FOLDER", help_heading = help::OUTPUT)]
    runs: Option<PathBuf>,
    /// Write a row for each run
    #[arg(long, value_name = "FILE", help_heading = help::OUTPUT)]
    csv: Option<PathBuf>,
    /// Write the tables, .md (Markdown) or .tex (LaTeX); may be repeated
    #[arg(long, value_name = "FILE", help_heading = help::OUTPUT)]
    table: Vec<PathBuf>,
    /// Draw the performance profile into a picture, .svg, .png or .pdf
    #[arg(long, value_name = "FILE", help_heading = help::OUTPUT)]
    plot: Option<PathBuf>,
    /// Write a page with the tables, the profile and the curves, .html
    #[arg(long, value_name = "FILE", help_heading = help::OUTPUT)]
    report: Option<PathBuf>,
    /// Print exactly one JSON object on standard output instead of text
    #[arg(long, help_heading = help::OUTPUT)]
    json: bool,
}

/// The files that a comparison writes, opened before its runs begin.
struct Outputs {
    csv: Rows,
    tables: Vec<TableFile>,
    picture: Option<PictureFile>,
    page: Option<ReplacedFile>,
}

impl Outputs {
    fn open(flags: &mut CompareFlags) -> Result<Outputs, Error> {
        let mut files = Files::default();
        for path in &flags.files {
            files = files.reads("the file", Some(path))?;
        }
        for path in &flags.table {
            files = files.writes("--table", Some(path))?;
        }
        let _ = files
            .writes("--csv", flags.csv.as_deref())?
            .writes("--plot", flags.plot.as_deref())?
            .writes("--report", flags.report.as_deref())?;
        let page = |path: &PathBuf| match path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("html")) {
            true => ReplacedFile::new(path),
            false => Err(Error::Usage(format!("--report {}: a page is .html", terminal::path(path)))),
        };
        Ok(Outputs {
            tables: flags.table.iter().map(|path| output::as_usage(TableFile::new(path))).collect::<Result<_, _>>()?,
            picture: flags.plot.as_deref().map(|path| output::as_usage(PictureFile::new(path))).transpose()?,
            page: flags.report.as_ref().map(|path| output::as_usage(page(path))).transpose()?,
            csv: Rows::create(flags.csv.take())?,
        })
    }

    fn write(mut self, runs: &[ComparedRun], comparison: &Comparison, stop: &Stop) -> Result<(), Error> {
        for run in &comparison.runs {
            self.csv.push(run)?;
        }
        for table in &mut self.tables {
            table.save(comparison, stop)?;
        }
        if let Some(picture) = &mut self.picture {
            picture.save_svg(profile_svg(comparison, ""), stop)?;
        }
        if let Some(page) = &mut self.page {
            page.write_to_end(compared_page("fangs: comparison", runs, comparison).into_bytes(), stop)?;
        }
        self.csv.finish(stop)
    }
}

/// Compares settings, and prints tables or one JSON object.
pub fn run(mut flags: CompareFlags, started: Instant) -> Result<Exit, Error> {
    let is_csv = |path: &PathBuf| path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("csv"));
    let recorded = flags.files.iter().filter(|path| is_csv(path)).count();
    if recorded > 0 && recorded < flags.files.len() {
        return Err(Error::Usage("expected either networks or CSVs of earlier runs, found both".into()));
    }
    if recorded > 0 && (!flags.with.is_empty() || !flags.external.is_empty() || flags.runs.is_some()) {
        return Err(Error::Usage(
            "--with, --external and --runs are for networks, not for CSVs of earlier runs".into(),
        ));
    }
    let plan = if recorded == 0 { Some(plan(&mut flags)?) } else { None };
    let outputs = Outputs::open(&mut flags)?;
    let stop = signals::listen()?;
    let (runs, time_s) = match plan {
        None => earlier(&flags.files, flags.time, &stop)?,
        Some(plan) => {
            let activity = Activity::default();
            let rounds = plan.tasks().div_ceil(plan.jobs) as u32;
            let console = Console::new(Verbosity::Normal);
            let console = console.progress(&activity, started, Some(plan.time.saturating_mul(rounds)));
            (plan.run(&activity, &console, &stop)?, plan.time.as_secs_f64())
        }
    };
    end_progress();
    let comparison = Comparison::of(&runs, time_s, flags.within);
    if flags.json {
        output::print_json(&comparison)?
    } else {
        output::print(&comparison)?
    }
    outputs.write(&runs, &comparison, &stop)?;
    Ok(if comparison.has_solution() { Exit::Done } else { Exit::NoSolution })
}

/// Returns the runs that the flags ask for.
fn plan(flags: &mut CompareFlags) -> Result<Plan, Error> {
    let mut programs: Vec<Program> = std::mem::take(&mut flags.with).into_iter().map(Program::Fangs).collect();
    if programs.is_empty() {
        programs.push(Program::Fangs(Setting::unchanged()));
    }
    programs.extend(std::mem::take(&mut flags.external).into_iter().map(Program::External));
    for (place, program) in programs.iter().enumerate() {
        if programs[..place].iter().any(|other| other.name() == program.name()) {
            return Err(Error::Usage(format!("two settings are called {}: expected different names", program.name())));
        }
    }
    let names = distinct_names(&flags.files)?;
    let plan = Plan {
        files: flags.files.iter().cloned().zip(names).collect(),
        programs,
        seeds: flags.seeds,
        time: flags.time.unwrap_or(Duration::from_secs(10)),
        jobs: flags.jobs,
        kept: flags.runs.clone(),
    };
    plan.check()?;
    Ok(plan)
}

/// Returns the shortest names that tell the files apart: without folders, or whole paths.
fn distinct_names(files: &[PathBuf]) -> Result<Vec<String>, Error> {
    let short = |path: &PathBuf| path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    let names: Vec<String> = files.iter().map(short).collect();
    let differ = |names: &[String]| names.iter().enumerate().all(|(place, name)| !names[..place].contains(name));
    if differ(&names) {
        return Ok(names);
    }
    let paths: Vec<String> = files.iter().map(|path| path.display().to_string()).collect();
    if differ(&paths) { Ok(paths) } else { Err(Error::Usage("a file is named twice".into())) }
}

/// Reads earlier runs. Their settings are the names of their folders, or of the files if all are in one folder.
fn earlier(files: &[PathBuf], time: Option<Duration>, stop: &Stop) -> Result<(Vec<ComparedRun>, f64), Error> {
    let folder = |path: &Path| path.parent().map(Path::to_path_buf).unwrap_or_default();
    let stem = |path: &Path| path.file_stem().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    let one_folder = files.iter().all(|path| folder(path) == folder(&files[0]));
    let mut runs: Vec<ComparedRun> = Vec::new();
    for path in files {
        let recorded = read_run(path, stop)?;
        let folder = folder(path).file_name().map(|name| name.to_string_lossy().into_owned());
        let run = ComparedRun {
            instance: recorded.instance.clone().unwrap_or_else(|| stem(path)),
            setting: folder.filter(|_| !one_folder).unwrap_or_else(|| stem(path)),
            seed: recorded.seed.clone().unwrap_or_else(|| stem(path)),
            recorded,
            failed: false,
        };
        let same = |other: &ComparedRun| {
            (&other.instance, &other.setting, &other.seed) == (&run.instance, &run.setting, &run.seed)
        };
        if runs.iter().any(same) {
            let what = format!("{}, {}, seed {}", run.instance, run.setting, run.seed);
            return Err(Error::Usage(format!("{}: another file has the run of {what}", terminal::path(path))));
        }
        runs.push(run);
    }
    let ends = runs.iter().filter_map(|run| run.recorded.curve.points.last()).map(|point| point.time);
    let longest = ends.fold(0.0, f64::max);
    Ok((runs, time.map_or(longest, |time| time.as_secs_f64())))
}
