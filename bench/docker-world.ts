import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  type ApplyContext,
  type Change,
  type Container,
  type Engine,
  fingerprintOf,
  type Workload,
} from '@stackquay/engine-api'
import { createDockerEngine } from '@stackquay/engines'
import { type DockerLab, dockerLab, type ImageName } from '@stackquay/testkit/docker-lab'

/** A Docker of its own, and our engine on it. */
export interface DockerWorld {
  readonly lab: DockerLab
  readonly engine: Engine
  readonly folder: string
}

export const PROJECT = 'bench'
export const NODE = '/usr/local/bin/node'

export async function withDocker<T>(images: readonly ImageName[], act: (world: DockerWorld) => Promise<T>): Promise<T> {
  const lab = await dockerLab({ images })
  const folder = await mkdtemp(join(tmpdir(), 'stackquay-bench-docker-'))
  await chmod(folder, 0o711)
  try {
    const engine = await createDockerEngine({ home: join(folder, 'home'), host: lab.host })
    try {
      return await act({ lab, engine, folder })
    } finally {
      await engine.close()
    }
  } finally {
    await lab.close()
    await rm(folder, { recursive: true, force: true })
  }
}

export interface Program {
  readonly name: string
  readonly image: string
  readonly user: string
  readonly argv: readonly [string, ...string[]]
  /** Where it keeps data; by the name of the program. */
  readonly data?: string
  readonly env?: Readonly<Record<string, string>>
  readonly port?: { readonly inside: number; readonly outside: number }
  readonly dependsOn?: readonly string[]
}

/** As the catalogue's kinds say it. */
export function workloadOf({ name, image, user, argv, data, env = {}, port, dependsOn = [] }: Program): Workload {
  const container: Container = {
    image,
    build: null,
    user,
    network: PROJECT,
    folders: [],
    data: data === undefined ? {} : { [name]: data },
    limits: { cpus: null, memoryBytes: null, pids: null },
  }
  const workload: Omit<Workload, 'fingerprint'> = {
    ref: { project: PROJECT, workload: name },
    title: name,
    run: { kind: 'process', argv, cwd: '/', container },
    env,
    data: data === undefined ? [] : [{ name }],
    ports: port === undefined ? [] : [{ name: 'main', port: port.inside, hostPort: port.outside, bind: '127.0.0.1' }],
    setup: [],
    requires: [],
    health: port === undefined ? { kind: 'none' } : { kind: 'tcp', port: 'main', timeoutSeconds: 60 },
    restart: { kind: 'always' },
    stop: { signal: 'SIGTERM', deadlineSeconds: 10 },
    dependsOn,
  }
  return { ...workload, fingerprint: fingerprintOf(workload) }
}

/** `until`: the last kind of step that is done. */
export async function applyChange(engine: Engine, change: Change, until: 'start' | 'ready' = 'ready'): Promise<void> {
  for (const step of engine.plan(change))
    if (until === 'ready' || step.do !== 'ready') await engine.apply(step, context())
}

export function context(): ApplyContext {
  return { signal: AbortSignal.timeout(120_000), reveal: async () => '', output: () => {} }
}

export async function removeWorkload(engine: Engine, { ref, title, stop }: Workload): Promise<void> {
  await applyChange(engine, { type: 'remove', ref, title, stop })
}
