/** One process as the kernel shows it. `pid` and `startTime` together name it for ever (within one boot). */
export interface ProcessEntry {
  readonly pid: number
  readonly parent: number
  readonly group: number
  readonly session: number
  /** Opaque; equal for the same process. */
  readonly startTime: string
  /** Ended, but not yet waited for by its parent. */
  readonly zombie: boolean
  readonly cpuSeconds: number
  /** Of what it started, and waited for after its end; 0 where the system does not say. */
  readonly childSeconds: number
}

export interface Listener {
  readonly address: string
  readonly port: number
  /** Kernel's number of the socket. */
  readonly inode: string
  /** The user that opened it; null where the system does not say. */
  readonly uid: number | null
}

/** Everything this engine asks the kernel about processes; the only part that differs between systems. */
export interface ProcessTable {
  /** Changes with every boot: process ids of another boot mean nothing. */
  bootId(): string
  /** Null when there is no such process. */
  find(pid: number): ProcessEntry | null
  list(): readonly ProcessEntry[]
  /** Ids of all living processes of these users. */
  ownedBy(uids: ReadonlySet<number>): readonly number[]
  /** The run marker in the environment the process was started with; null when it has none or belongs to another user. */
  marker(pid: number): string | null
  /** Ids of all processes of these users which carry a run marker. */
  marked(uids: ReadonlySet<number>): readonly { readonly pid: number; readonly marker: string }[]
  /** Sockets that listen for TCP on this machine, of one port or of all. */
  listeners(port?: number): readonly Listener[]
  /** The first of these sockets which the process holds. */
  holding(pid: number, inodes: ReadonlySet<string>): Holding | null
  /** Cheap: whether it holds that very socket still. */
  stillHolds(holding: Holding): boolean
  /** Name of the program file, for people. */
  program(pid: number): string | null
  usage(pid: number): Usage
}

export interface Holding {
  readonly pid: number
  readonly inode: string
  /** Where the process table sees it. */
  readonly path: string
}

export interface Usage {
  readonly memoryBytes: number
  readonly readBytes: number | null
  readonly writtenBytes: number | null
}

/** Environment variable that names the run a process belongs to; inherited by everything it starts. */
export const RUN_MARKER = 'STACKQUAY_RUN'

export function isAlive(entry: ProcessEntry | null): entry is ProcessEntry {
  return entry !== null && !entry.zombie
}
