//! Tests of a device: memory, launches, streams, graphs, the cache. They are skipped without a device.

#![allow(unsafe_code, reason = "launches of kernels")]

use fangs_device::{Blocks, CudaSlice, CudaStream, DeviceError, Kernel, PushKernelArg, Source};
use fangs_testing::gpu;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

type Result<T = ()> = std::result::Result<T, DeviceError>;

/// `add<N>` adds N to each of `count` numbers but leaves one unchanged for each missing thread; `spin` takes a while.
const TEXT: &str = "#include \"rng.cuh\"
template <int N> __global__ void add(int *numbers, unsigned count) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) numbers[i] += N;
}
__global__ void spin(int *numbers, unsigned count, int rounds) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    int sum = numbers[i];
    for (int round = 0; round < rounds; round++) sum = sum * 3 + 1;
    numbers[i] = sum;
}
";

fn source() -> Source {
    ["add<5>", "spin"].into_iter().fold(fangs_kernels::own("own.cu", TEXT), Source::kernel)
}

fn add(stream: &CudaStream, kernel: &Kernel, numbers: &mut CudaSlice<i32>) -> Result {
    let count = numbers.len() as u32;
    // SAFETY: the arguments are those of `add`.
    unsafe {
        kernel.launch(stream, Blocks::new(count.div_ceil(128), 128), |arguments| arguments.arg(numbers).arg(&count))
    }
}

#[test]
fn memory_goes_there_and_back() -> Result {
    let Some(cuda) = gpu() else { return Ok(()) };
    for length in [0, 1, 7, 1000, 1 << 20] {
        let items: Vec<i64> = (0..length).map(|i| i * 977 - 5).collect();
        let mut memory = cuda.upload(&items)?;
        assert_eq!((cuda.read(&memory)?, memory.len()), (items.clone(), items.len()));
        let half: Vec<i64> = items[..items.len() / 2].iter().map(|item| -item).collect();
        cuda.write(&half, &mut memory)?;
        assert_eq!(cuda.read(&memory)?, [&half, &items[half.len()..]].concat());
        assert_eq!(cuda.read(&cuda.zeros::<u16>(length as usize)?)?, vec![0; length as usize]);
    }
    let error = cuda.write(&[1, 2, 3], &mut cuda.zeros::<i32>(2)?).expect_err("three do not fit into two");
    assert!(error.to_string().contains("room for 2"), "{error}");
    let memory = cuda.memory()?;
    assert!(memory.free <= memory.total);
    for length in [memory.total as usize, usize::MAX / 16, usize::MAX] {
        let error = cuda.reserve::<u64>(length).expect_err("there is not so much").to_string();
        assert!(error.starts_with("taking "), "{error}");
    }
    // the device works after a refused request
    assert_eq!(cuda.read(&cuda.upload(&[3, 4])?)?, [3, 4]);
    Ok(())
}

#[test]
fn kernels_run_and_errors_name_them() -> Result {
    let Some(cuda) = gpu() else { return Ok(()) };
    let module = cuda.load(&source())?;
    let kernel = module.kernel("add<5>", 0)?;
    assert!(kernel.registers() > 0 && kernel.blocks_per_multiprocessor(128, 0)? > 0);
    let mut numbers = cuda.upload(&[1, 2, 3])?;
    add(cuda.stream(), &kernel, &mut numbers)?;
    assert_eq!(cuda.read(&numbers)?, [6, 7, 8]);
    let error = module.kernel("add<6>", 0).expect_err("it was not asked for").to_string();
    assert!(error.contains("add<6> of own.cu"), "{error}");
    let error = module.kernel("add<5>", 10 << 20).expect_err("no block has 10 MiB").to_string();
    assert!(error.contains("add<5> of own.cu") && error.contains("shared memory"), "{error}");
    // SAFETY: the kernel is not launched, because no block has 4096 threads.
    let refused = unsafe { kernel.launch(cuda.stream(), Blocks::new(1, 4096), |arguments| arguments.arg(&numbers)) };
    let error = refused.expect_err("no block has 4096 threads").to_string();
    assert!(error.starts_with("launching add<5> of own.cu with 1 blocks of 4096 threads"), "{error}");
    Ok(())
}

#[test]
fn kernels_are_compiled_beside_other_work() -> Result {
    let Some(cuda) = gpu() else { return Ok(()) };
    // no earlier run has compiled this source
    let stamp = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |elapsed| elapsed.as_nanos());
    let new = source().constant("STAMP", stamp);
    assert!(cuda.poll(&new, Duration::ZERO)?.is_none());
    let module = cuda.load(&new)?;
    assert!(!module.compiled().cached);
    let again = cuda.poll(&new, Duration::ZERO)?;
    assert!(again.is_some_and(|again| Arc::ptr_eq(&again, &module)));
    let mut numbers = cuda.upload(&[1, 2, 3])?;
    add(cuda.stream(), &module.kernel("add<5>", 0)?, &mut numbers)?;
    assert_eq!(cuda.read(&numbers)?, [6, 7, 8]);
    let mut wrong = source();
    wrong.text.push_str("\nnonsense");
    for _ in 0..2 {
        let error = cuda.load(&wrong).expect_err("that is no program").to_string();
        assert!(error.contains("own.cu") && error.contains("nonsense"), "{error}");
    }
    Ok(())
}

#[test]
fn copies_run_beside_work() -> Result {
    let Some(cuda) = gpu() else { return Ok(()) };
    let module = cuda.load(&source())?;
    let kernel = module.kernel("spin", 0)?;
    let (slices, count, rounds) = (8usize, 1u32 << 20, 2000i32);
    let input = |slice: usize| move |i: u32| (i as i32).wrapping_mul(31).wrapping_add(slice as i32);
    let copies = cuda.fork()?;
    // two buffers of each kind: one for computing, one for copying
    let mut staged = [cuda.pinned::<i32>(count as usize)?, cuda.pinned(count as usize)?];
    let mut results = [cuda.pinned::<i32>(count as usize)?, cuda.pinned(count as usize)?];
    let mut memory = [cuda.reserve::<i32>(count as usize)?, cuda.reserve(count as usize)?];
    let mut done = [None, None];
    let expected = |number: i32| (0..rounds).fold(number, |sum, _| sum.wrapping_mul(3).wrapping_add(1));
    let check = |slice: usize, found: &[i32]| {
        for i in [0, 1, 777, count - 1] {
            assert_eq!(found[i as usize], expected(input(slice)(i)), "slice {slice}, item {i}");
        }
    };
    for slice in 0..slices {
        let turn = slice % 2;
        if let Some(done) = &done[turn] {
            cuda.wait(&copies, done)?;
            results[turn].download(&copies, &memory[turn])?;
        }
        staged[turn].items_mut()?.iter_mut().zip(0..).for_each(|(item, i)| *item = input(slice)(i));
        staged[turn].upload(&copies, count as usize, &mut memory[turn])?;
        cuda.wait(cuda.stream(), &cuda.mark(&copies)?)?;
        // SAFETY: the arguments are those of `spin`.
        unsafe {
            kernel.launch(cuda.stream(), Blocks::new(count.div_ceil(256), 256), |arguments| {
                arguments.arg(&mut memory[turn]).arg(&count).arg(&rounds)
            })?;
        }
        done[turn] = Some(cuda.mark(cuda.stream())?);
        if slice >= 2 {
            check(slice - 2, results[turn].items()?);
        }
    }
    for slice in slices - 2..slices {
        let turn = slice % 2;
        check(slice, &cuda.read(&memory[turn])?);
    }
    Ok(())
}

#[test]
fn recording_leaves_the_work_of_others_alone() -> Result {
    let Some(cuda) = gpu() else { return Ok(()) };
    let kernel = cuda.load(&source())?.kernel("add<5>", 0)?;
    let mut numbers = cuda.upload(&[1, 2, 3])?;
    let other = || {
        let mut numbers = cuda.upload(&[4])?;
        add(cuda.stream(), &kernel, &mut numbers)?;
        cuda.read(&numbers)
    };
    let mut recorded = cuda.record(|stream| {
        add(stream, &kernel, &mut numbers)?;
        let read = std::thread::scope(|scope| scope.spawn(other).join()).expect("no thread panics")?;
        assert_eq!(read, [9]);
        Ok(())
    })?;
    assert_eq!(cuda.read(&numbers)?, [1, 2, 3]);
    recorded.launch(&cuda)?;
    recorded.launch(&cuda)?;
    assert_eq!(cuda.read(&numbers)?, [11, 12, 13]);
    Ok(())
}
