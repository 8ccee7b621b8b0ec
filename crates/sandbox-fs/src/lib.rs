//! The file service: paths, confinement, atomic writes, archives. No HTTP in it.
