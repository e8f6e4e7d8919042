//! One binary, one module per story.
