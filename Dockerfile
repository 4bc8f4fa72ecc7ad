# The command `fangs` in a small image, run by a user without privileges.
#
#   docker build -t fangs .
#   docker run --rm -v "$PWD:/data" --user "$(id -u):$(id -g)" fangs solve net.wcsp --time 1m
#
# The target `gpu` adds the CUDA compiler library; the host needs NVIDIA's driver and container toolkit.
#
#   docker build --target gpu -t fangs:gpu .
#   docker run --rm --gpus all fangs:gpu devices

FROM rust:1-slim-bookworm AS build
WORKDIR /source
COPY . .
RUN --mount=type=cache,target=/usr/local/cargo/registry --mount=type=cache,target=/source/target \
    cargo build --profile dist --locked --package fangs --bin fangs \
    && install -D target/dist/fangs /out/fangs

FROM python:3.13-slim-bookworm AS nvrtc
RUN pip install --no-cache-dir --target /nvrtc 'nvidia-cuda-nvrtc-cu12==12.9.*'

FROM debian:bookworm-slim AS runtime
LABEL org.opencontainers.image.title="Fangs" \
      org.opencontainers.image.description="Anytime optimizer for weighted constraint networks" \
      org.opencontainers.image.licenses="MIT OR Apache-2.0"
RUN useradd --uid 10001 --user-group --create-home fangs \
    && install -d -o fangs -g fangs /data
COPY LICENSE-APACHE LICENSE-MIT /usr/share/doc/fangs/
COPY --from=build /out/fangs /usr/local/bin/fangs
USER 10001:10001
WORKDIR /data
ENTRYPOINT ["fangs"]
CMD ["--help"]

FROM runtime AS gpu
USER 0:0
COPY --from=nvrtc /nvrtc/nvidia/cuda_nvrtc/lib/ /usr/local/lib/
RUN ldconfig
ENV NVIDIA_VISIBLE_DEVICES=all \
    NVIDIA_DRIVER_CAPABILITIES=compute,utility
USER 10001:10001

# the default target
FROM runtime
