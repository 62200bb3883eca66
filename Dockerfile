# Two images from one build: docker build --target address-controller . and docker build --target metallb-iad .
ARG BASE=debian:12
FROM ${BASE} AS build
WORKDIR /src
COPY . .
RUN apt-get update -qq && ./check --build && strip build/bin/* && scripts/runtime-packages build/bin/* >/runtime-packages

# Only the libraries that the programs name, and what those need; nothing else is added to the distribution's base.
FROM ${BASE}-slim AS runtime
RUN --mount=type=bind,from=build,source=/runtime-packages,target=/runtime-packages \
    apt-get update -qq && \
    DEBIAN_FRONTEND=noninteractive xargs -a /runtime-packages apt-get install -y -qq --no-install-recommends && \
    rm -rf /var/lib/apt/lists/* /var/cache/apt /var/log/*
USER 65532:65532

FROM runtime AS address-controller
COPY --from=build /src/build/bin/address-controller /usr/bin/address-controller
ENTRYPOINT ["/usr/bin/address-controller"]

FROM runtime AS metallb-iad
COPY --from=build /src/build/bin/metallb-iad /usr/bin/metallb-iad
ENTRYPOINT ["/usr/bin/metallb-iad"]
