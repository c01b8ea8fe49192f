import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Workload } from '@stackquay/engine-api'
import { freePort } from '@stackquay/testkit'
import type { Benchmark, Measured } from './benchmark.ts'
import {
  applyChange,
  type DockerWorld,
  NODE,
  PROJECT,
  type Program,
  removeWorkload,
  withDocker,
  workloadOf,
} from './docker-world.ts'
import { median, medianRatio, milliseconds } from './numbers.ts'

export const benchmark: Benchmark = {
  title: 'Start and deletion of containers',
  about: `A project of Redis (with kept data), memcached and a Node.js server that needs both, images being there, on one Docker
Engine: our engine's plan and steps against \`docker-compose up --detach\` (1.29) of the same containers, with the same limits, rights,
log options, network, volume and published ports. Both are done when the last container is started: neither waits until the programs
serve. Ours starts the two that need nobody at the same time, as Compose does. "In the order of the service" is what an operation of
the service does: one step after the other, each workload ready before the next begins. Deletion: workloads, network and data, against
\`docker-compose down --volumes\`. Rounds alternate; ratios are taken round by round.`,
  measure: ({ quick }) => withDocker(['redis', 'memcached', 'node'], (world) => measure(world, quick ? 2 : 7)),
}

/** It is not compared to anything: fewer rounds tell enough. */
const IN_ORDER = 4

/** Milliseconds, by round. */
type Times = Readonly<Record<'start' | 'remove' | 'up' | 'down' | 'inOrder', number[]>>

async function measure(world: DockerWorld, rounds: number): Promise<Measured> {
  const programs = await programsIn(world)
  const workloads = programs.map(workloadOf)
  const compose = await composeOf(world, programs)
  const times: Times = { start: [], remove: [], up: [], down: [], inOrder: [] }
  for (let round = 0; round <= rounds; round += 1) {
    const start = await timed(() => startAll(world, workloads))
    const remove = await timed(() => removeAll(world, workloads))
    const up = await timed(() => compose('up', '--detach'))
    const down = await timed(() => compose('down', '--volumes'))
    const inOrder = round < IN_ORDER ? await timed(() => startInOrder(world, workloads)) : null
    await removeAll(world, workloads)
    // The first round only warms up.
    if (round === 0) continue
    times.start.push(start)
    times.remove.push(remove)
    times.up.push(up)
    times.down.push(down)
    if (inOrder !== null) times.inOrder.push(inOrder)
  }
  const started = medianRatio(times.start, times.up)
  const removed = medianRatio(times.remove, times.down)
  return {
    tables: [
      [
        ['three workloads', 'median'],
        ['our engine, start', milliseconds(median(times.start))],
        ['docker-compose up', milliseconds(median(times.up))],
        ['our engine, stop and delete', milliseconds(median(times.remove))],
        ['docker-compose down', milliseconds(median(times.down))],
        ['our engine, in the order of the service, until all are ready', milliseconds(median(times.inOrder))],
      ],
    ],
    bars: [
      { what: 'Start', measured: `${started.toFixed(2)} ×`, bar: '≤ 0.7 × docker-compose up', kept: started <= 0.7 },
      {
        what: 'Stop and delete',
        measured: `${removed.toFixed(2)} ×`,
        bar: '≤ 0.5 × docker-compose down',
        kept: removed <= 0.5,
      },
    ],
  }
}

async function programsIn({ lab }: DockerWorld): Promise<readonly Program[]> {
  const [redis, memcached, web] = [await freePort(), await freePort(), await freePort()]
  return [
    {
      name: 'redis',
      image: lab.image('redis'),
      user: '999:999',
      argv: ['/usr/local/bin/redis-server', '--dir', '/data'],
      data: '/data',
      port: { inside: 6379, outside: redis },
    },
    {
      name: 'memcached',
      image: lab.image('memcached'),
      user: '11211:11211',
      argv: ['/usr/local/bin/memcached'],
      port: { inside: 11211, outside: memcached },
    },
    {
      name: 'web',
      image: lab.image('node'),
      user: '1000:1000',
      argv: [NODE, '-e', "require('http').createServer((_, answer) => answer.end('ok')).listen(8080)"],
      env: { REDIS_URL: 'redis://redis:6379' },
      port: { inside: 8080, outside: web },
      dependsOn: ['redis', 'memcached'],
    },
  ]
}

async function startAll({ engine }: DockerWorld, workloads: readonly Workload[]): Promise<void> {
  const started = new Map<string, Promise<void>>()
  for (const workload of workloads) {
    const before = workload.dependsOn.map((name) => started.get(name))
    const start = Promise.all(before).then(() => applyChange(engine, { type: 'start', workload }, 'start'))
    started.set(workload.ref.workload, start)
  }
  await Promise.all(started.values())
}

async function startInOrder({ engine }: DockerWorld, workloads: readonly Workload[]): Promise<void> {
  for (const workload of workloads) await applyChange(engine, { type: 'start', workload })
}

/** What needs others goes first. */
async function removeAll({ engine }: DockerWorld, workloads: readonly Workload[]): Promise<void> {
  const needed = new Set(workloads.flatMap(({ dependsOn }) => dependsOn))
  const isNeeded = ({ ref }: Workload) => needed.has(ref.workload)
  for (const group of [workloads.filter((one) => !isNeeded(one)), workloads.filter(isNeeded)]) {
    await Promise.all(
      group.map(async (workload) => {
        await removeWorkload(engine, workload)
        for (const { name } of workload.data)
          await applyChange(engine, { type: 'deleteData', project: PROJECT, data: name })
      }),
    )
  }
}

/** Runs docker-compose over a file that says of the containers what our engine says of them. */
async function composeOf(
  { lab, folder }: DockerWorld,
  programs: readonly Program[],
): Promise<(...args: readonly string[]) => Promise<void>> {
  const file = join(folder, 'docker-compose.json')
  const services = programs.map(({ name, image, user, argv, data, env, port, dependsOn }) => [
    name,
    {
      image,
      user,
      entrypoint: argv,
      working_dir: '/',
      environment: env ?? {},
      hostname: name,
      init: true,
      cap_drop: ['ALL'],
      cap_add: ['CHOWN', 'DAC_OVERRIDE', 'FOWNER', 'FSETID', 'KILL', 'NET_BIND_SERVICE', 'SETGID', 'SETUID'],
      security_opt: ['no-new-privileges'],
      pids_limit: 2048,
      restart: 'no',
      healthcheck: { disable: true },
      logging: { driver: 'json-file', options: { 'max-size': '128m', 'max-file': '2' } },
      ...(data === undefined ? {} : { volumes: [`${name}:${data}`] }),
      ...(port === undefined ? {} : { ports: [`127.0.0.1:${port.outside}:${port.inside}`] }),
      ...(dependsOn === undefined ? {} : { depends_on: dependsOn }),
    },
  ])
  const volumes = programs.filter(({ data }) => data !== undefined).map(({ name }) => [name, {}])
  await writeFile(
    file,
    JSON.stringify({ version: '2.4', services: Object.fromEntries(services), volumes: Object.fromEntries(volumes) }),
  )
  return async (...args) => {
    const child = spawn('docker-compose', ['--project-name', 'compose', '--file', file, ...args], {
      env: { ...process.env, DOCKER_HOST: lab.host },
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    let said = ''
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      said += text
    })
    const [code] = await once(child, 'close')
    if (code !== 0) throw new Error(`docker-compose ${args.join(' ')} failed: ${said}`)
  }
}

async function timed(act: () => Promise<void>): Promise<number> {
  const began = performance.now()
  await act()
  return performance.now() - began
}
