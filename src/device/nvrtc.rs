//! The run-time compiler of kernels, loaded where it is found.
//!
//! The few functions needed are bound here and not through cudarc, whose loader knows only the names of the CUDA version
//! that it was built for, looks nowhere but on the loader's path, and panics where the library is missing.

#![allow(unsafe_code, reason = "calls of the driver and of the compiler library are foreign")]

use super::DeviceError;
use super::source::{Source, texts};
use libloading::Library;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::PathBuf;
use std::sync::OnceLock;

/// A kernel source compiled for one architecture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// Machine code, or PTX where the compiler does not know the architecture.
    pub code: Vec<u8>,
    /// Wanted kernels and the symbols they became.
    pub symbols: Vec<(String, String)>,
}

/// The compiler.
#[derive(Debug)]
pub struct Nvrtc {
    library: Library,
    /// Version, major and minor.
    pub version: (i32, i32),
    /// Where it was found.
    pub path: PathBuf,
}

type Program = *mut c_void;

/// Where the library may be, best first: what the user names, the loader's path, CUDA's folders, Python's.
fn candidates() -> Vec<PathBuf> {
    let names = ["libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12", "nvrtc64_130_0.dll", "nvrtc64_120_0.dll"];
    let mut found: Vec<PathBuf> = Vec::new();
    if let Some(named) = std::env::var_os("FANGS_NVRTC") {
        found.push(named.into());
    }
    found.extend(names.iter().map(PathBuf::from));
    let mut folders: Vec<PathBuf> = Vec::new();
    for variable in ["CUDA_PATH", "CUDA_HOME", "CONDA_PREFIX"] {
        if let Some(root) = std::env::var_os(variable).map(PathBuf::from) {
            folders.extend(["lib64", "lib", "bin", "targets/x86_64-linux/lib"].map(|part| root.join(part)));
        }
    }
    let list = |folder: &str| -> Vec<PathBuf> {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        let mut all: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
        all.sort();
        all.reverse();
        all
    };
    let starts =
        |path: &PathBuf, prefix: &str| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(prefix));
    for root in list("/usr/local").into_iter().filter(|path| starts(path, "cuda")) {
        folders.extend(["lib64", "targets/x86_64-linux/lib"].map(|part| root.join(part)));
    }
    let mut pythons: Vec<PathBuf> = ["/usr/local/lib", "/usr/lib"].iter().flat_map(|folder| list(folder)).collect();
    for variable in ["VIRTUAL_ENV", "HOME"] {
        let Some(root) = std::env::var_os(variable).map(PathBuf::from) else { continue };
        let lib = if variable == "HOME" { root.join(".local/lib") } else { root.join("lib") };
        pythons.extend(list(&lib.to_string_lossy()));
    }
    for python in pythons.into_iter().filter(|path| starts(path, "python3")) {
        for packages in ["site-packages", "dist-packages"] {
            let nvidia = python.join(packages).join("nvidia");
            folders.extend(["cu13/lib", "cuda_nvrtc/lib"].map(|part| nvidia.join(part)));
        }
    }
    found.extend(folders.iter().flat_map(|folder| names.map(|name| folder.join(name))).filter(|path| path.exists()));
    found
}

impl Nvrtc {
    /// The compiler of this machine, looked for once.
    pub fn get() -> Result<&'static Nvrtc, DeviceError> {
        static FOUND: OnceLock<Result<Nvrtc, DeviceError>> = OnceLock::new();
        FOUND.get_or_init(Nvrtc::find).as_ref().map_err(Clone::clone)
    }

    fn find() -> Result<Nvrtc, DeviceError> {
        for path in candidates() {
            // SAFETY: loading runs the initialisers of NVIDIA's library, which have no requirements.
            let Ok(library) = (unsafe { Library::new(&path) }) else { continue };
            let mut nvrtc = Nvrtc { library, version: (0, 0), path };
            let (mut major, mut minor) = (0, 0);
            type Version = unsafe extern "C" fn(*mut c_int, *mut c_int) -> c_int;
            // SAFETY: the signature is nvrtc.h's; both pointers are valid for the call.
            let status = unsafe { nvrtc.function::<Version>(c"nvrtcVersion").map(|f| f(&mut major, &mut minor)) };
            if status == Ok(0) && major >= 12 {
                nvrtc.version = (major, minor);
                return Ok(nvrtc);
            }
        }
        Err(DeviceError::Unusable(
            "the CUDA compiler library (libnvrtc, version 12 or later) was not found on the loader's path, in CUDA_PATH, \
             /usr/local/cuda* or Python's packages; install the CUDA toolkit or `pip install nvidia-cuda-nvrtc-cu12`, or \
             name the file in FANGS_NVRTC"
                .into(),
        ))
    }

    /// # Safety
    /// `F` must be the function's type.
    unsafe fn function<F: Copy>(&self, name: &CStr) -> Result<F, DeviceError> {
        // SAFETY: the caller's promise.
        let symbol = unsafe { self.library.get::<F>(name.to_bytes_with_nul()) };
        symbol.map(|symbol| *symbol).map_err(|error| DeviceError::Unusable(format!("{}: {error}", self.path.display())))
    }

    /// Architectures that it compiles machine code for, such as 90.
    pub fn architectures(&self) -> Result<Vec<i32>, DeviceError> {
        type Count = unsafe extern "C" fn(*mut c_int) -> c_int;
        type List = unsafe extern "C" fn(*mut c_int) -> c_int;
        let mut count = 0;
        // SAFETY: nvrtc.h's signatures; the list has as many places as the first call says.
        unsafe {
            let _ = self.function::<Count>(c"nvrtcGetNumSupportedArchs")?(&mut count);
            let mut list = vec![0; count.max(0) as usize];
            let _ = self.function::<List>(c"nvrtcGetSupportedArchs")?(list.as_mut_ptr());
            Ok(list)
        }
    }

    /// Compiles for an architecture, given as 10 * major + minor. One that the compiler does not know yet gets the PTX
    /// of the latest one before it.
    pub fn compile(&self, source: &Source, architecture: i32) -> Result<Image, DeviceError> {
        let known = self.architectures()?;
        let (target, machine) = match known.iter().filter(|&&arch| arch <= architecture).max() {
            Some(&arch) => (arch, arch == architecture),
            None => return Err(DeviceError::Unusable(format!("compute capability {architecture} is too old"))),
        };
        let name = if machine { format!("sm_{target}") } else { format!("compute_{target}") };
        let mut options = vec![
            format!("--gpu-architecture={name}"),
            "--std=c++17".into(),
            // results must not depend on which device contracts a product and a sum
            "--fmad=false".into(),
            "-default-device".into(),
            "-lineinfo".into(),
        ];
        options.extend(source.constants.iter().map(|(name, value)| format!("-D{name}={value}")));
        let failed =
            |log: String| DeviceError::Compile { kernel: source.name.clone(), architecture: name.clone(), log };
        let text = |text: &str| CString::new(text).map_err(|_| failed("the source holds a NUL character".into()));
        let options = options.iter().map(|option| text(option)).collect::<Result<Vec<_>, _>>()?;
        let kernels = source.kernels.iter().map(|kernel| text(kernel)).collect::<Result<Vec<_>, _>>()?;
        let texts = texts();
        let headers = texts.iter().map(|(_, header)| text(header)).collect::<Result<Vec<_>, _>>()?;
        let headings = texts.iter().map(|(name, _)| text(name)).collect::<Result<Vec<_>, _>>()?;
        let pointers = |list: &[CString]| list.iter().map(|item| item.as_ptr()).collect::<Vec<_>>();
        let (body, title) = (text(&source.text)?, text(&source.name)?);

        type Create = unsafe extern "C" fn(
            *mut Program,
            *const c_char,
            *const c_char,
            c_int,
            *const *const c_char,
            *const *const c_char,
        ) -> c_int;
        type Name = unsafe extern "C" fn(Program, *const c_char) -> c_int;
        type Compile = unsafe extern "C" fn(Program, c_int, *const *const c_char) -> c_int;
        type Lowered = unsafe extern "C" fn(Program, *const c_char, *mut *const c_char) -> c_int;
        type Destroy = unsafe extern "C" fn(*mut Program) -> c_int;
        let mut program: Program = std::ptr::null_mut();
        // SAFETY: nvrtc.h's signatures; every string outlives the calls that read it, and the program is destroyed once,
        // after its lowered names were copied.
        unsafe {
            let status = self.function::<Create>(c"nvrtcCreateProgram")?(
                &mut program,
                body.as_ptr(),
                title.as_ptr(),
                headers.len() as c_int,
                pointers(&headers).as_ptr(),
                pointers(&headings).as_ptr(),
            );
            if status != 0 {
                return Err(failed(format!("nvrtcCreateProgram returned {status}")));
            }
            let result = (|| {
                for kernel in &kernels {
                    let _ = self.function::<Name>(c"nvrtcAddNameExpression")?(program, kernel.as_ptr());
                }
                let options = pointers(&options);
                let compile = self.function::<Compile>(c"nvrtcCompileProgram")?;
                if compile(program, options.len() as c_int, options.as_ptr()) != 0 {
                    let log = self.bytes(program, c"nvrtcGetProgramLogSize", c"nvrtcGetProgramLog")?;
                    let log = String::from_utf8_lossy(&log);
                    return Err(failed(log.trim_end_matches(['\0', '\n']).to_string()));
                }
                let mut symbols = Vec::new();
                for (kernel, expression) in source.kernels.iter().zip(&kernels) {
                    let mut lowered = std::ptr::null();
                    let status =
                        self.function::<Lowered>(c"nvrtcGetLoweredName")?(program, expression.as_ptr(), &mut lowered);
                    if status != 0 || lowered.is_null() {
                        return Err(failed(format!("{kernel} has no symbol")));
                    }
                    symbols.push((kernel.clone(), CStr::from_ptr(lowered).to_string_lossy().into_owned()));
                }
                let code = match machine {
                    true => self.bytes(program, c"nvrtcGetCUBINSize", c"nvrtcGetCUBIN")?,
                    false => self.bytes(program, c"nvrtcGetPTXSize", c"nvrtcGetPTX")?,
                };
                Ok(Image { code, symbols })
            })();
            let _ = self.function::<Destroy>(c"nvrtcDestroyProgram")?(&mut program);
            result
        }
    }

    /// # Safety
    /// `program` must be alive; the functions must be a size and its contents.
    unsafe fn bytes(&self, program: Program, size: &CStr, get: &CStr) -> Result<Vec<u8>, DeviceError> {
        type Size = unsafe extern "C" fn(Program, *mut usize) -> c_int;
        type Get = unsafe extern "C" fn(Program, *mut c_char) -> c_int;
        let mut length = 0;
        // SAFETY: the caller's promise; the buffer has the length that the library asked for.
        unsafe {
            let _ = self.function::<Size>(size)?(program, &mut length);
            let mut buffer = vec![0u8; length];
            let _ = self.function::<Get>(get)?(program, buffer.as_mut_ptr().cast());
            Ok(buffer)
        }
    }
}
