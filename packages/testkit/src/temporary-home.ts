import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface TemporaryHome extends AsyncDisposable {
  /** Absolute. */
  readonly path: string
  /** The environment of a service that keeps all its state in it and listens where the system has room. */
  readonly env: Readonly<Record<string, string>>
  remove(): Promise<void>
}

/**
 * A home of its own for one service, never the user's. `await using home = await temporaryHome()` removes it in the end.
 * Others may pass through the folder but not list it: workloads of a service that runs as root are another user.
 */
export async function temporaryHome(): Promise<TemporaryHome> {
  const path = await mkdtemp(join(tmpdir(), 'stackquay-test-'))
  await chmod(path, 0o711)
  // Processes that end late may still write: removal is tried again for a while.
  const remove = () => rm(path, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 })
  return {
    path,
    env: {
      STACKQUAY_HOME: path,
      STACKQUAY_LISTEN: '127.0.0.1:0',
      STACKQUAY_PROXY_HTTP: '127.0.0.1:0',
      STACKQUAY_PROXY_HTTPS: 'off',
      STACKQUAY_SSH: 'off',
      STACKQUAY_LOG_LEVEL: 'warn',
    },
    remove,
    [Symbol.asyncDispose]: remove,
  }
}
