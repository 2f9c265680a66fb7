//! Hardware breakpoints: breakpoints in code set by debug registers.
