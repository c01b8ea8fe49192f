import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { statSync } from 'node:fs'
import { open, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { type DockerService, lines, startDockerService } from '../e2e/support/docker-service.ts'
import { makeSourceRoot } from '../e2e/support/source-root.ts'
import { atMost, type Benchmark, type Measured } from './benchmark.ts'
import { residentMemory } from './instance.ts'
import { lastLine, type Reading, readAll } from './logs.ts'
import { median, medianRatio } from './numbers.ts'

const megabyte = 1e6
const LINE = 100
/**
 * Bytes a second, with all that Docker writes around them well below what it reads back: the log reader of Docker 20.10 passes
 * over whole files when two of them fill up while it reads one, for whoever follows.
 */
const PACE = 8 * megabyte
/** What the service's memory may rise by, however long the log is. */
const MEMORY = 150

export const benchmark: Benchmark = {
  title: 'Logs of a container',
  about: `A Node.js program in a container prints lines of ${LINE} bytes to stdout, ${PACE / megabyte} MB a second. The service collects
them into its own files while they come; from there, afterwards, one client in a process of its own follows the whole log as WebSocket
frames. Against \`docker logs | wc -c\` of another container that printed the same, and of which Docker keeps everything (of ours it
keeps what its log options say: what was collected is not needed any more). Speed counts the bytes that the program printed; rounds
alternate, the ratio is taken round by round. Memory is how much the control plane's resident memory rises at most, collecting and
reading. Collecting: how long after the program's last write the last line is in our files.`,
  measure: async ({ quick }) => {
    const size = (quick ? 20 : 200) * megabyte
    const root = await makeSourceRoot()
    const service = await startDockerService(['node'], { roots: root.path })
    try {
      const path = await root.folder('printer', {
        'package.json': JSON.stringify({ name: 'printer', scripts: { start: 'node printer.js' } }),
        'printer.js': printer(size),
      })
      return await measure(service, path, size, quick ? 1 : 3)
    } catch (error) {
      console.error(service.output())
      throw error
    } finally {
      await service.close()
      await root.remove()
    }
  },
}

/** Serves, waits until it is told to print, prints, and says when it is done. PACE=0: as fast as it is taken. */
function printer(size: number): string {
  return `const { existsSync, writeFileSync } = require('node:fs')
require('node:http').createServer((_, answer) => answer.end('ok')).listen(process.env.PORT || 8080)
const count = ${size / LINE - 1}
const pace = Number(process.env.PACE || ${PACE / LINE}) || Infinity
const words = ' GET /some/where of somebody was answered with what is there, status=200 ms=17'.padEnd(${LINE - 10}, '.') + '\\n'
let printed = 0
const print = async () => {
  const began = performance.now()
  while (printed < count) {
    let text = ''
    for (let at = 0; at < 1000 && printed < count; at += 1, printed += 1) text += String(printed).padStart(9) + words
    if (!process.stdout.write(text)) await new Promise((resolve) => process.stdout.once('drain', resolve))
    const early = (printed / pace) * 1000 - (performance.now() - began)
    if (early > 5) await new Promise((resolve) => setTimeout(resolve, early))
  }
  process.stdout.write(${JSON.stringify(`${lastLine.padStart(LINE - 1)}
`)}, () => writeFileSync('printed', ''))
}
const waiting = setInterval(() => {
  if (!existsSync('print')) return
  clearInterval(waiting)
  print()
}, 20)
`
}

async function measure(service: DockerService, path: string, size: number, rounds: number): Promise<Measured> {
  const project = await service.client.call('createProject', {
    body: { name: 'Printer', path, node: { version: lines.node } } as object as { name: string },
    query: { wait: 120 },
  })
  if (project.status.state !== 'running')
    throw new Error(`It does not run: ${JSON.stringify(project.operation?.error)}`)
  const [workload] = project.status.workloads
  const collected = await collect(service, join(service.home, 'docker', 'logs', project.id, workload?.name ?? ''), path)
  const theirs = await printElsewhere(service, path)
  const url = `/api/v1/projects/${project.id}/logs/ws`
  // The first reader of a process pays for compiling.
  await readAll(service, `${url}?tail=5000`, 1, 0)
  const own: Reading[] = []
  const cli: number[] = []
  for (let round = 0; round < rounds; round += 1) {
    own.push(await readAll(service, `${url}?cursor=${encodeURIComponent('@')}`, 1, 0))
    cli.push(await dockerLogs(service, theirs, size))
  }
  const took = own.map(({ seconds }) => seconds)
  const lost = size / LINE - Math.min(...own.map((one) => one.lines))
  const speed = (seconds: number) => `${Math.round(size / megabyte / seconds)} MB/s`
  const ratio = medianRatio(cli, took)
  const risen = Math.max(collected.risen, ...own.map((one) => one.risen))
  return {
    tables: [
      [
        [`${size / megabyte} MB, ${(size / LINE).toLocaleString('en')} lines`, 'median', 'speed'],
        ['our WebSocket', `${median(took).toFixed(2)} s`, speed(median(took))],
        ['docker logs', `${median(cli).toFixed(2)} s`, speed(median(cli))],
      ],
      [
        ['collecting', ''],
        ['the program printed for', `${collected.printed.toFixed(2)} s`],
        ['all was stored after its last write in', `${collected.behind.toFixed(2)} s`],
        ['memory of the control plane, collecting', `${Math.round(collected.risen)} MB more`],
        ['memory of the control plane, reading', `${Math.round(Math.max(...own.map((one) => one.risen)))} MB more`],
      ],
    ],
    bars: [
      { what: 'Throughput', measured: `${ratio.toFixed(2)} ×`, bar: '≥ 1.2 × docker logs', kept: ratio >= 1.2 },
      atMost('Lines lost', Math.max(0, lost), 0, 'of them'),
      atMost('Memory', risen, MEMORY, 'MB more'),
    ],
  }
}

interface Collected {
  /** In seconds, from its first write to its last. */
  readonly printed: number
  /** In seconds. */
  readonly behind: number
  /** In megabytes. */
  readonly risen: number
}

async function collect(service: DockerService, logs: string, path: string): Promise<Collected> {
  const memory = residentMemory(service.pid()).all
  let peak = memory
  const look = setInterval(() => {
    peak = Math.max(peak, residentMemory(service.pid()).all)
  }, 20)
  try {
    await writeFile(join(path, 'print'), '')
    const deadline = performance.now() + 120_000
    while (!(await hasLastLine(logs))) {
      if (performance.now() > deadline) throw new Error('The last line was not stored within two minutes.')
      await delay(5)
    }
    const stored = Date.now()
    const [begun, ended] = ['print', 'printed'].map((file) => statSync(join(path, file)).mtimeMs)
    return { printed: (ended! - begun!) / 1000, behind: Math.max(0, stored - ended!) / 1000, risen: peak - memory }
  } finally {
    clearInterval(look)
  }
}

async function hasLastLine(logs: string): Promise<boolean> {
  for (const name of (await readdir(logs)).filter((file) => file.endsWith('.out'))) {
    await using file = await open(join(logs, name))
    const { size } = await file.stat()
    const { buffer, bytesRead } = await file.read(Buffer.alloc(LINE), 0, LINE, Math.max(0, size - LINE))
    if (buffer.toString('latin1', 0, bytesRead).includes(lastLine)) return true
  }
  return false
}

/** The same program in a container whose log is kept whole. Answers its id, when it has printed all. */
async function printElsewhere({ lab }: DockerService, path: string): Promise<string> {
  const id = await lab.docker([
    'run',
    '--detach',
    '--env',
    'PACE=0',
    '--volume',
    `${path}:/source:ro`,
    lab.image('node'),
    'sh',
    '-c',
    'cd /tmp && touch print && node /source/printer.js',
  ])
  while ((await lab.try(['exec', id, 'test', '-e', '/tmp/printed'])).code !== 0) await delay(100)
  // Only its log is wanted.
  await lab.docker(['kill', id])
  return id
}

async function dockerLogs({ lab }: DockerService, id: string, size: number): Promise<number> {
  const began = performance.now()
  const child = spawn('/bin/sh', ['-c', `docker --host ${lab.host} logs ${id} | wc -c`], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let said = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    said += text
  })
  await once(child, 'close')
  const seconds = (performance.now() - began) / 1000
  if (Number(said) !== size) throw new Error(`docker logs printed ${said.trim()} of ${size} bytes.`)
  return seconds
}
