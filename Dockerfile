# The server (the default target), the client, and the provider for trying out, each
# alone in an image that holds nothing else but the authorities of TLS:
#
#	docker build --build-arg VERSION="$(git describe --tags --always)" -t teammem-server .
#	docker build --target client -t teammem-client .
#
# scripts/dockerfile.sh replays these lines without a container engine, and tries what
# they make. It knows the instructions used here; RUN lines name no absolute path.
ARG GO_VERSION=1.27.3

FROM golang:${GO_VERSION} AS build
WORKDIR /src
ENV CGO_ENABLED=0
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=devel
RUN mkdir -p out/data && chmod 0700 out/data
RUN go build -trimpath -buildvcs=false -ldflags "-s -w -X main.version=${VERSION}" -o out/bin/ ./cmd/server ./cmd/client ./cmd/devoidc

FROM scratch AS base
ARG VERSION=devel
LABEL org.opencontainers.image.source="https://github.com/teammem/teammem"
LABEL org.opencontainers.image.version="${VERSION}"
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
# What is written lies here and nowhere else: the root may be mounted for reading only.
COPY --from=build --chown=65532:65532 /src/out/data /data
ENV TMPDIR=/data
USER 65532:65532
WORKDIR /data
VOLUME /data

FROM base AS devoidc
LABEL org.opencontainers.image.title="teammem devoidc"
LABEL org.opencontainers.image.description="An OpenID provider to try teammem out with; for no secrets"
COPY --from=build /src/out/bin/devoidc /devoidc
HEALTHCHECK --interval=10s --timeout=5s --start-period=10s CMD ["/devoidc", "-check"]
ENTRYPOINT ["/devoidc"]

FROM base AS client
LABEL org.opencontainers.image.title="teammem client"
LABEL org.opencontainers.image.description="Keeps an agent's memory directory in agreement with its team's"
COPY --from=build /src/out/bin/client /client
ENV HOME=/data
ENTRYPOINT ["/client"]

# Plain http is served on loopback only, so that this needs a certificate
# (TEAMMEM_TLS_CERT, TEAMMEM_TLS_KEY), or TEAMMEM_INSECURE_HTTP=true behind a proxy.
FROM base AS server
LABEL org.opencontainers.image.title="teammem server"
LABEL org.opencontainers.image.description="Team memory for agents"
COPY --from=build /src/out/bin/server /server
ENV TEAMMEM_DATA=/data
ENV TEAMMEM_LISTEN=0.0.0.0:8080
EXPOSE 8080
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s CMD ["/server", "health"]
ENTRYPOINT ["/server"]
