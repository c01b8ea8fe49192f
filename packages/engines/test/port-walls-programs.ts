import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'

/** Programs of tests that answer on ports, and that try to reach them, as the user they are given. */

export interface Reach {
  readonly protocol: 'tcp' | 'udp'
  readonly host: string
  readonly port: number
  /** Of the caller; the kernel's choice when it is not given. */
  readonly localPort?: number
}

export interface Reached extends Reach {
  /** What was answered, or the code of the error. */
  readonly result: string
  readonly ms: number
}

const SERVER = `
const [ports, name] = JSON.parse(process.argv[1])
let left = 0
const ready = () => { left -= 1; if (left === 0) console.log('ready') }
for (const port of ports) {
  left += 2
  require('node:net').createServer((socket) => socket.on('error', () => {}).end(name)).listen(port, '::', ready)
  const udp = require('node:dgram').createSocket('udp6')
  udp.on('message', (_, from) => udp.send(name, from.port, from.address))
  udp.bind(port, '::', ready)
}`

/** Answers its name on each port, TCP and UDP, IPv4 and IPv6. Ended with the test. */
export async function serve(uid: number, ports: readonly number[], name: string): Promise<ChildProcess> {
  const child = asUser(uid, ['-e', SERVER, JSON.stringify([ports, name])])
  const [text] = (await once(child.stdout!, 'data')) as [Buffer]
  if (!text.toString().startsWith('ready')) throw new Error(`The server of ${name} did not start: ${text}`)
  return child
}

const CLIENT = `
const tries = JSON.parse(process.argv[1])
const tcp = ({ host, port, localPort }) => new Promise((resolve) => {
  const socket = require('node:net').connect({ host, port, localPort })
  let text = ''
  socket.on('data', (data) => { text += data })
  socket.on('error', (error) => resolve(error.code))
  socket.on('close', () => resolve(text))
})
const udp = ({ host, port }) => new Promise((resolve) => {
  const socket = require('node:dgram').createSocket(host.includes(':') ? 'udp6' : 'udp4')
  socket.on('message', (data) => resolve(String(data)))
  socket.on('error', (error) => resolve(error.code))
  // Not connected: a server on all addresses may answer from another one than it was asked at.
  socket.send('?', port, host, (error) => error && resolve(error.code))
})
const main = async () => {
  const results = []
  for (const one of tries) {
    const began = performance.now()
    const late = new Promise((resolve) => setTimeout(resolve, 1000, 'nothing for 1 s'))
    const result = await Promise.race([one.protocol === 'tcp' ? tcp(one) : udp(one), late])
    results.push({ ...one, result, ms: performance.now() - began })
  }
  console.log(JSON.stringify(results))
  process.exit(0)
}
main()`

/** One after the other, by one process of that user. */
export async function reach(uid: number, tries: readonly Reach[]): Promise<readonly Reached[]> {
  return JSON.parse(await output(asUser(uid, ['-e', CLIENT, JSON.stringify(tries)])))
}

const MULTIPATH = `
import json, socket, sys
client = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262)
try:
    client.connect(("127.0.0.1", int(sys.argv[1])))
    print(client.recv(100).decode())
except OSError as error:
    print(type(error).__name__)`

/** By multipath TCP, whose sockets have no file of their own in the kernel. */
export async function reachMultipath(uid: number, port: number): Promise<string> {
  return (await output(spawn('/usr/bin/python3', ['-c', MULTIPATH, String(port)], asOptions(uid)))).trim()
}

function asUser(uid: number, args: readonly string[]): ChildProcess {
  return spawn(process.execPath, args, asOptions(uid))
}

function asOptions(uid: number) {
  return {
    uid,
    gid: uid,
    cwd: '/',
    env: { PATH: '/usr/bin:/bin' },
    stdio: ['ignore', 'pipe', 'inherit'] as ['ignore', 'pipe', 'inherit'],
    timeout: 120_000,
  }
}

async function output(child: ChildProcess): Promise<string> {
  let text = ''
  child.stdout?.on('data', (data) => {
    text += data
  })
  await once(child, 'close')
  return text
}
