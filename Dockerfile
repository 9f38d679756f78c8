# CPU:  docker build -t laconic . && docker run --rm -v "$PWD/outputs:/runs/outputs" laconic train
# CUDA: docker build --build-arg TORCH_INDEX=https://download.pytorch.org/whl/cu128 -t laconic . && docker run --gpus all ...
FROM python:3.12-slim
ARG TORCH_INDEX=https://download.pytorch.org/whl/cpu
ARG EXTRAS=all

# Inside a container bubblewrap needs `--security-opt seccomp=unconfined`; without it programs are
# graded at the level `process` (SECURITY.md).
# hadolint ignore=DL3008
RUN apt-get update \
 && apt-get install --yes --no-install-recommends bubblewrap \
 && rm -rf /var/lib/apt/lists/*
RUN pip install --no-cache-dir "torch<2.14" --index-url "$TORCH_INDEX"
COPY . /opt/laconic
RUN pip install --no-cache-dir "/opt/laconic[$EXTRAS]"

RUN useradd --create-home --uid 1000 laconic && install --directory --owner laconic /runs
USER 1000
WORKDIR /runs
ENTRYPOINT ["laconic"]
CMD ["train"]
