//! Strings on their way to JS.

use std::ptr;

use napi::bindgen_prelude::{Result, ToNapiValue, TypeName, ValueType, check_status};
use napi::sys;

/// JSON text. ASCII is handed over as Latin-1, which V8 takes as it is.
pub struct Text(pub Vec<u8>);

impl TypeName for Text {
    fn type_name() -> &'static str {
        "string"
    }

    fn value_type() -> ValueType {
        ValueType::String
    }
}

impl ToNapiValue for Text {
    unsafe fn to_napi_value(env: sys::napi_env, text: Text) -> Result<sys::napi_value> {
        let mut value = ptr::null_mut();
        let start = text.0.as_ptr().cast();
        let length = text.0.len() as isize;
        // SAFETY: `env` is the environment of the call that this converts for, and the bytes live until it returns.
        check_status!(
            unsafe {
                if text.0.is_ascii() {
                    sys::napi_create_string_latin1(env, start, length, &mut value)
                } else {
                    sys::napi_create_string_utf8(env, start, length, &mut value)
                }
            },
            "could not create a string"
        )?;
        Ok(value)
    }
}
