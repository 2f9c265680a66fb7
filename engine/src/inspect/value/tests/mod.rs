//! Values of compiled programs, compared with their expected texts.

mod built;
mod c;
mod contents;
mod cpp;
mod cpp_std;
mod expressions;
mod harness;
mod library;
mod noise;
mod objc;
mod random;
mod rust;
mod rust_state;
mod rust_std;
mod swift;
mod written;
