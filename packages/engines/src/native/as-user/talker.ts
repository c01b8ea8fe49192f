import { type ChildProcess, spawn } from 'node:child_process'
import { givingUpRights, systemPath } from './restricted.ts'

/** A program of ours that talks with strangers, with as few rights as there can be. */
export interface TalkerProcess {
  readonly program: string
  /** Whom it becomes once it has loaded its files; null: it stays the user of the service. */
  readonly user: { readonly uid: number; readonly gid: number } | null
  /** Of Node. */
  readonly flags: readonly string[]
  /** Where Node keeps what it compiled. */
  readonly compiled: string | null
}

/** Its standard error is read; descriptor 3 is a stream to and fro, and sockets are handed to it by `send`. */
export async function startTalker({ program, user, flags, compiled }: TalkerProcess): Promise<ChildProcess> {
  const ids = user === null ? ['-', '-'] : [String(user.uid), String(user.gid)]
  const front = user === null ? [] : await givingUpRights()
  const [file = '', ...rest] = [...front, process.execPath, ...flags, '--no-warnings', program, ...ids]
  return spawn(file, rest, {
    cwd: '/',
    env: {
      PATH: systemPath,
      LANG: 'C.UTF-8',
      MALLOC_ARENA_MAX: '2',
      // Work that io_uring does in the kernel keeps the rights of who set it up.
      UV_USE_IO_URING: '0',
      ...(compiled === null ? {} : { NODE_COMPILE_CACHE: compiled }),
    },
    stdio: ['ignore', 'ignore', 'pipe', 'pipe', 'ipc'],
    // A Ctrl+C at the terminal of the service is none of its business.
    detached: true,
  })
}
