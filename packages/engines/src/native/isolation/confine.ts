import { join } from 'node:path'
import { EngineError, type FolderMount, type Limits } from '@stackquay/engine-api'
import type { Account } from '../account.ts'
import type { Accounts } from '../accounts.ts'
import { dataNamesIn, type Home, makeHomeDir } from '../home.ts'
import type { ProcessTable } from '../process-table.ts'
import { type ControlGroup, mostProcesses, whyNoLimits } from './control-groups.ts'
import type { Isolation } from './isolation.ts'
import { chainArgv } from './launch.ts'
import { sandboxArgv } from './sandbox.ts'

/** A program as the kernel gets it. */
export interface Program {
  readonly argv: readonly string[]
  /** Absolute. */
  readonly cwd: string
  readonly env: Record<string, string>
  /** The user that the kernel gives it, where no chain of programs can. */
  readonly user?: Account
}

/** A program that keeps to its project: whose it is, and how it is started. */
export interface Confined {
  readonly account: Account | null
  /** Null where there are no control groups. */
  readonly group: ControlGroup | null
  /** The kernel learns how it ended through a process of the engine, which turns signals into exit codes. */
  readonly signalsAreCodes: boolean
  /** To be started with the rights of this process; it gives them up by itself. */
  program(program: Program): Program
}

export interface Confiner {
  /**
   * `unit` names the control group: `w-<workload>`, `j-<workload>.<job>`, `c-<command>`. It is made with these limits when the program
   * is. Rejects with `engine_cannot` when there are limits and nothing here can hold a program to them.
   */
  of(project: string, unit: string, limits?: Limits | null): Promise<Confined>
  group(project: string, unit: string): ControlGroup | null
}

/** Limits are the unit's own; joining a unit leaves them as they are. */
export function createConfiner(home: Home, accounts: Accounts, isolation: Isolation): Confiner {
  const groupOf = (project: string, unit: string) => isolation.groups?.unit(project, unit) ?? null
  return {
    group: groupOf,
    async of(project, unit, limits = null) {
      if (limits !== null) refuseUnlimited(isolation, limits)
      const account = await accounts.of(project)
      await isolation.ready?.(project)
      const group = groupOf(project, unit)
      if (account === null && group === null && isolation.sandbox === null)
        return { account, group, signalsAreCodes: false, program: (program) => program }
      if (process.platform !== 'linux')
        return { account, group, signalsAreCodes: false, program: (program) => asUser(program, account) }
      const view = isolation.sandbox === null ? null : await viewOf(home, account, project, isolation)
      const sandbox = view === null || isolation.sandbox === null ? null : sandboxArgv(isolation.sandbox, view)
      return {
        account,
        group,
        signalsAreCodes: sandbox !== null,
        program: ({ argv, cwd, env }) => ({
          argv: chainArgv(
            { account, groups: group?.make(limits) ?? [], sandbox, processes: processesOf(group, limits) },
            cwd,
            argv,
          ),
          cwd: '/',
          env,
        }),
      }
    },
  }
}

/** A limit that is not enforced must not look like one. */
function refuseUnlimited({ groups }: Isolation, { cpus, memoryBytes, pids }: Limits): void {
  const why = whyNoLimits(groups)
  if (why === null || (cpus === null && memoryBytes === null && pids === null)) return
  throw new EngineError('engine_cannot', 'It has limits, and this machine cannot hold it to them.', {
    hint: `${why} To run it without, take its limits away ("limits": null).`,
  })
}

/**
 * How many processes its user may have. The kernel counts those of all programs of that user: a group that counts its own ends a fork
 * bomb long before the others of that user feel it.
 */
function processesOf(group: ControlGroup | null, limits: Limits | null): number {
  return group?.countsProcesses === true ? 4 * Math.max(mostProcesses, limits?.pids ?? 0) : mostProcesses
}

function asUser(program: Program, account: Account | null): Program {
  return account === null ? program : { ...program, user: account }
}

async function viewOf(home: Home, account: Account | null, project: string, isolation: Isolation) {
  const own = await makeHomeDir(home, account, project)
  const folders: FolderMount[] = [
    { path: home.toolchains, readOnly: true },
    { path: own.home, readOnly: false },
    ...namedHome(home, account),
    { path: own.tmp, readOnly: false },
    ...(await dataNamesIn(home, project)).map((path) => ({ path, readOnly: false })),
    ...(await isolation.folders(project)),
  ]
  const hidden = new Set([home.root, ...isolation.hidden, ...(await isolation.hiddenFrom(project))])
  return {
    hidden: outermost([...hidden]),
    folders,
    tmp: own.tmp,
  }
}

/** The home of the project's user by the name that the machine's list of users has for it; it leads to the other. */
function namedHome({ homes }: Home, account: Account | null): readonly FolderMount[] {
  if (account?.name === undefined || account.isOwner === true) return []
  return [{ path: join(homes, account.name), readOnly: false }]
}

/** Files in a hidden folder are hidden with it. */
function outermost(paths: readonly string[]): readonly string[] {
  return paths.filter((path) => !paths.some((other) => path.startsWith(`${other}/`)))
}

/** Whose processes may belong to a project: its user's, and those that have not become that user yet. */
export function suspectsOf(
  machine: { readonly accounts: Pick<Accounts, 'known'>; readonly table: ProcessTable },
  project: string,
): { readonly table: ProcessTable; readonly uids: ReadonlySet<number> } {
  const self = process.getuid?.() ?? -1
  return { table: machine.table, uids: new Set([machine.accounts.known(project)?.uid ?? self, self]) }
}
