//! The run-time compiler of kernels, loaded from wherever it is found.
//!
//! The few functions needed are bound here and not through cudarc, whose loader knows only the file names of one CUDA
//! version, searches only the loader's path, and panics if the library is missing.

#![allow(unsafe_code, reason = "calls of the compiler library are foreign")]

use super::device_error::DeviceError;
use super::driver::driver;
use super::paths::{ROOTS, candidates};
use super::source::Source;
use libloading::Library;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::{Path, PathBuf};
use std::ptr::null_mut;
use std::sync::OnceLock;

/// A kernel source compiled for one architecture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// Machine code, or PTX if the compiler does not know the architecture.
    pub code: Vec<u8>,
    /// The requested kernels and their symbols in the code.
    pub symbols: Vec<(String, String)>,
}

/// The run-time compiler.
#[derive(Debug)]
pub struct Nvrtc {
    /// The compiler's version, major and minor.
    pub version: (i32, i32),
    /// The path of the compiler's library.
    pub path: PathBuf,
    functions: Functions,
    /// The library, which must live as long as the functions.
    _library: Library,
}

type Handle = *mut c_void;
type Status = c_int;
type Text = *const c_char;
type Size = unsafe extern "C" fn(Handle, *mut usize) -> Status;
type Get = unsafe extern "C" fn(Handle, *mut c_char) -> Status;

/// The two functions that return a text or the code of a program.
#[derive(Clone, Copy, Debug)]
struct Output {
    size: Size,
    get: Get,
}

/// The functions of nvrtc.h that are used, by their names there.
#[derive(Clone, Copy, Debug)]
struct Functions {
    version: unsafe extern "C" fn(*mut c_int, *mut c_int) -> Status,
    error_string: unsafe extern "C" fn(Status) -> Text,
    get_num_supported_archs: unsafe extern "C" fn(*mut c_int) -> Status,
    get_supported_archs: unsafe extern "C" fn(*mut c_int) -> Status,
    create_program: unsafe extern "C" fn(*mut Handle, Text, Text, c_int, *const Text, *const Text) -> Status,
    add_name_expression: unsafe extern "C" fn(Handle, Text) -> Status,
    compile_program: unsafe extern "C" fn(Handle, c_int, *const Text) -> Status,
    log: Output,
    cubin: Output,
    ptx: Output,
    get_lowered_name: unsafe extern "C" fn(Handle, Text, *mut Text) -> Status,
    destroy_program: unsafe extern "C" fn(*mut Handle) -> Status,
}

impl Functions {
    fn of(library: &Library) -> Result<Functions, libloading::Error> {
        /// # Safety
        /// `F` must be the function's type.
        unsafe fn get<F: Copy>(library: &Library, name: &CStr) -> Result<F, libloading::Error> {
            // SAFETY: the caller's promise.
            unsafe { library.get::<F>(name.to_bytes_with_nul()) }.map(|symbol| *symbol)
        }
        // SAFETY: the signatures are those of nvrtc.h, the same in all versions from 12 on.
        unsafe {
            Ok(Functions {
                version: get(library, c"nvrtcVersion")?,
                error_string: get(library, c"nvrtcGetErrorString")?,
                get_num_supported_archs: get(library, c"nvrtcGetNumSupportedArchs")?,
                get_supported_archs: get(library, c"nvrtcGetSupportedArchs")?,
                create_program: get(library, c"nvrtcCreateProgram")?,
                add_name_expression: get(library, c"nvrtcAddNameExpression")?,
                compile_program: get(library, c"nvrtcCompileProgram")?,
                log: Output {
                    size: get(library, c"nvrtcGetProgramLogSize")?,
                    get: get(library, c"nvrtcGetProgramLog")?,
                },
                cubin: Output { size: get(library, c"nvrtcGetCUBINSize")?, get: get(library, c"nvrtcGetCUBIN")? },
                ptx: Output { size: get(library, c"nvrtcGetPTXSize")?, get: get(library, c"nvrtcGetPTX")? },
                get_lowered_name: get(library, c"nvrtcGetLoweredName")?,
                destroy_program: get(library, c"nvrtcDestroyProgram")?,
            })
        }
    }

    /// Returns an error if a call did not return 0.
    fn check(&self, status: Status, what: &str) -> Result<(), DeviceError> {
        if status == 0 {
            return Ok(());
        }
        // SAFETY: any status may be asked about; the answer is a text that is never freed.
        let text = unsafe { (self.error_string)(status) };
        let cause = if text.is_null() {
            format!("status {status}")
        } else {
            // SAFETY: the answer is not null, and it is a text that is never freed.
            unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
        };
        Err(DeviceError::Failed { what: what.into(), cause })
    }
}

/// Returns the loader's message without the text around it.
fn told(error: &libloading::Error) -> String {
    std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string)
}

/// Returns the path of a library that the loader found by name; the name if the system does not provide the path.
fn place(name: &Path) -> PathBuf {
    let loaded = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let mut paths = loaded.lines().filter_map(|line| line.find('/').map(|start| Path::new(&line[start..])));
    let named = |path: &&Path| {
        let file = path.file_name().unwrap_or_default().to_string_lossy();
        file.starts_with("libnvrtc.so")
    };
    let bare = name.parent().is_none_or(|folder| folder.as_os_str().is_empty());
    let found = if bare { paths.rfind(|path| named(path)) } else { None };
    found.unwrap_or(name).into()
}

/// The oldest supported version.
const OLDEST: i32 = 12;

impl Nvrtc {
    /// Returns the compiler of this machine, searched once.
    ///
    /// # Errors
    /// Returns an error if there is none; the message lists the places searched.
    pub fn get() -> Result<&'static Nvrtc, DeviceError> {
        static FOUND: OnceLock<Result<Nvrtc, DeviceError>> = OnceLock::new();
        FOUND.get_or_init(Nvrtc::find).as_ref().map_err(Clone::clone)
    }

    fn find() -> Result<Nvrtc, DeviceError> {
        if let Some(named) = std::env::var_os("FANGS_NVRTC").filter(|named| !named.is_empty()) {
            let path = PathBuf::from(named);
            let cannot = |cause| format!("FANGS_NVRTC names {}, which cannot be used: {cause}", path.display());
            return Nvrtc::load(&path).map_err(|cause| DeviceError::Unusable(cannot(cause)));
        }
        // a driver may reject code of a compiler of a later major version
        let driver = driver().map_or(i32::MAX, |(major, _)| major);
        let mut later = None;
        for path in candidates(|name| std::env::var_os(name), &ROOTS) {
            match Nvrtc::load(&path) {
                Ok(nvrtc) if nvrtc.version.0 <= driver => return Ok(nvrtc),
                Ok(nvrtc) => later = later.or(Some(nvrtc)),
                Err(_) => {}
            }
        }
        later.ok_or_else(|| {
            DeviceError::Unusable(format!(
                "the CUDA compiler library (libnvrtc, version {OLDEST} or later) was not found on the loader's path, \
                 in CUDA_PATH, /usr/local/cuda* or Python's packages: install the CUDA toolkit or `pip install \
                 nvidia-cuda-nvrtc-cu12`, or name the file in FANGS_NVRTC"
            ))
        })
    }

    /// Loads a library by its path, or by a name that the loader resolves.
    fn load(path: &Path) -> Result<Nvrtc, String> {
        // SAFETY: loading runs the initialisers of NVIDIA's library, which have no requirements.
        let library = unsafe { Library::new(path) }.map_err(|error| told(&error))?;
        let functions = Functions::of(&library).map_err(|error| told(&error))?;
        let (mut major, mut minor) = (0, 0);
        // SAFETY: both pointers are valid for the call.
        let status = unsafe { (functions.version)(&mut major, &mut minor) };
        functions.check(status, "its version").map_err(|error| error.to_string())?;
        if major < OLDEST {
            return Err(format!("it is version {major}.{minor}, at least {OLDEST}.0 is needed"));
        }
        Ok(Nvrtc { version: (major, minor), path: place(path), functions, _library: library })
    }

    /// Returns the architectures for which it compiles machine code, such as 90.
    ///
    /// # Errors
    /// Returns the library's error.
    pub fn architectures(&self) -> Result<Vec<i32>, DeviceError> {
        let mut count = 0;
        let what = "asking the CUDA compiler for its architectures";
        // SAFETY: the list has the number of entries that the first call returns.
        unsafe {
            self.functions.check((self.functions.get_num_supported_archs)(&mut count), what)?;
            let mut list = vec![0; count.max(0) as usize];
            self.functions.check((self.functions.get_supported_archs)(list.as_mut_ptr()), what)?;
            Ok(list)
        }
    }

    /// Compiles for an architecture, given as 10 * major + minor. If the compiler does not know the architecture yet,
    /// the result is PTX for the latest one before it.
    ///
    /// # Errors
    /// Returns the compiler's messages with file and line, or that the architecture is too old for the compiler.
    pub fn compile(&self, source: &Source, architecture: i32) -> Result<Image, DeviceError> {
        let known = self.architectures()?;
        let (target, machine) = match known.iter().filter(|&&arch| arch <= architecture).max() {
            Some(&arch) => (arch, arch == architecture),
            None => {
                let (major, minor) = self.version;
                return Err(DeviceError::Unusable(format!(
                    "the CUDA compiler {major}.{minor} knows no compute capability {}.{} any more",
                    architecture / 10,
                    architecture % 10
                )));
            }
        };
        let target = if machine { format!("sm_{target}") } else { format!("compute_{target}") };
        let mut options = vec![
            format!("--gpu-architecture={target}"),
            "--std=c++17".into(),
            // results must not depend on which device contracts a product and a sum
            "--fmad=false".into(),
            "-default-device".into(),
            "-lineinfo".into(),
        ];
        options.extend(source.constants.iter().map(|(name, value)| format!("-D{name}={value}")));
        Program::new(&self.functions, source, target)?.compile(&options, machine)
    }
}

/// A program of the compiler.
struct Program<'a> {
    functions: &'a Functions,
    source: &'a Source,
    target: String,
    handle: Handle,
}

impl Drop for Program<'_> {
    fn drop(&mut self) {
        if !self.handle.is_null() {
            // SAFETY: the program was created and is destroyed once. A failure only leaks memory.
            let _ = unsafe { (self.functions.destroy_program)(&mut self.handle) };
        }
    }
}

impl<'a> Program<'a> {
    fn new(functions: &'a Functions, source: &'a Source, target: String) -> Result<Program<'a>, DeviceError> {
        let mut program = Program { functions, source, target, handle: null_mut() };
        let texts = source.includes();
        let headers = texts.iter().map(|(_, text)| program.text(text)).collect::<Result<Vec<_>, _>>()?;
        let headings = texts.iter().map(|(name, _)| program.text(name)).collect::<Result<Vec<_>, _>>()?;
        let (body, title) = (program.text(&source.text)?, program.text(&source.name)?);
        // SAFETY: every string and list outlives the call, which copies them.
        let status = unsafe {
            (functions.create_program)(
                &mut program.handle,
                body.as_ptr(),
                title.as_ptr(),
                headers.len() as c_int,
                pointers(&headers).as_ptr(),
                pointers(&headings).as_ptr(),
            )
        };
        program.check(status, "the program")?;
        Ok(program)
    }

    fn compile(self, options: &[String], machine: bool) -> Result<Image, DeviceError> {
        let options = options.iter().map(|option| self.text(option)).collect::<Result<Vec<_>, _>>()?;
        let kernels = self.source.kernels.iter().map(|kernel| self.text(kernel)).collect::<Result<Vec<_>, _>>()?;
        for (kernel, expression) in self.source.kernels.iter().zip(&kernels) {
            // SAFETY: the program is alive; the string outlives the call.
            let status = unsafe { (self.functions.add_name_expression)(self.handle, expression.as_ptr()) };
            self.check(status, kernel)?;
        }
        let list = pointers(&options);
        // SAFETY: the program is alive; the options outlive the call.
        let status = unsafe { (self.functions.compile_program)(self.handle, list.len() as c_int, list.as_ptr()) };
        if status != 0 {
            let log = self.bytes(self.functions.log, "the log")?;
            let log = String::from_utf8_lossy(&log).trim_end_matches(['\0', '\n']).to_string();
            self.check(status, "compilation").map_err(|error| if log.is_empty() { error } else { self.failed(log) })?;
        }
        let mut symbols = Vec::new();
        for (kernel, expression) in self.source.kernels.iter().zip(&kernels) {
            let mut lowered = std::ptr::null();
            // SAFETY: the program is alive; the expression is the one that was added.
            let status = unsafe { (self.functions.get_lowered_name)(self.handle, expression.as_ptr(), &mut lowered) };
            self.check(status, kernel)?;
            if lowered.is_null() {
                return Err(self.failed(format!("{kernel} has no symbol")));
            }
            // SAFETY: the name lives as long as the program.
            let symbol = unsafe { CStr::from_ptr(lowered) };
            symbols.push((kernel.clone(), symbol.to_string_lossy().into_owned()));
        }
        let code = if machine { self.functions.cubin } else { self.functions.ptx };
        Ok(Image { code: self.bytes(code, "the code")?, symbols })
    }

    fn bytes(&self, output: Output, what: &str) -> Result<Vec<u8>, DeviceError> {
        let mut length = 0;
        // SAFETY: the program is alive; the buffer has the length that the library asked for.
        unsafe {
            self.check((output.size)(self.handle, &mut length), what)?;
            let mut buffer = vec![0u8; length];
            self.check((output.get)(self.handle, buffer.as_mut_ptr().cast()), what)?;
            Ok(buffer)
        }
    }

    fn text(&self, text: &str) -> Result<CString, DeviceError> {
        CString::new(text).map_err(|_| self.failed("a text holds a NUL character".into()))
    }

    fn check(&self, status: Status, what: &str) -> Result<(), DeviceError> {
        self.functions.check(status, what).map_err(|error| self.failed(error.to_string()))
    }

    fn failed(&self, log: String) -> DeviceError {
        DeviceError::Compile { kernel: self.source.name.clone(), architecture: self.target.clone(), log }
    }
}

fn pointers(list: &[CString]) -> Vec<Text> {
    list.iter().map(|item| item.as_ptr()).collect()
}
