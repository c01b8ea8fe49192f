import type { EngineName } from '@stackquay/contract'
import type { Engine } from '@stackquay/engine-api'
import {
  createDockerEngine,
  createEngines,
  createNativeEngine,
  dockerTls,
  type Engines,
  networkEnvironment,
} from '@stackquay/engines'
import type { Store } from '@stackquay/store'
import { bundledPrograms } from './bundled.ts'
import type { Config } from './config.ts'
import type { InstanceIsolation } from './isolation/isolation.ts'
import { isOwnData } from './own-data-id.ts'
import { registryAuth } from './registry-auth.ts'

export interface OpenedEngines {
  readonly engines: Engines
  /** The engine that new projects get. */
  readonly usual: EngineName
  /** Null for one that this instance does not have. */
  named(name: EngineName): Engine | null
}

/**
 * The engines of this instance. The native one is always there: it also runs what needs no container. Docker's is opened
 * where it is wanted, whether or not it answers now.
 */
export async function openEngines(
  {
    store,
    config,
    isolation: { accounts, engine: isolation },
  }: { readonly store: Store; readonly config: Config; readonly isolation: InstanceIsolation },
  given: Engine | undefined,
): Promise<OpenedEngines> {
  // A test's own engine holds everything, whatever projects name.
  if (given !== undefined)
    return {
      engines: createEngines({ engines: [given], engineOf: async () => null }),
      usual: 'native',
      named: () => given,
    }
  const options = {
    home: config.home,
    accounts,
    isolation,
    bundled: bundledPrograms(),
    network: networkEnvironment(process.env),
    logs: config.logs,
  }
  const native = await createNativeEngine(options)
  const projects = await store.projects.all()
  if (config.engine === 'native' && projects.every(({ engine }) => engine === 'native'))
    return opened([native], 'native', store)

  const docker = await createDockerEngine({
    home: config.home,
    host: config.dockerHost,
    tls: dockerTls(process.env),
    accounts,
    network: options.network,
    logs: config.logs,
    credentials: registryAuth(config.registryAuthFile),
  })
  const usual = await usualEngine(store, config, { docker, isNew: projects.length === 0 })
  const order: readonly [Engine, Engine] = usual === 'docker' ? [docker, native] : [native, docker]
  return opened(order, usual, store)
}

function opened(order: readonly [Engine, ...Engine[]], usual: EngineName, store: Store): OpenedEngines {
  const engines = createEngines({ engines: order, engineOf: engineOf(store) })
  return { engines, usual, named: (name) => engines.find(name) ?? null }
}

/**
 * `auto` decides once: that Docker is down today is no reason to give new projects another engine than yesterday's. An instance
 * from before there was a choice goes on as it was.
 */
async function usualEngine(
  store: Store,
  { engine }: Config,
  { docker, isNew }: { readonly docker: Engine; readonly isNew: boolean },
): Promise<EngineName> {
  if (engine !== 'auto') return engine
  const recorded = await store.settings.get<EngineName>(recordedEngine)
  if (recorded !== null) return recorded
  const readiness = isNew ? await docker.probe(AbortSignal.timeout(probeMs)).catch(() => null) : null
  const chosen = readiness?.ready === true ? 'docker' : 'native'
  await store.transaction((tx) => tx.settings.set(recordedEngine, chosen))
  return chosen
}

/** The engine that a project names; a test run's own data is where its project is. */
function engineOf(store: Store): (id: string) => Promise<EngineName | null> {
  return async (id) => {
    const project = isOwnData(id) ? (await store.runs.find(id))?.project : id
    return project === undefined ? null : ((await store.projects.find(project))?.engine ?? null)
  }
}

const recordedEngine = 'engine'
const probeMs = 3_000
