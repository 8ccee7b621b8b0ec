# A minimal replacement for the Rust base image of our Dockerfile.
FROM base:debian
RUN apt-get update && apt-get install -y --no-install-recommends gcc libc6-dev && rm -rf /var/lib/apt/lists/*
ENV RUSTUP_HOME=/usr/local/rustup CARGO_HOME=/usr/local/cargo PATH=/usr/local/cargo/bin:$PATH
COPY rustup /usr/local/cargo/bin/rustup
RUN for tool in cargo rustc rustdoc; do ln -s rustup "/usr/local/cargo/bin/$tool"; done
COPY . /usr/local/toolchain
RUN rustup toolchain link given /usr/local/toolchain && rustup default given
