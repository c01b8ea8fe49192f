import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { EngineError } from '@stackquay/engine-api'
import {
  type Account,
  type Accounts,
  existFor,
  findSandbox,
  type Isolation,
  instanceOf,
  noIsolation,
  oneAccount,
  openControlGroups,
  openPortWalls,
} from '@stackquay/engines'
import type { Store, UserIds } from '@stackquay/store'
import type { Config } from '../config.ts'
import { isTestEnvironment, projectOfEnvironment } from '../test-environment-id.ts'
import { holdsHome } from './holds-home.ts'
import { brokenPromise, type ChosenIsolation, chooseIsolation, type Offers } from './level.ts'
import { createPortWallsKeeper, type PortWallsKeeper, type PortWallsKeeperDeps } from './port-walls-keeper.ts'
import { openProjectUsers, type ProjectUsers } from './project-users.ts'
import { findSystemUser } from './system-users.ts'
import { createUserHomes } from './user-homes.ts'
import { workloadAccount } from './workload-account.ts'

/** How this instance keeps projects apart. */
export interface InstanceIsolation {
  readonly chosen: ChosenIsolation
  readonly offers: Offers
  /** Why projects do not start: the chosen level cannot be held. Null: it holds. */
  readonly broken: string | null
  readonly accounts: Accounts
  /** Null where all projects share a user. */
  readonly users: ProjectUsers | null
  /** In order before any program of a project starts. Null where the level has no walls. */
  readonly portWalls: PortWallsKeeper | null
  /** For the engine that runs programs of this machine. */
  readonly engine: Isolation
}

export interface IsolationOptions extends Pick<PortWallsKeeperDeps, 'runPorts' | 'onError'> {
  readonly store: Store
  readonly config: Config
}

const recorded = 'isolation'
const recordedBefore = 'isolation.before'

export async function openIsolation(
  { store, config, runPorts, onError }: IsolationOptions,
  say: (text: string) => void,
): Promise<InstanceIsolation> {
  const instance = instanceOf(config.home)
  const root = process.getuid?.() === 0 && process.platform === 'linux'
  const groups = root ? openControlGroups(instance) : null
  const isShared = settingOf(config) === 'shared'
  const [{ sandbox, why: noSandbox }, { walls, why: noWalls }] = await Promise.all([
    isShared ? { sandbox: null, why: notTried } : findSandbox(),
    isShared
      ? { walls: null, why: notTried }
      : openPortWalls({
          instance,
          uids: config.projectUids,
          onError: (error) => onError(error, 'walls around ports'),
        }),
  ])
  const offers: Offers = {
    root,
    sandbox: noSandbox,
    groups: groups === null ? noGroups(root) : null,
    ports: noWalls,
  }
  const { chosen, isNew } = await chosenOf(store, config, offers)
  if (isNew && chosen.level !== 'shared')
    say(`Projects are kept apart by level "${chosen.level}" (${chosen.features.join(', ')}).`)
  const broken = brokenPromise(chosen, offers)
  const has = (feature: ChosenIsolation['features'][number]) => chosen.features.includes(feature)

  const users = has('user') && root ? await openUsers({ store, config, onError }, instance) : null
  const accounts = users ?? oneAccount(await workloadAccount(config.runAs, say))
  const folders = createFolders(store, config)
  const portWalls =
    has('ports') && walls !== null ? createPortWallsKeeper({ store, accounts, walls, runPorts, onError }) : null
  return {
    chosen,
    offers,
    broken,
    accounts: broken === null ? accounts : refusing(accounts, broken),
    users,
    portWalls,
    engine: {
      ...noIsolation,
      groups: has('cgroup') ? groups : null,
      sandbox: has('sandbox') ? sandbox : null,
      hidden: [config.projectsDir, ...(root ? [] : await present(SESSIONS))],
      hiddenFrom: async (id) =>
        users === null ? [] : hiddenOfOwner(store, await users.of(id), await projectOf(store, id)),
      folders,
      ready: async (project) => portWalls?.ready(project),
    },
  }
}

const notTried = 'Not tried on level "shared".'

function settingOf({ isolation, runAs }: Config): Config['isolation'] {
  return runAs === null ? isolation : 'shared'
}

/** Decided once. Another setting than at that time is an administrator's word, and decides anew. */
async function chosenOf(
  store: Store,
  config: Config,
  offers: Offers,
): Promise<{ readonly chosen: ChosenIsolation; readonly isNew: boolean }> {
  const setting = settingOf(config)
  const known = await store.settings.get<ChosenIsolation>(recorded)
  if (known !== null && known.setting === setting) return { chosen: known, isNew: false }
  const chosen = chooseIsolation(setting, offers)
  await store.transaction((tx) => tx.settings.set(recorded, chosen))
  return { chosen, isNew: true }
}

async function openUsers(
  { store, config, onError }: Pick<IsolationOptions, 'store' | 'config' | 'onError'>,
  instance: string,
): Promise<ProjectUsers> {
  return openProjectUsers({
    store,
    instance,
    uids: config.projectUids,
    projectOf: async (id) => (isTestEnvironment(id) ? ((await projectOfEnvironment(id, store)) ?? id) : id),
    homes: createUserHomes(join(config.home, 'run-home')),
    before: await sharedBefore(store),
    onError,
  })
}

/** Whose the files of projects are that were there before each project had a user. Found out once. */
async function sharedBefore(store: Store): Promise<UserIds | null> {
  const known = await store.settings.get<UserIds | 'none'>(recordedBefore)
  if (known !== null) return known === 'none' ? null : known
  const found = (await store.projects.all()).length === 0 ? null : await findSystemUser('stackquay')
  const before = found === null ? null : { uid: found.uid, gid: found.gid }
  await store.transaction((tx) => tx.settings.set(recordedBefore, before ?? 'none'))
  return before
}

/** Sockets of people's sessions: what connects to one starts programs outside of every sandbox. */
const SESSIONS = ['/run/user']

async function present(paths: readonly string[]): Promise<readonly string[]> {
  const there = await existFor(null, paths)
  return paths.filter((_, at) => there[at])
}

/** Of a person whose user a project has, it sees the folder alone. */
async function hiddenOfOwner(store: Store, account: Account | null, project: string | undefined) {
  if (account?.isOwner !== true || project === undefined) return []
  const home = (await findSystemUser(account.uid))?.home ?? ''
  const folder = (await store.projects.find(project))?.path
  const isApart = folder !== undefined && home.startsWith('/') && !holdsHome(folder, home)
  return present([...(isApart ? [home] : []), ...SESSIONS])
}

async function projectOf(store: Store, id: string): Promise<string | undefined> {
  return isTestEnvironment(id) ? projectOfEnvironment(id, store) : id
}

/** Programs that came with this installation. A sandbox has a /tmp of its own, which would hide one that lies there. */
const root = fileURLToPath(new URL('../../../../', import.meta.url)).replace(/\/$/, '')
const installation = /^\/(var\/)?tmp\//.test(root) ? [{ path: root, readOnly: true }] : []

/** What a project's programs may see of the service's own folders and of its source. */
function createFolders(store: Store, { home }: Config): Isolation['folders'] {
  return async (id) => {
    const project = await projectOf(store, id)
    const path = project === undefined ? undefined : (await store.projects.find(project))?.path
    return [
      ...installation,
      ...[
        ...(path === undefined ? [] : [path]),
        ...(project === undefined ? [] : [join(home, 'tools', project)]),
        // Each run's folder in it is its project's alone; none is listed.
        join(home, 'results'),
      ].map((folder) => ({ path: folder, readOnly: false })),
    ]
  }
}

/** A level that cannot be held keeps every project from starting, rather than starting it with less. */
function refusing(accounts: Accounts, broken: string): Accounts {
  return {
    ...accounts,
    of: async () => {
      throw new EngineError('engine_unavailable', broken, {
        hint: 'Restore what is missing, or choose another level with STACKQUAY_ISOLATION.',
      })
    },
  }
}

function noGroups(root: boolean): string {
  return root ? 'No tree of control groups can be written here.' : 'Only root makes control groups.'
}
