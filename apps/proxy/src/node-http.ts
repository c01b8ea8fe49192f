/**
 * Node's HTTP without what an `import` of it brings along: making the names of a module of Node importable reads each of them, and three of
 * `node:http` (WebSocket and its events) then load fetch, HTTP/2 and web streams: 16 MB that each process would hold for life.
 */
export const { Agent, createServer, request } = process.getBuiltinModule('node:http')
export type Agent = InstanceType<typeof Agent>
