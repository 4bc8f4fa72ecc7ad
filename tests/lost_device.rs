//! A kernel that fails. It leaves the process without a device, so this test is alone in its file, which is a separate
//! process. It is skipped without a device.

#![allow(unsafe_code, reason = "launches of kernels")]

use fangs_device::{Blocks, Choice, DeviceError, PushKernelArg};
use fangs_testing::gpu;

type Result<T = ()> = std::result::Result<T, DeviceError>;

const TEXT: &str = "__global__ void broken(int *numbers) { *(int *)8 = numbers[0]; }
";

#[test]
fn a_kernel_that_fails_is_an_error() -> Result {
    let Some(cuda) = gpu() else { return Ok(()) };
    let kernel = cuda.load(&fangs_kernels::own("broken.cu", TEXT).kernel("broken"))?.kernel("broken", 0)?;
    let numbers = cuda.upload(&[1])?;
    let launch = || {
        // SAFETY: none: the kernel writes to an invalid address, which the device detects.
        unsafe { kernel.launch(cuda.stream(), Blocks::new(1, 1), |arguments| arguments.arg(&numbers)) }
    };
    let error = launch().and_then(|()| cuda.synchronize()).expect_err("it writes to address 8").to_string();
    eprintln!("{error}");
    assert!(error.starts_with("waiting for the device: an illegal memory access"), "{error}");
    // every later call fails, and none panics
    let later = [cuda.read(&numbers).err(), cuda.upload(&[1]).err(), launch().err(), cuda.pinned::<u8>(10).err()];
    eprintln!("{later:?}");
    assert!(later[..3].iter().all(Option::is_some));
    drop((numbers, kernel, cuda));
    let again = Choice::Auto.open();
    eprintln!("{:?}", again.as_ref().map(ToString::to_string));
    assert!(again.is_ok_and(|opened| opened.cuda.is_none() == opened.reason.is_some()));
    Ok(())
}
