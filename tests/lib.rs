//! System tests live in `system/`; this library is empty.
