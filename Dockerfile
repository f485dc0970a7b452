# The images of Mneme: `docker build --target gateway .`, and so for each service and for the command line, mneme. Each holds one static
# binary, certificates and the licences of what is in it, and nothing else. The same sources give the same binaries: the compiler's version
# is exact. Certificates are of the day the base was made: `--build-context golang:1.26.10=docker-image://golang@sha256:...` takes one by digest.
FROM golang:1.26.10 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ENV CGO_ENABLED=0 GOFLAGS="-trimpath -buildvcs=false" GOWORK=off
# The version that the programs print: `docker build --build-arg VERSION=$(make -s version)`.
ARG VERSION=
RUN mkdir /out && go build -ldflags="-s -w -buildid= -X github.com/mneme-memory/mneme/shared/platform/runner.version=$VERSION" -o /out \
      ./services/gateway/cmd/gateway ./services/utilizer/cmd/utilizer ./services/reranker/cmd/reranker \
      ./services/saliencyfilter/cmd/saliency-filter ./services/booster/cmd/booster ./cmd/mneme
RUN make licenses BIN=/out

FROM scratch AS base
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /out/THIRD_PARTY_LICENSES /THIRD_PARTY_LICENSES
USER 65532:65532

FROM base AS gateway
COPY --from=build /out/gateway /gateway
ENTRYPOINT ["/gateway"]

FROM base AS utilizer
COPY --from=build /out/utilizer /utilizer
ENTRYPOINT ["/utilizer"]

FROM base AS reranker
COPY --from=build /out/reranker /reranker
ENTRYPOINT ["/reranker"]

FROM base AS saliency-filter
COPY --from=build /out/saliency-filter /saliency-filter
ENTRYPOINT ["/saliency-filter"]

FROM base AS booster
COPY --from=build /out/booster /booster
ENTRYPOINT ["/booster"]

FROM base AS mneme
COPY --from=build /out/mneme /mneme
ENTRYPOINT ["/mneme"]
