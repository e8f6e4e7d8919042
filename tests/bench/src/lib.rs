//! Nothing is exported: the package is its benchmark, in `benches`. A package of its own, so that
//! what it compares with is nobody else's dependency.
