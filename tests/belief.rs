//! Sums and posteriors of published networks. FANGS_BAYESNETS names a folder of `.bif` files, FANGS_INSTANCES one with
//! `bayesnet/*.bif` and `.uai` files by family; missing files are skipped.
//!
//! Reference values: two independent programs, a bucket tree in long doubles and pyAgrum 3.3.1 on tables of doubles.
//! The evidence is a forward sample at leaves of the network.

use fangs_base::stop::Stop;
use fangs_formats::read_potentials;
use fangs_formats::{ReadOptions, Source, read_evidence, read_variables};
use fangs_marginals::{Evidence, Marginals, Options, PreparedMap, compute};
use fangs_model::model::Potentials;
use std::path::PathBuf;

fn folder(variable: &str, default: &str) -> PathBuf {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    std::env::var_os(variable).map_or_else(|| root.join(default), PathBuf::from)
}

/// Returns the file of a network by its name without extensions, if there is one.
fn find(name: &str) -> Option<PathBuf> {
    let instances = folder("FANGS_INSTANCES", "../shared/instances");
    let mut names = Vec::new();
    for ending in ["bif", "bif.gz"] {
        names.push(folder("FANGS_BAYESNETS", "bayesnets").join(format!("{name}.{ending}")));
        names.push(instances.join("bayesnet").join(format!("{name}.{ending}")));
    }
    names.push(instances.join(format!("{name}.uai.xz")));
    let found = names.into_iter().find(|path| path.is_file());
    if found.is_none() {
        fangs_testing::skip(format!("there is no {name}"));
    }
    found
}

fn read(path: PathBuf) -> Potentials {
    read_potentials(&Source::new(path), None, &ReadOptions::default(), None, &Stop::new()).expect("it can be read")
}

/// Returns the sum, over unobserved variables, of the sum over k of (k + 1) p_k, which exchanged axes change.
fn checksum(found: &Marginals, evidence: &Evidence) -> f64 {
    let observed = |variable: usize| evidence.values.iter().any(|&(seen, _)| seen as usize == variable);
    let states = |posterior: &[f64]| posterior.iter().zip(1..).map(|(p, k)| p * f64::from(k)).sum::<f64>();
    let all = found.posteriors.iter().enumerate().filter(|(variable, _)| !observed(*variable));
    all.map(|(_, posterior)| posterior.as_deref().map_or(0.0, states)).sum()
}

/// Name, evidence, ln P, checksum to ten digits.
const NETWORKS: &[(&str, &str, f64, f64)] = &[
    ("asia", "", -3.908_548_831_810_24e-17, 14.363_511_36),
    ("asia", "xray=no;dysp=yes", -1.007_034_988_488_69, 10.516_545_070_2),
    ("alarm", "", -6.223_249_610_961_02e-9, 74.676_121_020_2),
    (
        "alarm",
        "HISTORY=FALSE;CVP=NORMAL;PCWP=NORMAL;HRBP=HIGH;HREKG=HIGH;HRSAT=HIGH;EXPCO2=LOW;MINVOL=ZERO;PAP=HIGH;\
         PRESS=NORMAL",
        -5.412_056_263_286_77,
        51.809_328_431_6,
    ),
    ("insurance", "", -2.354_854_614_285_11e-11, 48.274_958_086_9),
    (
        "insurance",
        "GoodStudent=False;PropCost=TenThou;OtherCar=True;MedCost=Thousand;ILiCost=Million;DrivHist=Zero",
        -9.041_590_763_684_29,
        43.881_715_637_2,
    ),
    (
        "andes",
        "SNode_14=true;SNode_18=true;SNode_19=true;SNode_24=true;TRY13=true;TRY14=true;TRY15=true;SNode_31=true;\
         TRY26=true;SNode_40=true",
        -4.395_581_757_367_04,
        311.768_877_079,
    ),
    (
        "hailfinder",
        "R5Fcst=SVR;Dewpoints=LowSHighN;LowLLapse=CloseToDryAd;MeanRH=Dry;MidLLapse=CloseToDryAd;\
         MvmtFeatures=MarkedUpper;RHRatio=Other;SfcWndShfDis=None;SynForcng=LittleChange;TempDis=None",
        -10.443_853_396_120_8,
        120.894_914_829,
    ),
    ("mildew", "udbytte=97___99_hkg_ha", -3.242_342_822_516_01, 281.032_540_66),
    (
        "water",
        "C_NI_12_45=6;CKNI_12_45=30_MG_L;CBODD_12_45=20_MG_L;CKND_12_45=4_MG_L;CNOD_12_45=0_5_MG_L;\
         CBODN_12_45=10_MG_L;CKNN_12_45=1_MG_L;CNON_12_45=6_MG_L",
        -6.495_185_006_750_1,
        51.157_283_324_6,
    ),
    (
        "barley",
        "protein=x_12_0;udb=x55_60;spndx=x9_10;tkv=x40_42_5;slt22=x3_5;s2225=x5_10;s2528=x15_20;bgbyg=x4_5_5_0",
        -8.990_176_283_724_31,
        194.399_700_003,
    ),
    (
        "pigs",
        "p48124091=1;p392115290=1;p392150190=1;p48109691=0;p48109791=1;p277195691=1;p277195791=1;p216124491=1;\
         p216124591=1;p630182291=1",
        -7.370_703_776_178_44,
        853.088_257_576,
    ),
    ("diabetes", "cho_24=0_4mmol_kg;bg_24=18mmol_l", -4.321_513_817_047_34, 2_845.127_712_95),
    ("munin3", "", -8.129_917_372_523_1e-8, 2_050.863_054_27),
    (
        "pathfinder",
        "F1=Absent;F3=No;F5=None;F6=Absent;F7=Absent;F9=Absent;F10=Absent;F11=Absent;F12=Absent;F13=Absent",
        -1.222_837_201_782_74,
        188.117_825_702,
    ),
];

#[test]
fn bayesian_networks_have_their_published_probabilities() {
    let mut seen = 0;
    for &(name, observed, ln_p, states) in NETWORKS {
        let Some(path) = find(name) else { continue };
        let network = read(path);
        let mut evidence = Evidence::default();
        for pair in observed.split(';').filter(|pair| !pair.is_empty()) {
            evidence.observe(&network, pair).expect("names of the network");
        }
        let found = compute(&network, &evidence, &Options::default(), &Stop::new()).expect("it fits");
        let allowed = 1e-12 * f64::abs(ln_p) + found.error_bound;
        assert!((found.ln_z - ln_p).abs() <= allowed, "{name}: {} is not {ln_p}", found.ln_z);
        assert!(found.error_bound < 1e-11 && found.posterior_error < 1e-9, "{name}: {found:?}");
        let own = checksum(&found, &evidence);
        assert!((own / states - 1.0).abs() < 2e-11, "{name}: checksum {own} is not {states}");
        seen += 1;
    }
    eprintln!("{seen} of {} rows", NETWORKS.len());
}

/// Files in the folder of instances, ln Z, posteriors of the variables 0 and 1.
type Sum = (&'static str, f64, &'static [[f64; 2]]);
const SUMS: &[Sum] = &[
    (
        "bn_grid/50-12-5",
        3.885_132_880_157_53e-7,
        &[[0.033_573_701_227_943_2, 0.966_426_298_772_057], [0.443_141_414_666_013, 0.556_858_585_333_987]],
    ),
    (
        "pedigree/pedigree1",
        -32.482_957_615_173_2,
        &[[0.318_717_657_316_164, 0.681_282_342_683_836], [0.500_000_025_704_963, 0.499_999_974_295_037]],
    ),
    (
        "segmentation/Segmentation_12",
        -50.342_579_083_308_9,
        &[[0.201_859_348_461_823, 0.798_140_651_538_177], [0.997_973_095_526_927, 0.002_026_904_473_072_96]],
    ),
    (
        "dbn/rbm_20",
        134.771_832_332_238,
        &[[0.116_569_518_244_033, 0.883_430_481_755_967], [0.897_227_343_631_177, 0.102_772_656_368_823]],
    ),
];

#[test]
fn networks_of_competitions_have_their_sums() {
    for &(name, ln_z, first) in SUMS {
        let Some(path) = find(name) else { continue };
        let evid = PathBuf::from(path.to_string_lossy().replace(".uai.xz", ".uai.evid"));
        let network = read(path);
        let mut evidence = Evidence::default();
        if evid.is_file() {
            evidence.values =
                read_evidence(&evid, &network.variables, &Stop::new()).expect("evidence").observations.pairs();
        }
        let found = compute(&network, &evidence, &Options::default(), &Stop::new()).expect("it fits");
        let allowed = 2e-14 * f64::abs(ln_z) + found.error_bound;
        assert!((found.ln_z - ln_z).abs() <= allowed, "{name}: {} is not {ln_z}", found.ln_z);
        for (own, reference) in found.posteriors.iter().zip(first) {
            let own = own.as_deref().expect("all are asked for");
            assert!(own.iter().zip(reference).all(|(own, p)| (own - p).abs() < 1e-12), "{name}: {own:?}");
        }
    }
}

#[test]
fn marginal_map_has_its_published_values() {
    for (name, value) in [("50-12-5.Q0.5.I0", -12.845_302_540_713_4), ("pedigree1.Q0.5.I0", -72.795_690_877_590_2)] {
        let Some(path) = find(&format!("mmap/{name}")) else { continue };
        let list = path.with_file_name(format!("{name}.map"));
        let network = read(path);
        let maximised = read_variables(&list, &network.variables, &Stop::new()).expect("a list");
        let (evidence, options) = (Evidence::default(), Options::default());
        let prepared = PreparedMap::new(&network, &evidence, &maximised, &options, &Stop::new()).expect("a plan");
        let found = prepared.run(&Stop::new()).expect("it fits");
        assert!((found.ln_value - value).abs() <= 1e-12 * f64::abs(value) + found.error_bound, "{name}: {found:?}");
    }
}
