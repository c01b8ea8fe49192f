import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createWriteStream, readFileSync } from 'node:fs'
import { mkdir, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import { finished } from 'node:stream/promises'
import type { Service } from '../e2e/support/service.ts'
import { atMost, type Benchmark } from './benchmark.ts'
import { residentMemory, withService } from './instance.ts'

const megabyte = 1024 * 1024
const workload = 'web'
export const lastLine = 'this is the last line of all'

export const benchmark: Benchmark = {
  title: 'Logs',
  about: `A stored log of one workload, read from its beginning through the API as WebSocket frames by clients in a process of
their own. Speed counts the bytes the program printed, not those of the JSON they come in. Lines have 100 bytes on average,
every tenth is from stderr's file. Memory is how much the control plane's resident memory rose above that before, at most,
looked at every 20 ms. Processor time is the control plane's, all its threads together: it tells of its work also when the
machine is busy with other things.`,
  measure: ({ quick }) =>
    withService(async (service) => {
      const size = (quick ? 20 : 200) * megabyte
      const { project, bytes, lines } = await makeLog(service, size)
      const path = `/api/v1/projects/${project}/logs/ws?cursor=${encodeURIComponent('@')}`
      const read = (readers: number, stopping = 0) => readAll(service, path, readers, stopping)
      // The first reader of a process pays for compiling.
      await readAll(service, `/api/v1/projects/${project}/logs/ws?tail=5000`, 1, 0)
      const one = await read(1)
      if (one.lines !== lines) throw new Error(`${one.lines} lines arrived of ${lines}.`)
      const many = await read(100)
      const slow = await read(1, 1)
      const speed = (seconds: number) => bytes / megabyte / seconds
      const row = (name: string, { seconds, risen, processor }: Reading) => [
        name,
        `${seconds.toFixed(2)} s`,
        `${Math.round(speed(seconds))} MB/s`,
        `${Math.round(risen)} MB`,
        `${processor.toFixed(2)} s`,
      ]
      return {
        tables: [
          [
            [
              `${Math.round(bytes / megabyte)} MB, ${lines.toLocaleString('en')} lines`,
              'all have it after',
              'each reads',
              'memory',
              'processor time',
            ],
            row('1 reader', one),
            row('100 readers', many),
            row('1 reader, beside one that stopped reading', slow),
          ],
        ],
        bars: [
          {
            what: 'One reader',
            measured: `${Math.round(speed(one.seconds))} MB/s`,
            bar: '≥ 80 MB/s',
            kept: speed(one.seconds) >= 80,
          },
          atMost('Memory, one reader', one.risen, 150, 'MB'),
          atMost('Memory, 100 readers', many.risen, 150, 'MB'),
          atMost('Memory, one that stopped reading', slow.risen, 150, 'MB'),
          {
            what: 'Beside one that stopped reading, against alone',
            measured: `${(one.seconds / slow.seconds).toFixed(2)} ×`,
            bar: '≥ 0.8 ×',
            kept: one.seconds / slow.seconds >= 0.8,
          },
        ],
      }
    }),
}

/** A stopped project, and a log in its place as if its program had printed all that. */
async function makeLog(service: Service, size: number): Promise<{ project: string; bytes: number; lines: number }> {
  const project = await service.client.call('createProject', {
    body: { name: 'Logs', template: 'express', start: false },
    query: { wait: 60 },
  })
  const [known] = (await service.client.call('getProject', { params: { id: project.id } })).status.workloads
  const directory = join(service.home, 'logs', project.id, known?.name ?? workload)
  await mkdir(directory, { recursive: true, mode: 0o700 })
  const id = Date.now().toString(36).padStart(9, '0')
  const out = createWriteStream(join(directory, `${id}.out`))
  const err = createWriteStream(join(directory, `${id}.err`))
  let bytes = 0
  let lines = 0
  while (bytes < size) {
    let text = ''
    for (let at = 0; at < 1000; at++, lines++) {
      const words = 'served a request of somebody somewhere and wrote it down here, as programs do, and more '
      text += `${String(lines).padStart(9)} ${words.slice(0, 40 + ((lines * 7919) % 48))} status=200 ms=${lines % 97}\n`
    }
    bytes += text.length
    const stream = lines % 10_000 === 0 ? err : out
    if (!stream.write(text)) await once(stream, 'drain')
  }
  out.end(`${lastLine}\n`)
  err.end()
  await Promise.all([finished(out), finished(err)])
  // No recorder noted times: those of the files count, and the last line is to be the last.
  const earlier = new Date(Date.now() - 60_000)
  await utimes(join(directory, `${id}.err`), earlier, earlier)
  return { project: project.id, bytes, lines: lines + 1 }
}

export interface Reading {
  readonly seconds: number
  readonly lines: number
  /** In megabytes. */
  readonly risen: number
  /** In seconds. */
  readonly processor: number
}

/** Each of the readers reads the whole log at `path`, up to the last line; more of them begin and stop reading. */
export async function readAll(service: Service, path: string, readers: number, stopping: number): Promise<Reading> {
  const before = residentMemory(service.pid()).all
  const busyBefore = processorSeconds(service.pid())
  let peak = before
  const look = setInterval(() => {
    peak = Math.max(peak, residentMemory(service.pid()).all)
  }, 20)
  try {
    const args = [service.url, service.token, path, String(readers), lastLine, String(stopping)]
    const child = spawn(process.execPath, [join(import.meta.dirname, 'logs-readers.ts'), ...args], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    let text = ''
    child.stdout.setEncoding('utf8').on('data', (more: string) => {
      text += more
    })
    const [code] = await once(child, 'close')
    if (code !== 0) throw new Error(`The readers ended with ${code}.`)
    const read = JSON.parse(text) as readonly { seconds: number; lines: number }[]
    return {
      seconds: Math.max(...read.map(({ seconds }) => seconds)),
      lines: read[0]?.lines ?? 0,
      risen: peak - before,
      processor: processorSeconds(service.pid()) - busyBefore,
    }
  } finally {
    clearInterval(look)
  }
}

function processorSeconds(pid: number): number {
  // Behind the program's name in brackets; the kernel counts hundredths.
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  return (Number(fields[11]) + Number(fields[12])) / 100
}
