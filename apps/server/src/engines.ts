import { type EngineName, engineNames } from '@stackquay/contract'
import type { Engine } from '@stackquay/engine-api'
import { createEngines, dockerTls, type Engines, networkEnvironment } from '@stackquay/engines'
import type { Store } from '@stackquay/store'
import { bundledPrograms } from './bundled.ts'
import type { Config } from './config.ts'
import { engineKind } from './engine-kinds.ts'
import type { InstanceIsolation } from './isolation/isolation.ts'
import { registryAuth } from './registry-auth.ts'
import { storedRegistryLogins } from './settings/registries.ts'
import { isTestEnvironment, projectOfEnvironment } from './test-environment-id.ts'

export interface OpenedEngines {
  readonly engines: Engines
  /** The engine that new projects get. */
  readonly usual: EngineName
  /** Null for one that this instance does not have. */
  named(name: EngineName): Engine | null
}

/**
 * The engines of this instance. Those that cannot be away are always there: one of them also runs what needs no container. Others are
 * opened where they are wanted, whether or not they answer now.
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
      usual: engineOfEvery,
      named: () => given,
    }
  const options = {
    home: config.home,
    accounts,
    isolation,
    bundled: bundledPrograms(),
    network: networkEnvironment(process.env),
    logs: {
      get maxBytes() {
        return config.logs.maxBytes
      },
      get maxDays() {
        return config.logs.maxDays
      },
    },
    host: config.dockerHost,
    tls: dockerTls(process.env),
    credentials: registryAuth(config.registryAuthFile, storedRegistryLogins(store)),
  }
  const projects = await store.projects.all()
  const held = [...projects, ...(await store.trash.all())]
  const isWanted = (name: EngineName) =>
    isOfEvery(name) || ['auto', name].includes(config.engine) || held.some(({ engine }) => engine === name)
  const opened = new Map<EngineName, Engine>()
  for (const name of engineNames) if (isWanted(name)) opened.set(name, await engineKind(name).open(options))
  const usual = await usualEngine(store, config, { opened, isNew: projects.length === 0 })
  const others = [...opened].flatMap(([name, engine]) => (name === usual ? [] : [engine]))
  const engines = createEngines({ engines: [opened.get(usual)!, ...others], engineOf: engineOf(store) })
  return { engines, usual, named: (name) => opened.get(name) ?? null }
}

const isOfEvery = (name: EngineName) => !engineKind(name).capabilities.mayBeAway
/** What every instance has. */
const engineOfEvery = engineNames.find(isOfEvery) ?? engineNames[0]

/**
 * `auto` decides once: that an engine is down today is no reason to give new projects another engine than yesterday's. An instance
 * from before there was a choice goes on as it was.
 */
async function usualEngine(
  store: Store,
  { engine }: Config,
  { opened, isNew }: { readonly opened: ReadonlyMap<EngineName, Engine>; readonly isNew: boolean },
): Promise<EngineName> {
  if (engine !== 'auto') return engine
  const recorded = await store.settings.get<EngineName>(recordedEngine)
  if (recorded !== null) return recorded
  const chosen = (isNew ? await firstThatAnswers(opened) : undefined) ?? engineOfEvery
  await store.transaction((tx) => tx.settings.set(recordedEngine, chosen))
  return chosen
}

async function firstThatAnswers(opened: ReadonlyMap<EngineName, Engine>): Promise<EngineName | undefined> {
  for (const [name, engine] of opened) {
    if (!engineKind(name).chosenByAuto) continue
    const readiness = await engine.probe(AbortSignal.timeout(probeMs)).catch(() => null)
    if (readiness?.ready === true) return name
  }
  return undefined
}

/** The engine that a project names, also one in the trash; a test environment is where its project is. */
function engineOf(store: Store): (id: string) => Promise<EngineName | null> {
  return async (id) => {
    const project = isTestEnvironment(id) ? await projectOfEnvironment(id, store) : id
    if (project === undefined) return null
    const row = (await store.projects.find(project)) ?? (await store.trash.ofProject(project))[0]
    return row?.engine ?? null
  }
}

const recordedEngine = 'engine'
const probeMs = 3_000
