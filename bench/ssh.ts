import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { freePort, makeKey, serveSsh } from '@stackquay/testkit'
import type { Service } from '../e2e/support/service.ts'
import { addSshKey } from '../e2e/support/ssh-client.ts'
import { atLeast, atMost, type Benchmark, type Table } from './benchmark.ts'
import { withService } from './instance.ts'
import { median } from './numbers.ts'

const run = promisify(execFile)

export const benchmark: Benchmark = {
  title: 'SSH and SFTP',
  about: `The clients of OpenSSH against the service and against OpenSSH’s own \`sshd\` with \`internal-sftp\`, both on loopback, in alternating rounds of one run. A file of 1 GB and
10,000 files of 1 KB by \`sftp\`; the time of a new connection with a command, and with an SFTP session that does nothing. Medians; a ratio is the median of those of the rounds, because both sides of a round had
much the same machine. The processor’s time is that of all processes of the side, without the client’s. The time of a connection holds the start of the client and the key exchange; what the service adds is the
difference to \`sshd\`.`,
  measure: async ({ quick }) => {
    const port = await freePort()
    return await withService((service) => measure(service, port, quick), {
      env: { STACKQUAY_SSH: `127.0.0.1:${port}` },
    })
  },
}

/** One of the two that are compared. */
interface Side {
  readonly at: string
  readonly options: readonly string[]
  /** In front of a path on its side. */
  readonly folder: string
  /** What its processes have used so far, in milliseconds. */
  cpu(): number
}

async function measure(service: Service, port: number, quick: boolean) {
  const work = await mkdtemp(join(tmpdir(), 'stackquay-bench-ssh-'))
  await chmod(work, 0o755)
  const key = join(work, 'key')
  await makeKey(key, 'ed25519')
  await using sshd = await serveSsh(join(work, 'sshd'), key, 'ed25519-bench')
  await service.client.call('createProject', {
    body: { name: 'Shop', template: 'static', start: false },
    query: { wait: 60 },
  })
  await addSshKey(service, key)
  const common = [
    '-i',
    key,
    '-o',
    'IdentitiesOnly=yes',
    '-o',
    'StrictHostKeyChecking=no',
    '-o',
    'UserKnownHostsFile=/dev/null',
    '-o',
    'LogLevel=ERROR',
    '-o',
    'BatchMode=yes',
  ]
  const sshdPid = Number(await readFile(join(work, 'sshd', 'pid'), 'utf8'))
  const far = join(work, 'far')
  await mkdir(far)
  const sides = {
    ours: {
      at: 'shop@127.0.0.1',
      options: [...common, '-o', `Port=${port}`],
      folder: '/',
      cpu: () => usedByChildren(service.pid()),
    },
    sshd: {
      at: `${userInfo().username}@127.0.0.1`,
      options: [...common, '-o', `Port=${sshd.port}`],
      folder: `${far}/`,
      cpu: () => used(sshdPid) + usedByEnded(sshdPid),
    },
  }
  try {
    const found = await rounds(sides, work, {
      bytes: quick ? 256e6 : 1e9,
      files: quick ? 1000 : 10_000,
      rounds: quick ? 1 : 3,
    })
    return report(found, quick)
  } finally {
    await rm(work, { recursive: true, force: true })
  }
}

const acts = ['put', 'get', 'putMany', 'getMany', 'exec', 'sftp'] as const
type Act = (typeof acts)[number]
type ByAct = Readonly<Record<Act, number>>
interface Found {
  readonly ours: ByAct
  readonly sshd: ByAct
  readonly ratios: ByAct
  /** Of the processor, in milliseconds; of connections it is not measured. */
  readonly used: { readonly ours: ByAct; readonly sshd: ByAct }
  readonly bytes: number
  readonly files: number
}

async function rounds(
  sides: Readonly<Record<'ours' | 'sshd', Side>>,
  work: string,
  { bytes, files, rounds }: { readonly bytes: number; readonly files: number; readonly rounds: number },
): Promise<Found> {
  const times = { ours: emptyTimes(), sshd: emptyTimes() }
  const usedIn = { ours: emptyTimes(), sshd: emptyTimes() }
  const big = join(work, 'big')
  await writeFile(big, Buffer.alloc(bytes, 'stackquay '))
  const many = join(work, 'many')
  await mkdir(many)
  for (let at = 0; at < files; at += 1) await writeFile(join(many, `file-${at}`), Buffer.alloc(1024, 'x'))
  for (let round = 0; round < rounds; round += 1) {
    for (const name of round % 2 === 0 ? (['ours', 'sshd'] as const) : (['sshd', 'ours'] as const)) {
      const side = sides[name]
      const batch = async (act: Act, line: string) => {
        const before = side.cpu()
        times[name][act].push(await timed(() => sftp(side, line, work)))
        // What a process has used is known of it by its parent when it is gone.
        await delay(200)
        usedIn[name][act].push(side.cpu() - before)
      }
      await batch('put', `put ${big} ${side.folder}big`)
      await batch('get', `get ${side.folder}big ${work}/back`)
      await batch('putMany', `put -r ${many} ${side.folder}many`)
      await batch('getMany', `get -r ${side.folder}many ${work}/many-back`)
      await rm(`${work}/many-back`, { recursive: true })
      await rm(`${work}/back`)
    }
  }
  for (let round = 0; round < rounds * 7; round += 1) {
    for (const name of ['ours', 'sshd'] as const) {
      const { options, at } = sides[name]
      times[name].exec.push(await timed(() => run('ssh', [...options, at, 'true'])))
      times[name].sftp.push(await timed(() => sftp(sides[name], 'pwd', work)))
    }
  }
  const ratioOf = (act: Act) => median(times.sshd[act].map((time, round) => time / times.ours[act][round]!))
  return {
    ours: byAct((act) => median(times.ours[act])),
    sshd: byAct((act) => median(times.sshd[act])),
    ratios: byAct(ratioOf),
    used: {
      ours: byAct((act) => (usedIn.ours[act].length === 0 ? 0 : median(usedIn.ours[act]))),
      sshd: byAct((act) => (usedIn.sshd[act].length === 0 ? 0 : median(usedIn.sshd[act]))),
    },
    bytes,
    files,
  }
}

function byAct(of: (act: Act) => number): Record<Act, number> {
  return Object.fromEntries(acts.map((act) => [act, of(act)])) as Record<Act, number>
}

function emptyTimes(): Record<Act, number[]> {
  return { put: [], get: [], putMany: [], getMany: [], exec: [], sftp: [] }
}

async function sftp({ options, at }: Side, line: string, work: string): Promise<void> {
  const batch = join(work, 'batch')
  await writeFile(batch, `${line}\n`)
  await run('sftp', [...options, '-q', '-b', batch, at], { maxBuffer: 64 << 20 })
}

async function timed(act: () => Promise<unknown>): Promise<number> {
  const before = performance.now()
  await act()
  return performance.now() - before
}

function report({ ours, sshd, ratios, used, bytes, files }: Found, quick: boolean) {
  const speed = (ms: number) => `${Math.round(bytes / 1e3 / ms)} MB/s`
  const rate = (ms: number) => `${Math.round((files * 1000) / ms)} files/s`
  const ms = (value: number) => `${Math.round(value)} ms`
  const size = quick ? '256 MB' : '1 GB'
  const cpu = (act: Act, of: ByAct, per: number) => `${Math.round((of[act] * 1000) / per)} µs`
  const table: Table = [
    ['', 'Stackquay', '`sshd`', 'ratio', 'processor, Stackquay', 'processor, `sshd`'],
    ...(['put', 'get'] as const).map((act) => [
      `${act} ${size}`,
      speed(ours[act]),
      speed(sshd[act]),
      ratios[act].toFixed(2),
      `${cpu(act, used.ours, bytes / 1e6)} a MB`,
      `${cpu(act, used.sshd, bytes / 1e6)} a MB`,
    ]),
    ...(['putMany', 'getMany'] as const).map((act) => [
      `${act.slice(0, 3)} ${files} files`,
      rate(ours[act]),
      rate(sshd[act]),
      ratios[act].toFixed(2),
      `${cpu(act, used.ours, files)} a file`,
      `${cpu(act, used.sshd, files)} a file`,
    ]),
    ['connection with a command', ms(ours.exec), ms(sshd.exec), ratios.exec.toFixed(2), '', ''],
    ['connection with SFTP', ms(ours.sftp), ms(sshd.sftp), ratios.sftp.toFixed(2), '', ''],
  ]
  const bars = [
    atLeast(`put ${size}, against sshd`, ratios.put, 0.7),
    atLeast(`get ${size}, against sshd`, ratios.get, 0.7),
    atLeast('put many files, against sshd', ratios.putMany, 0.7),
    atLeast('get many files, against sshd', ratios.getMany, 0.7),
    atMost('a session of SFTP, beyond sshd', Math.max(0, ours.sftp - sshd.sftp), 60, 'ms'),
  ]
  return { tables: [table], bars }
}

/** Of those that run, and of those that ended and were waited for. */
function usedByChildren(pid: number): number {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean)
  return usedByEnded(pid) + children.reduce((sum, child) => sum + used(Number(child)), 0)
}

function used(pid: number): number {
  return ticksOf(pid, 11, 12)
}

function usedByEnded(pid: number): number {
  return ticksOf(pid, 13, 14)
}

function ticksOf(pid: number, ...fields: readonly number[]): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  // The second field is the program's name and may hold spaces and brackets.
  const values = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return fields.reduce((sum, field) => sum + Number(values[field]) * 10, 0)
}
