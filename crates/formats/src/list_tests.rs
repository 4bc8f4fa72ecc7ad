//! Tests of the list of formats and of how a format is found.

use super::*;

#[test]
fn the_list_is_in_the_order_of_the_formats() {
    for (position, info) in FORMATS.iter().enumerate() {
        assert_eq!(info.format as usize, position);
        assert_eq!(info.format.info().name, info.name);
        assert_eq!(info.name.to_ascii_uppercase().parse::<Format>().expect("a format"), info.format);
    }
}

#[test]
fn extensions_tell_the_format() {
    for (name, format) in [
        ("a.wcsp", Format::Wcsp),
        ("dir.uai/a.b.WCSP.XZ", Format::Wcsp),
        ("a.uai.gz", Format::Uai),
        ("a.lg.zst", Format::Lg),
        ("a.col.bz2", Format::Col),
        ("dir/cap71.txt.xz", Format::Cap),
        ("CAPA.TXT", Format::Cap),
        ("a.cap", Format::Cap),
    ] {
        assert_eq!(Format::of_path(Path::new(name)).expect("a known ending"), format, "{name}");
    }
    for name in ["net", "net.gz", "net.txt", "net.txt.gz", "net.qs"] {
        let error = Format::of_path(Path::new(name)).expect_err("no format that is read").to_string();
        assert!(error.contains(name) && error.contains(".wcsp") && error.contains("--format"), "{error}");
    }
}
