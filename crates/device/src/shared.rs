//! Definitions shared by Rust and kernels, stated once, in Rust: a generated header declares constants to kernels, and
//! the kernels' compiler asserts that structures have the same layout.

pub use crate::{constants, device_structs};
use std::fmt::Write;

/// The header that declares a source's constants.
pub(super) const CONSTANTS: &str = "constants.cuh";

/// A structure that kernels read or write; `device_structs!` implements it.
pub trait DeviceStruct {
    /// Returns assertions in C++ that the kernels' structure has the same size, and each field the same offset.
    fn assertions() -> String;
}

/// Returns assertions for a structure `name` of `size` bytes, with the offsets of its fields. The compiler has no
/// `offsetof`, so they use the intrinsic behind it.
pub fn assertions(name: &str, size: usize, fields: &[(&str, usize)]) -> String {
    let mut text = format!("\nstatic_assert(sizeof({name}) == {size}, \"the host's {name} has {size} bytes\");\n");
    for (field, place) in fields.iter().filter(|(field, _)| !field.is_empty()) {
        let message = format!("the host's {name} has {field} at {place}");
        // writing to a string cannot fail
        let _ = writeln!(text, "static_assert(__INTADDR__(&(({name} *)0)->{field}) == {place}, \"{message}\");");
    }
    text
}

/// Returns the declaration of a constant in C++, with `value` as the kernels' `u32`, `i32`, `u64` or `i64`.
pub fn declaration(kind: &str, name: &str, value: i128) -> String {
    let (kind, suffix) = match kind {
        "i32" => ("int", ""),
        "u64" => ("unsigned long long", "ull"),
        "i64" => ("long long", "ll"),
        _ => ("unsigned int", "u"),
    };
    format!("constexpr {kind} {name} = {value}{suffix};\n")
}

/// Returns the declaration of a table of `u32` in C++.
pub fn table(name: &str, values: &[u64]) -> String {
    let list: Vec<String> = values.iter().map(u64::to_string).collect();
    format!("__device__ const unsigned int {name}[{}] = {{{}}};\n", values.len(), list.join(", "))
}

/// Defines structures that are passed to kernels, each with its name there: `struct Host as "Kernels" { … }`. A field
/// that has another name in the kernels states it too: `host as "kernels": u32`; one that is padding there has the name
/// `""`. The structures have C layout and no padding on the host.
#[macro_export]
macro_rules! device_structs {
    ($(
        $(#[$attribute:meta])*
        $visibility:vis struct $name:ident as $theirs:literal {
            $($(#[$note:meta])* $access:vis $field:ident $(as $own:literal)? : $type:ty,)+
        }
    )+) => {$(
        $(#[$attribute])*
        #[repr(C)]
        $visibility struct $name {
            $($(#[$note])* $access $field: $type,)+
        }

        const _: () = assert!(size_of::<$name>() == 0 $(+ size_of::<$type>())+, "there is padding");

        #[allow(unsafe_code, reason = "kernels read it byte by byte")]
        // SAFETY: fields in C's layout without padding; the kernels' compiler asserts that they lie the same there.
        unsafe impl $crate::DeviceRepr for $name {}

        impl $crate::DeviceStruct for $name {
            fn assertions() -> String {
                let fields = [$(($crate::device_structs!(@name $field $($own)?),
                    std::mem::offset_of!($name, $field))),+];
                $crate::shared::assertions($theirs, size_of::<$name>(), &fields)
            }
        }
    )+};
    (@name $field:ident) => { stringify!($field) };
    (@name $field:ident $own:literal) => { $own };
}

/// Declares constants to kernels, by the types that they have there: `constants! { u32: ROWS, TILES; u64: NEVER; }` is
/// a text for `Source::declare`.
#[macro_export]
macro_rules! constants {
    ($($kind:ident: $($name:ident),+;)+) => {{
        $($(const _: () = assert!($name as i128 == ($name as $kind) as i128, "it does not fit");)+)+
        [$($($crate::shared::declaration(stringify!($kind), stringify!($name), $name as i128)),+),+].concat()
    }};
}

#[cfg(test)]
mod tests {
    device_structs! {
        /// A structure for a test.
        #[derive(Clone, Copy, Debug)]
        pub(super) struct Host as "Kernels" {
            /// The first field.
            pub first: u64,
            tile as "x": [u32; 3],
            last: i32,
        }
    }

    #[test]
    fn structures_and_constants_as_kernels_read_them() {
        let host = Host { first: 0, tile: [0; 3], last: 0 };
        assert_eq!(size_of_val(&host) + size_of_val(&(host.tile, host.last)), 24 + 16);
        let lines: Vec<String> = <Host as crate::DeviceStruct>::assertions().trim().lines().map(String::from).collect();
        assert_eq!(lines.len(), 4);
        assert_eq!(lines[0], "static_assert(sizeof(Kernels) == 24, \"the host's Kernels has 24 bytes\");");
        assert!(lines[2].starts_with("static_assert(__INTADDR__(&((Kernels *)0)->x) == 8,"), "{}", lines[2]);
        const ROWS: usize = 30;
        const NEVER: i64 = 1 << 56;
        let declared = constants! { u32: ROWS; i64: NEVER; };
        assert_eq!(declared, "constexpr unsigned int ROWS = 30u;\nconstexpr long long NEVER = 72057594037927936ll;\n");
    }
}
