import { EngineError } from '@stackquay/engine-api'
import { type Account, workloadAccount } from './account.ts'

/** Which user the programs of each project run as. */
export interface Accounts {
  /**
   * The user of a project, made when it is missing. Null: the user of this process. Rejects with an `EngineError` that says
   * why there is none; a project never runs as another user instead.
   */
  of(project: string): Promise<Account | null>
  /** The same without making anything; undefined while the project has none. */
  known(project: string): Account | null | undefined
  /** Every user that a program of this installation may run as. */
  all(): readonly { readonly project: string; readonly account: Account }[]
  /** The one user of all projects, where they share one; undefined where each has its own. */
  readonly shared: Account | null | undefined
}

/** Everything runs as the user of this process: for engines that start no program of this machine. */
export const serviceUser: Accounts = { of: async () => null, known: () => null, all: () => [], shared: null }

/** All projects share one user. Null: the user of this process, which must not be root. */
export function oneAccount(account: Account | null): Accounts {
  const shared = workloadAccount(account)
  return {
    of: async () => shared,
    known: () => shared,
    all: () => (shared === null ? [] : [{ project: '', account: shared }]),
    shared,
  }
}

/**
 * Who stands for the user of any project where programs of the machine are looked at: what it can reach and run, all can. It owns
 * nothing.
 */
export function anyProject({ shared }: Accounts): Account | null {
  return shared === undefined ? { uid: 65_534, gid: 65_534 } : shared
}

/** For who starts a program of a project that never got a user: nothing of it can run. */
export function noAccount(project: string): EngineError {
  return new EngineError('engine_unavailable', `The project ${project} has no user of its own on this machine.`, {
    hint: 'Start the project: its user is made then.',
  })
}
