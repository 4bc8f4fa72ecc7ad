//! Pages in a browser: scripts work, and nothing is loaded from outside.

use super::*;
use fangs_testing::needs;

/// A script that acts like a reader on each figure, and reports the results.
const READER: &str = r#"<script>
const found = { errors: [], figures: [] };
addEventListener("error", (event) => found.errors.push(event.message));
for (const figure of document.querySelectorAll("figure[data-figure]")) {
  const svg = [...figure.children].filter((child) => child.localName === "svg").at(-1);
  const box = svg.getBoundingClientRect(), output = figure.querySelector("output");
  const texts = () => [...svg.querySelectorAll("text")].map((text) => text.textContent).join(" ");
  const point = (type, part) => svg.dispatchEvent(new PointerEvent(type,
    { clientX: box.left + box.width * part, clientY: box.top + box.height / 2, pointerId: 1 }));
  svg.setPointerCapture = () => {};
  const whole = texts();
  point("pointermove", 0.99);
  const hover = output.textContent;
  ["pointerdown", "pointermove", "pointerup"].forEach((type, at) => point(type, at ? 0.7 : 0.4));
  const zoomed = texts();
  figure.querySelector("button").click();
  const back = texts();
  const log = [...figure.querySelectorAll("input")].map((box) => {
    box.click();
    const now = texts();
    box.click();
    return now;
  });
  found.figures.push({ hover, zooms: zoomed !== whole, returns: back === whole, logs: log.some((now) => now !== whole),
    first: figure.querySelector("svg").style.display });
}
found.asked = performance.getEntriesByType("resource").map((entry) => entry.name);
found.paper = getComputedStyle(document.body).backgroundColor;
const told = document.createElement("pre");
told.id = "found";
told.textContent = JSON.stringify(found);
document.body.append(told);
</script></body>"#;

/// Returns the page as Chromium finally shows it.
fn browsed(page: &Path, profile: &Path, dark: bool) -> Option<Result<String>> {
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let there = |name: &&str| std::process::Command::new(name).arg("--version").output().is_ok();
    let name = names.into_iter().find(there).ok_or("there is no Chromium");
    let mut command = Command::new(needs("FANGS_REQUIRE_CHROMIUM", name)?);
    let scheme = format!("--blink-settings=preferredColorScheme={}", u8::from(!dark));
    let _ = command.timeout(PATIENCE).args(["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", &scheme]);
    // the browser's own requests are not the page's
    let _ = command.args(["--disable-background-networking", "--disable-component-update", "--disable-sync"]);
    let _ = command.args(["--host-resolver-rules=MAP * ~NOTFOUND", "--virtual-time-budget=5000", "--dump-dom"]);
    let _ = command.arg(format!("--user-data-dir={}", profile.display())).arg(format!("file://{}", page.display()));
    let assert = command.assert().success();
    Some(String::from_utf8(assert.get_output().stdout.clone()).map_err(Into::into))
}

#[test]
fn pictures_of_a_page_answer_the_pointer_and_ask_for_nothing() -> Result {
    let folder = tempfile::tempdir()?;
    let at = |name: &str| folder.path().join(name);
    let _ =
        fangs().args(["generate", "potts", "--side", "18", "--d", "6", "-o"]).arg(at("net.wcsp")).assert().success();
    let mut command = fangs();
    let _ = command.args(["solve", "--json", "--device", "cpu", "--time", "4", "--report"]).arg(at("run.html"));
    let result = object(command.arg("--csv").arg(at("run.csv")).arg(at("net.wcsp")), 0)?;
    let mut plot = fangs();
    let _ = plot.arg("plot").arg(at("run.csv")).arg("-o").arg(at("runs.html")).assert().success();
    let (mut papers, none) = (Vec::new(), Value::Array(Vec::new()));
    for (name, dark) in [("run.html", false), ("run.html", true), ("runs.html", false)] {
        let html = fs::read_to_string(at(name))?;
        fs::write(at("read.html"), html.replace("</body>", READER))?;
        let Some(read) = browsed(&at("read.html"), &at("profile"), dark) else { return Ok(()) };
        let read = read?;
        let found = read.split("id=\"found\">").nth(1).and_then(|rest| rest.split("</pre>").next());
        let told = found.ok_or(format!("the script has not come to its end: {read}"))?;
        let found: Value = serde_json::from_str(&told.replace("&gt;", ">").replace("&lt;", "<").replace("&amp;", "&"))?;
        assert_eq!((&found["errors"], &found["asked"]), (&none, &none), "{found}");
        let figures = found["figures"].as_array().ok_or("no figures")?;
        assert!(!figures.is_empty() && figures.len() == html.matches("<figure").count(), "{name}: {found}");
        for figure in figures {
            assert!(figure["hover"].as_str().is_some_and(|text| text.contains(" s: ")), "{name}: {figure}");
            for what in ["zooms", "returns", "logs"] {
                assert_eq!(figure[what], true, "{name}, {what}: {figure}");
            }
            assert_eq!(figure["first"], "none", "what stands without scripts gives way");
        }
        let shown: String = text(&figures[0]["hover"]).chars().filter(|letter| *letter != ',').collect();
        assert!(shown.contains(&result["cost"].to_string()), "{shown} {result}");
        papers.push(found["paper"].clone());
    }
    assert_ne!(papers[0], papers[1], "light and dark");
    Ok(())
}
