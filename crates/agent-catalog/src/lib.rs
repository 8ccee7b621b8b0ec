//! Which agents there are, where they come from, how they are installed and launched.
