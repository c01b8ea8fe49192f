import { join } from 'node:path'
import { type InstanceArchives, openInstanceArchives } from '@stackquay/archive'
import type { Engine, SecretRef } from '@stackquay/engine-api'
import type { Engines } from '@stackquay/engines'
import { openStore, type Store } from '@stackquay/store'
import { createKnownCertificates, type KnownCertificates } from '../certificates/known.ts'
import { engineKind } from '../engine-kinds.ts'
import { openEngines } from '../engines.ts'
import { openHome, openProjectsFolder } from '../home.ts'
import { backupBeforeMigration } from '../instance-backups/before-migration.ts'
import { restoreFirst } from '../instance-backups/restore-first.ts'
import { lockHome } from '../instance-lock.ts'
import { type InstanceIsolation, openIsolation } from '../isolation/isolation.ts'
import type { EngineChoice } from '../projects/engine-choice.ts'
import { createHostDoor } from '../rescue/door.ts'
import type { HeldPorts } from '../runs/spare-ports.ts'
import { type KeyPlace, keyPlace } from '../sealing-key.ts'
import { type LiveSettings, openLiveSettings } from '../settings/instance-settings.ts'
import type { AppContext } from './context.ts'

/** What everything else stands on: the store in the home, how projects are kept apart, and what runs them. */
export interface Instance {
  readonly store: Store
  /** Where the key that seals secrets is kept. */
  readonly keys: KeyPlace
  /** What people set, beside the environment. */
  readonly settings: LiveSettings
  /** Where backups of the instance itself are kept. */
  readonly instanceArchives: InstanceArchives
  /** For which hosts there are certificates. */
  readonly certificates: KnownCertificates
  readonly isolation: InstanceIsolation
  /** All engines as one: each project is held by its own. */
  readonly engine: Engines
  readonly engines: EngineChoice
  /** Those that the services of test runs have now, with the run. Walls are kept around them too. */
  readonly testPorts: HeldPorts
  /** The text of a secret, for what a process gets. */
  reveal(ref: SecretRef): Promise<string>
  /** Last of all: closes the store, and another service may have the home. */
  letGo(): Promise<void>
}

/** `given` takes the place of this machine's engines. From the store on, `config` is what the service runs with. */
export async function openInstance(
  given: Engine | undefined,
  { config, log, now, say, onError }: Pick<AppContext, 'config' | 'log' | 'now' | 'say' | 'onError'>,
): Promise<Instance> {
  await openHome(config.home)
  const door = createHostDoor()
  const unlock = await lockHome(config.home, door.accept)
  await openProjectsFolder(config.projectsDir, config.home)

  const instanceArchives = openInstanceArchives(join(config.home, 'instance-backups'))
  await restoreFirst({ config, archives: instanceArchives, now, say })
  const keys = keyPlace(config.home, config.secretKey)
  const store = await openStore({
    file: join(config.home, 'stackquay.db'),
    ...keys.candidates,
    checkpointFile: join(config.home, 'audit.checkpoint'),
    clock: { now },
    sessionLimits: () => config.sessions,
    beforeMigration: (old) => backupBeforeMigration(instanceArchives, old, now()),
    report: (error) => onError(error, 'the store could not do something that nobody waits for'),
  })
  keys.settle(store.sealing.keyId())

  const base = { ...config }
  const settings = await openLiveSettings(store, { base, running: config })
  if (config.logLevel !== base.logLevel) log.level = config.logLevel

  door.open({ store, publicUrl: () => config.publicUrl, now: () => now().getTime() }, onError)
  const certificates = createKnownCertificates({ store, config, now })
  await certificates.load()

  const testPorts: HeldPorts = new Map()
  const runPorts = () => [...testPorts].map(([port, run]) => ({ run, port }))
  const isolation = await openIsolation({ store, config, runPorts, onError }, say)
  const { engines: engine, usual, named } = await openEngines({ store, config, isolation }, given)
  if (engineKind(usual).capabilities.images)
    say('New projects run in containers; STACKQUAY_ENGINE=native lets them run on this machine.')

  return {
    store,
    keys,
    settings,
    certificates,
    instanceArchives,
    isolation,
    engine,
    engines: { usual, named },
    testPorts,
    reveal: async (ref) => (await store.secrets.reveal(ref.secret, ref.version)).expose(),
    letGo: async () => {
      await store.close()
      await unlock()
    },
  }
}
