export { type DnsServer, type ServeDnsOptions, serveDns } from './dns-server.ts'
export { type AcmeServer, type PebbleOptions, servePebble } from './pebble.ts'
