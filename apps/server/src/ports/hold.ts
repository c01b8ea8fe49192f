import { dlopen } from 'node:ffi'
import { renameSync, writeFileSync } from 'node:fs'
import { networkInterfaces } from 'node:os'
import { addressBytes } from '@stackquay/proxy/listeners'
import type { HeldAddress } from './held-addresses.ts'
import { addressText } from './held-addresses.ts'
import { type HeldPorts, identify } from './held-ports.ts'

/*
 * The program that holds ports. It binds a socket at each address, writes down who it is, and becomes a shell that sleeps
 * until the home is gone: about 2 MB, and nothing that could fail.
 *
 * The sockets are bound and do not listen, so a stopped service refuses connections as it should. SO_REUSEPORT lets the
 * service, which is root too, listen at the same address; the kernel lets no other user join. SO_REUSEADDR must be off, or
 * anybody could bind beside a socket that does not listen; Node cannot leave it out, so the calls go to the C library.
 *
 * Arguments: the home, and the addresses as JSON.
 */

const [home = '', text = '[]'] = process.argv.slice(2)
const wanted = JSON.parse(text) as readonly HeldAddress[]
const missing: { address: string; reason: string }[] = []
const held: string[] = []

const AF_INET = 2
const AF_INET6 = 10
const SOCK_STREAM = 1
const SOL_SOCKET = 1
const SO_REUSEADDR = 2
const SO_REUSEPORT = 15
const IPPROTO_IPV6 = 41
const IPV6_V6ONLY = 26

type Type = 'i32' | 'u32' | 'pointer'
/** Both spellings: the module is experimental, and versions of Node differ in what they call these. */
const takes = (...types: Type[]) => ({ arguments: types, parameters: types, return: 'i32', result: 'i32' }) as const
const { functions: c } = dlopen(null, {
  socket: takes('i32', 'i32', 'i32'),
  setsockopt: takes('i32', 'i32', 'i32', 'pointer', 'u32'),
  bind: takes('i32', 'pointer', 'u32'),
  close: takes('i32'),
})

for (const address of wanted) {
  const reason = hold(address)
  if (reason === null) held.push(addressText(address))
  else if (address.listens) {
    process.stderr.write(`${addressText(address)} cannot be held: ${reason}\n`)
    process.exit(3)
  } else if (reason !== 'no such address') missing.push({ address: addressText(address), reason })
}
const facts: HeldPorts = { ...identify(process.pid)!, addresses: held, missing, wanted: wanted.map(addressText) }
writeFileSync(`${home}/ports.json.new`, JSON.stringify(facts), { mode: 0o600, flush: true })
renameSync(`${home}/ports.json.new`, `${home}/ports.json`)

// The output is closed when all is done: whoever waits for that knows.
const script = 'exec </dev/null >/dev/null 2>&1; while [ -e "$1" ]; do sleep 10; done'
process.execve!('/bin/sh', ['sh', '-c', script, 'stackquay-ports', home], { PATH: '/usr/bin:/bin' })

/** Null when it is held, else why not. The descriptor stays open on purpose, over the change of program too. */
function hold({ host, port }: HeldAddress): string | null {
  const family = host.includes(':') ? AF_INET6 : AF_INET
  const fd = c.socket(family, SOCK_STREAM, 0) as number
  if (fd < 0) return 'no such address'
  set(fd, SOL_SOCKET, SO_REUSEPORT, 1)
  // `::` alone means both families to the service; beside 0.0.0.0 it is one of two.
  const isPair = wanted.some((one) => one.port === port && one.host === '0.0.0.0' && one.listens)
  if (family === AF_INET6) set(fd, IPPROTO_IPV6, IPV6_V6ONLY, host !== '::' || isPair ? 1 : 0)
  const bytes = socketAddress(family, host, port)
  if (bind(fd, bytes)) return null
  // Connections that ended a moment ago may be in the way. Only now: the kernel remembers of a port that nobody else has
  // whether its first socket had this option.
  set(fd, SOL_SOCKET, SO_REUSEADDR, 1)
  if (bind(fd, bytes)) {
    set(fd, SOL_SOCKET, SO_REUSEADDR, 0)
    return null
  }
  c.close(fd)
  return isOfThisMachine(host) ? 'another program has it' : 'no such address'
}

function bind(fd: number, address: Buffer): boolean {
  return (c.bind(fd, address, address.length) as number) === 0
}

function set(fd: number, level: number, option: number, value: number): void {
  const bytes = Buffer.from(Int32Array.of(value).buffer)
  if ((c.setsockopt(fd, level, option, bytes, bytes.length) as number) !== 0) {
    process.stderr.write(`The option ${option} of a socket cannot be set to ${value}.\n`)
    process.exit(4)
  }
}

/** Of the kernel's: family in the machine's byte order, port and address in the network's. */
function socketAddress(family: number, host: string, port: number): Buffer {
  const isSix = family === AF_INET6
  const bytes = Buffer.alloc(isSix ? 28 : 16)
  new Uint16Array(bytes.buffer, bytes.byteOffset, 1)[0] = family
  bytes.writeUInt16BE(port, 2)
  bytes.set(addressBytes(host), isSix ? 8 : 4)
  return bytes
}

function isOfThisMachine(host: string): boolean {
  if (host === '0.0.0.0' || host === '::' || host.startsWith('127.')) return true
  return Object.values(networkInterfaces()).some((addresses) => addresses?.some(({ address }) => address === host))
}
