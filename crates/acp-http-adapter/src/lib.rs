//! One agent process on stdio behind one HTTP endpoint.
