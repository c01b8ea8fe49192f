import { chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { Service } from '../e2e/support/service.ts'
import { atMost, type Bar, type Benchmark, type Table } from './benchmark.ts'
import { asStarted, proxyPid, residentMemory, withService } from './instance.ts'
import { median, quantile } from './numbers.ts'

const budget = 1024
const awakeMax = 768
const everyMs = 8_000
/** What a program of the size that people have keeps for itself, beside Node. */
const ownMegabytes = 32
const atOnce = 5

export const benchmark: Benchmark = {
  title: 'Many projects that sleep',
  about: `30 projects with \`sleep: {after: 1h}\`, each a Node program that keeps ${ownMegabytes} MB, three of them with a PostgreSQL, on a service with \`STACKQUAY_AWAKE_MAX_MB=${awakeMax}\`; a budget of ${budget} MB for all their
programs is to be kept. They are used as by people who go from one to the next: every ${everyMs / 1000} seconds another gets ${atOnce} requests at once, two times around. One is asked twice a second all the while and may never
sleep; another, with \`after: 1m\`, about as often as it falls asleep, so that requests come while it does. Every request must be answered with 200 by its own project. Memory is that of all processes of all projects, with what
they share counted in part (PSS) and in full (resident). “All awake” is what the same projects take without the setting. A wake is from the request to its answer; “its start” is a start of the stopped project over the API.`,
  measure: async ({ quick }) => {
    const count = quick ? 6 : 30
    const root = await mkdtemp(join(tmpdir(), 'stackquay-bench-sleep-'))
    try {
      await chmod(root, 0o755)
      const started = asStarted()
      const { env } = started
      const act = (service: Service) => measure(service, { root, count, turns: quick ? 1 : 2, env })
      return reportOf(count, await withService(act, { ...started, roots: root }))
    } finally {
      await rm(root, { recursive: true, force: true })
    }
  },
}

type Measurement = Awaited<ReturnType<typeof measure>>

function reportOf(count: number, { allAwake, samples, wakes, starts, asked, faults, restarts }: Measurement) {
  const over = wakes.map(({ milliseconds, kind }) => milliseconds - median(starts[kind]))
  const rest = (pick: (sample: Sample) => number) => samples.map(pick)
  const memory: Table = [
    ['', 'awake', 'resident', 'PSS', 'the service', 'the proxy'],
    ['all awake', String(count), mb(allAwake.resident), mb(allAwake.shared), mb(allAwake.service), mb(allAwake.proxy)],
    [
      'used in turn, median',
      String(median(rest(({ awake }) => awake))),
      mb(median(rest(({ resident }) => resident))),
      mb(median(rest(({ shared }) => shared))),
      mb(median(rest(({ service }) => service))),
      mb(median(rest(({ proxy }) => proxy))),
    ],
    [
      'used in turn, most',
      String(Math.max(...rest(({ awake }) => awake))),
      mb(Math.max(...rest(({ resident }) => resident))),
      mb(Math.max(...rest(({ shared }) => shared))),
      mb(Math.max(...rest(({ service }) => service))),
      mb(Math.max(...rest(({ proxy }) => proxy))),
    ],
  ]
  const waking: Table = [
    ['', 'wakes', 'its start, median', 'wake p50', 'wake p95', 'slowest'],
    ...(['program', 'with a database'] as const).map((kind) => {
      const times = wakes.filter((wake) => wake.kind === kind).map(({ milliseconds }) => milliseconds)
      const shown = times.length === 0 ? [0] : times
      return [
        kind,
        String(times.length),
        ms(median(starts[kind])),
        ms(median(shown)),
        ms(quantile(shown, 0.95)),
        ms(Math.max(...shown)),
      ]
    }),
  ]
  const bars: Bar[] = [
    atMost('memory of all projects (PSS), most', Math.max(...rest(({ shared }) => shared)), budget, 'MB'),
    atMost(
      'a wake beyond a start, p95',
      over.length === 0 ? Number.POSITIVE_INFINITY : quantile(over, 0.95),
      3000,
      'ms',
    ),
    {
      what: `requests (${asked}) that were not answered by their project`,
      measured: faults.length === 0 ? '0' : `${faults.length}: ${faults[0]}`,
      bar: '0',
      kept: faults.length === 0,
    },
    { what: 'starts of the one that is always used', measured: String(restarts), bar: '1', kept: restarts === 1 },
  ]
  return { tables: [memory, waking], bars }
}

type Kind = 'program' | 'with a database'
interface Project {
  readonly slug: string
  readonly id: string
  readonly kind: Kind
}
interface Sample {
  readonly awake: number
  readonly resident: number
  readonly shared: number
  readonly service: number
  readonly proxy: number
}

interface Plan {
  readonly root: string
  readonly count: number
  readonly turns: number
  /** Of the service, from its next start on. */
  readonly env: Record<string, string>
}

async function measure(service: Service, { root, count, turns, env }: Plan) {
  const projects: Project[] = []
  for (let at = 0; at < count; at += 1)
    projects.push(await makeProject(service, root, at, at === count - 2 ? '1m' : '1h'))
  const allAwake = await sampleOf(service, projects)
  const starts = {
    program: await ownStarts(service, projects[1]!),
    'with a database': await ownStarts(service, projects[0]!),
  }
  await service.stop()
  env.STACKQUAY_AWAKE_MAX_MB = String(Math.round((awakeMax * count) / 30))
  await service.start()
  const asker = createAsker(service)
  const [always, edge, ...others] = projects.toReversed() as [Project, Project, ...Project[]]
  const life = new AbortController()
  const samples: Sample[] = []
  const beside = [
    repeat(
      life.signal,
      () => 500,
      () => asker.ask(always),
    ),
    // Asleep after a minute and at most the next look, which is every 20 seconds.
    repeat(
      life.signal,
      () => 60_000 + Math.random() * 21_000,
      () => asker.ask(edge),
    ),
    repeat(
      life.signal,
      () => 2_000,
      async () => void samples.push(await sampleOf(service, projects)),
    ),
  ]
  // As many as fit stay awake, two minutes after the start.
  await delay(150_000)
  samples.length = 0
  for (let turn = 0; turn < turns; turn += 1)
    for (const project of others) {
      const next = delay(everyMs)
      await asker.visit(project)
      await next
    }
  life.abort()
  await Promise.all(beside)
  const { began, ...asked } = asker.told()
  return { allAwake, samples, starts, ...asked, restarts: began.get(always.slug)?.size ?? 0 }
}

const program = (slug: string) => `
const began = Date.now()
const own = Buffer.alloc(${ownMegabytes * 1024 * 1024}, 1)
require('node:http')
  .createServer((request, response) => response.end(JSON.stringify({ slug: '${slug}', began, own: own.length })))
  .listen(process.env.PORT, process.env.HOST)
`

async function makeProject({ client }: Service, root: string, at: number, after: string): Promise<Project> {
  const slug = `project-${at}`
  const path = join(root, slug)
  await mkdir(path)
  await writeFile(join(path, 'package.json'), JSON.stringify({ name: slug, scripts: { start: 'node server.js' } }))
  await writeFile(join(path, 'server.js'), program(slug))
  const kind: Kind = at % 10 === 0 ? 'with a database' : 'program'
  const databases = kind === 'program' ? {} : { databases: { main: { type: 'postgresql' as const } } }
  const body = { name: slug, slug, path, sleep: { after }, ...databases }
  const made = await client.call('createProject', { body, query: { wait: 170 } })
  if (made.operation?.state !== 'succeeded') throw new Error(JSON.stringify(made.operation))
  return { slug, id: made.id, kind }
}

async function ownStarts({ client }: Service, { slug }: Project): Promise<number[]> {
  const times: number[] = []
  for (let round = 0; round < 5; round += 1) {
    const call = { params: { id: slug }, query: { wait: 60 } }
    await client.call('stopProject', call)
    const begun = performance.now()
    await client.call('startProject', call)
    times.push(performance.now() - begun)
  }
  return times
}

function createAsker(service: Service) {
  const faults: string[] = []
  const wakes: { readonly kind: Kind; readonly milliseconds: number }[] = []
  const began = new Map<string, Set<number>>()
  let asked = 0
  const ask = async ({ slug }: Project) => {
    asked += 1
    try {
      const { status, body } = await service.get(slug)
      const answer = status === 200 ? (JSON.parse(body) as { slug: string; began: number }) : null
      if (answer?.slug !== slug) throw new Error(`${status} ${body.slice(0, 200)}`)
      began.set(slug, (began.get(slug) ?? new Set()).add(answer.began))
    } catch (error) {
      faults.push(`${slug}: ${(error as Error).message}`)
    }
  }
  return {
    ask,
    visit: async (project: Project) => {
      const { status } = await service.client.call('getProject', { params: { id: project.slug } })
      const begun = performance.now()
      await Promise.all(Array.from({ length: atOnce }, () => ask(project)))
      if (status.state === 'sleeping') wakes.push({ kind: project.kind, milliseconds: performance.now() - begun })
    },
    told: () => ({ faults, wakes, began, asked }),
  }
}

async function repeat(signal: AbortSignal, pause: () => number, act: () => Promise<void>): Promise<void> {
  while (!signal.aborted) {
    await act()
    await delay(pause(), undefined, { signal }).catch(() => undefined)
  }
}

/** Of all processes that the kernel counts to one of the projects, in megabytes. */
async function sampleOf(service: Service, projects: readonly Project[]): Promise<Sample> {
  const found = await Promise.all(
    (await readdir('/proc'))
      .filter((name) => /^\d+$/.test(name))
      .map(async (pid) => {
        const groups = await readFile(`/proc/${pid}/cgroup`, 'utf8').catch(() => '')
        const project = projects.find(({ id }) => groups.includes(id))
        if (project === undefined) return []
        const memory = await readFile(`/proc/${pid}/smaps_rollup`, 'utf8').catch(() => '')
        const read = (field: string) => Number(new RegExp(`^${field}:\\s+(\\d+)`, 'm').exec(memory)?.[1] ?? 0) / 1024
        return [{ project, resident: read('Rss'), shared: read('Pss') }]
      }),
  )
  const all = found.flat()
  const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0)
  return {
    awake: new Set(all.map(({ project }) => project)).size,
    resident: sum(all.map(({ resident }) => resident)),
    shared: sum(all.map(({ shared }) => shared)),
    service: residentMemory(service.pid()).all,
    proxy: residentMemory(proxyPid(service.home)).all,
  }
}

const mb = (value: number) => `${Math.round(value)} MB`
const ms = (value: number) => `${Math.round(value)} ms`
