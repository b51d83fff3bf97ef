//! Sets up the linker flags of a Node addon; does nothing for the pure library.

fn main() {
    #[cfg(feature = "node")]
    napi_build::setup();
}
