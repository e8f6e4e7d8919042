//! Stories across the parts: one binary, one module per story.

mod architecture;
