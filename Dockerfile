# One image for datanodes and placedrivers: `docker build -t kvorum .`, then
# `docker run --init -v DIR:/etc/kvorum -v VOLUME:/var/lib/kvorum kvorum datanode --config /etc/kvorum/FILE`,
# whose `listen` is 0.0.0.0. Without a command it runs a whole cluster on the loopback interface: that
# of this machine with `docker run --init --network host kvorum`, else of the container alone.
FROM node:20-bookworm-slim AS build
WORKDIR /kvorum
COPY package.json package-lock.json tsconfig.json ./
RUN npm ci --no-audit --no-fund
COPY src ./src
RUN npm run --silent build && npm prune --omit=dev

FROM node:20-bookworm-slim
# the second: what `cli/node-flags.ts` says of glibc
ENV NODE_ENV=production GLIBC_TUNABLES=glibc.malloc.arena_max=2:glibc.malloc.mxfast=0:glibc.malloc.tcache_unsorted_limit=32
WORKDIR /kvorum
COPY --from=build /kvorum/package.json ./
COPY --from=build /kvorum/node_modules ./node_modules
COPY --from=build /kvorum/dist ./dist
COPY configs ./configs
RUN ln -s /kvorum/dist/cli/kvorum.js /usr/local/bin/kvorum \
  && chmod +x dist/cli/kvorum.js \
  && mkdir -p /var/lib/kvorum /var/log/kvorum \
  && chown node:node /var/lib/kvorum /var/log/kvorum
USER node
ENTRYPOINT ["kvorum"]
CMD ["start", "--data", "/var/lib/kvorum/cluster"]
