import { chmodSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { DatabaseType, ServiceType, TypeImage, WorkloadSpec } from '@stackquay/catalog'
import { type ContainerFacts, dataContainer, inContainer, jobsIn, toolchainIn } from '@stackquay/domain/containers'
import {
  type ApplyContext,
  type Change,
  type Container,
  type Engine,
  EngineError,
  fingerprintOf,
  type Job,
  type Workload,
  type WorkloadRef,
} from '@stackquay/engine-api'
import { createDockerEngine } from '@stackquay/engines/docker/index'
import { oneAccount } from '@stackquay/engines/native/accounts'
import { createContainerFacts } from '@stackquay/server/catalogue/container-facts'
import { createOurPrograms } from '@stackquay/server/catalogue/our-programs'
import { waitFor } from '@stackquay/testkit'
import {
  type BuiltImage,
  type DockerLab,
  type DockerLabOptions,
  dockerLab,
  type ImageName,
  images,
} from '@stackquay/testkit/docker-lab'
import { containerDatabaseInput, containerServiceInput } from './inputs.ts'
import { freePort, type Machine } from './run-workload.ts'
import { type End, portsOf, type Stage } from './stage.ts'

/** Whom programs run as that have no user of their own: nobody that an image knows. */
export const account = { uid: 48_211, gid: 48_211 }

const instance = 'catalog'

/** A Docker of its own with our engine over it, for the workloads of many projects at once. */
export interface DockerFixture {
  readonly lab: DockerLab
  readonly engine: Engine
  readonly facts: ContainerFacts
  /** A built-in program, where containers see it. */
  programFile(name: string): string
  /** A folder of this machine that programs in containers may be given parts of. */
  readonly folder: string
  /** Id of a project that nobody else has. */
  projectId(): string
  stage(kind: DatabaseType | ServiceType): Stage
  apply(change: Change, secrets?: Machine['secrets'], tell?: (text: string) => void): Promise<void>
  close(): Promise<void>
}

export async function dockerFixture(options: DockerLabOptions): Promise<DockerFixture> {
  const lab = await dockerLab(options)
  const folder = mkdtempSync(join(tmpdir(), 'stackquay-docker-'))
  chmodSync(folder, 0o755)
  const home = join(folder, 'home')
  mkdirSync(home)
  const engine = await createDockerEngine({ home, host: lab.host, instance, accounts: oneAccount(account) })
  const facts = containerFacts(home)
  const programs = createOurPrograms(home)
  let projects = 0
  const fixture: DockerFixture = {
    lab,
    engine,
    facts,
    programFile: programs.file,
    folder,
    projectId: () => {
      projects += 1
      return `prj_${projects}`
    },
    stage: (kind) => dockerStage(fixture, kind),
    async apply(change, secrets = {}, tell = () => {}) {
      const context = contextOf(secrets, tell)
      for (const step of engine.plan(change)) await engine.apply(step, context)
    },
    async close() {
      await engine.close()
      await lab.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
  return fixture
}

/** The lab's image of a kind stands for every release that the kind has. */
function containerFacts(home: string): ContainerFacts {
  const imageOf = (reference: string) => images[imageNameOf(reference)]
  return createContainerFacts({ home, accounts: oneAccount(account), imageOf, node: () => process.execPath })(
    'prj_1',
    () => null,
  )
}

/** What a built-in image is made of, for the lab to keep it. */
export function oursOn(base: ImageName, ours: string = base): BuiltImage {
  return { ...containerFacts(join(tmpdir(), 'stackquay-docker-images')).ours(ours, images[base]), base }
}

export function imageNameOf(reference: string): ImageName {
  const name = reference.split(':')[0]!
  if (!(name in images)) throw new Error(`The lab has no image for ${reference}.`)
  return name as ImageName
}

export function contextOf(secrets: Machine['secrets'], tell: (text: string) => void): ApplyContext {
  return {
    signal: new AbortController().signal,
    reveal: async ({ secret }) => secrets[secret] ?? '',
    output: ({ text }) => tell(text),
  }
}

export function workloadOf(spec: WorkloadSpec, project: string): Workload {
  const { name, ...rest } = spec
  const workload = { ...rest, ref: { project, workload: name } }
  return { ...workload, fingerprint: fingerprintOf(workload) }
}

interface DockerProject extends Machine {
  readonly project: string
}

function dockerStage(fixture: DockerFixture, kind: DatabaseType | ServiceType): Stage {
  const { lab, engine } = fixture
  const image: TypeImage = kind.image
  const name = imageNameOf(image.reference(''))
  const line = kind.lineOf(images[name].split(':')[1]!)
  const toolchain = kind.toolchain === null ? null : toolchainIn(image, line)
  const never = new AbortController().signal

  const project: Stage['project'] = (data, secrets): DockerProject => {
    const id = fixture.projectId()
    const path = join(lab.folder, 'data/volumes', `stackquay-${instance}.${id}.data.${data}`, '_data')
    return { project: id, data: { [data]: path }, secrets }
  }
  const idOf = (machine: Machine) => (machine as DockerProject).project
  const containerFor = (workload: string, machine: Machine): Container => {
    const container = dataContainer(
      image,
      line,
      {
        workload,
        spec: { limits: null },
        facts: { project: projectFacts(idOf(machine)) },
        needsPrograms: toolchain === null,
      },
      fixture.facts,
    )
    return container
  }
  const dataOf = (machine: Machine) => Object.keys(machine.data)[0]!
  const jobStep = (job: Job, machine: Machine, workload: string) => {
    // Run because the test says so, whatever the engine knows of earlier runs.
    const { once: _once, creates: _creates, ...again } = jobsIn([job], containerFor(workload, machine))[0]!
    return { type: 'job', ref: { project: idOf(machine), workload }, job: again, force: true } as const
  }

  return {
    inContainers: true,
    database: async (over = {}) =>
      containerDatabaseInput(kind as DatabaseType, {
        hostPort: await freePort(),
        version: line,
        toolchain: toolchain!,
        ...over,
      }),
    service: async (said = {}, over = {}) =>
      containerServiceInput(kind as ServiceType, said, {
        hostPort: await portsOf(kind as ServiceType),
        ...(toolchain === null
          ? { ourProgram: (name) => ({ node: image.node ?? process.execPath, file: fixture.programFile(name) }) }
          : { toolchain }),
        ...over,
      }),
    project,
    async copy(from, data, secrets) {
      const to = project(data, secrets)
      await engine.copyData({ project: idOf(from), name: data }, { project: idOf(to), name: data }, {}, never)
      return to
    },
    async start(spec, machine) {
      const workload = workloadOf({ ...inContainer(spec, containerFor(spec.name, machine)), setup: [] }, idOf(machine))
      await engineSteps(fixture, { type: 'start', workload }, machine, (step) => step !== 'ready')
      return started(fixture, workload, machine)
    },
    async runJob(job, machine) {
      let output = ''
      try {
        await fixture.apply(jobStep(job, machine, dataOf(machine)), machine.secrets, (text) => {
          output += text
        })
        return { code: 0, output }
      } catch (error) {
        if (!(error instanceof EngineError) || error.code !== 'job_failed') throw error
        return { code: 1, output }
      }
    },
    async killJob(job, machine, milliseconds) {
      const ended = fixture.apply(jobStep(job, machine, dataOf(machine)), machine.secrets).catch(() => {})
      const container = `stackquay-${instance}.${idOf(machine)}.${dataOf(machine)}.job.${job.name}`
      const isRunning = async () =>
        (await lab.try(['inspect', '-f', '{{.State.Running}}', container])).stdout === 'true\n'
      let isOver = false
      void ended.then(() => {
        isOver = true
      })
      await waitFor('the job to begin', async () => isOver || (await isRunning()), { timeoutMs: 120_000 })
      await delay(milliseconds)
      await lab.try(['kill', container])
      await ended
    },
    // In every container the first process is its init.
    stranger: () => ({ pid: 1, end: () => {} }),
    close: async () => {},
  }
}

export function projectFacts(id: string, path = '/nowhere', toolsPath = '/nowhere/tools') {
  return { id, slug: 'shop', url: 'http://shop.localhost:8780', path, toolsPath }
}

async function engineSteps(
  { engine }: DockerFixture,
  change: Change,
  { secrets }: Machine,
  wanted: (step: string) => boolean,
): Promise<void> {
  for (const step of engine.plan(change))
    if (wanted(step.do))
      await engine.apply(
        step,
        contextOf(secrets, () => {}),
      )
}

function started(fixture: DockerFixture, workload: Workload, machine: Machine) {
  const { ref, title, stop } = workload
  const observed = async () => {
    const all = await fixture.engine.observe(ref.project, new AbortController().signal)
    return all.find((one) => one.ref.workload === ref.workload)
  }
  const ended = async (): Promise<End> => {
    const exit = await waitFor(
      'its end',
      async () => {
        const seen = await observed()
        return seen !== undefined && seen.state !== 'running' && seen.lastExit
      },
      { timeoutMs: 120_000 },
    )
    return { code: exit.code, signal: exit.signal }
  }
  return {
    pid: null,
    output: () => outputOf(fixture.engine, ref),
    async ready(seconds?: number) {
      const { health } = workload
      const patient = seconds === undefined || health.kind === 'none' ? health : { ...health, timeoutSeconds: seconds }
      try {
        await engineSteps(
          fixture,
          { type: 'start', workload: { ...workload, health: patient } },
          machine,
          (step) => step === 'ready',
        )
      } catch (error) {
        throw new Error(`${(error as Error).message}\n${await outputOf(fixture.engine, ref)}`, { cause: error })
      }
    },
    async stop(signal?: 'SIGKILL') {
      if (signal === 'SIGKILL') {
        const container = `stackquay-${instance}.${ref.project}.${ref.workload}`
        await fixture.lab.try(['kill', container])
      } else await fixture.apply({ type: 'stop', ref, title, stop })
      return ended()
    },
    ended,
  }
}

/** All that it ever printed, from its earlier containers too. */
async function outputOf(engine: Engine, ref: WorkloadRef): Promise<string> {
  const lines: string[] = []
  for await (const { text } of engine.logs(ref, {}, new AbortController().signal)) lines.push(text)
  return lines.join('\n')
}
