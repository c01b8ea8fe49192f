import type { Account } from '../account.ts'
import { mostProcesses } from './control-groups.ts'
import { STOP_SIGNALS } from './sandbox.ts'

/*
 * A program of a project is started by a chain in which each link replaces itself with the next, so that its process keeps its number:
 * a shell of the engine (enters control groups) → bwrap → prlimit → setpriv (becomes the project's user, for ever) → env (its folder) →
 * the program. The folder is entered last, as that user: its path may lead elsewhere by now.
 */

export interface Chain {
  /** Null: the program keeps the user of this process. */
  readonly account: Account | null
  /** Folders of control groups to enter. */
  readonly groups: readonly string[]
  /** argv of a sandbox, up to its `--`; null without one. */
  readonly sandbox: readonly string[] | null
  /** How many processes its user may have, with those of all its other programs. */
  readonly processes: number
}

/** Enters each group, or starts nothing. A sandbox's outermost process must outlive signals to the whole group. */
const ENTER = [
  'n=$1; shift',
  'while [ "$n" -gt 0 ]; do echo 0 > "$1/cgroup.procs" || exit 126; shift; n=$((n - 1)); done',
  'umask 027',
  // A terminal belongs to who works in it; programs open it again by its name.
  '[ "$1" = - ] || [ ! -t 0 ] || chown -- "$1" "$(readlink /proc/self/fd/0)"',
  '[ "$2" = - ] || trap "" $2',
  'shift 2',
  'exec "$@"',
].join('\n')

/** `argv` of a process that becomes the program. */
export function chainArgv(chain: Chain, cwd: string, argv: readonly string[]): string[] {
  const { account, groups, sandbox, processes } = chain
  const ignored = sandbox === null ? '-' : STOP_SIGNALS.join(' ')
  return [
    '/bin/sh',
    '-c',
    ENTER,
    'stackquay',
    String(groups.length),
    ...groups,
    account === null ? '-' : String(account.uid),
    ignored,
    ...(sandbox ?? []),
    ...(account === null ? [] : becomeArgv(account, processes)),
    '/usr/bin/env',
    `--chdir=${cwd}`,
    ...(sandbox === null ? [] : [`--default-signal=${STOP_SIGNALS.join(',')}`]),
    // A name with `=` in it would be a variable to env.
    ...(argv[0]?.includes('=') === true ? ['/bin/sh', '-c', 'exec "$@"', 'stackquay', ...argv] : argv),
  ]
}

/** Becomes that user with no way back: no groups, no capabilities, none to be gained by what it starts. */
export function becomeArgv({ uid, gid }: Account, processes = mostProcesses): string[] {
  return [
    '/usr/bin/prlimit',
    `--nproc=${processes}:${processes}`,
    '/usr/bin/setpriv',
    `--reuid=${uid}`,
    `--regid=${gid}`,
    '--clear-groups',
    '--no-new-privs',
    '--bounding-set=-all',
    '--inh-caps=-all',
    '--ambient-caps=-all',
    '--',
  ]
}
