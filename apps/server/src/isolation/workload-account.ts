import { execFile, spawnSync } from 'node:child_process'
import { promisify } from 'node:util'
import type { Account } from '@stackquay/engines'

const execute = promisify(execFile)

/**
 * As root: the given account, or the system user `stackquay`, made when it is missing. Otherwise null: everything runs
 * as the one who runs the service. `say` tells the person what was changed on the machine.
 */
export async function workloadAccount(
  configured: Account | null,
  say: (text: string) => void,
): Promise<Account | null> {
  if (process.getuid?.() !== 0) return null
  if (configured !== null) return configured
  const existing = await accountOf('stackquay')
  if (existing !== null) return existing
  const made = spawnSync('useradd', [
    '--system',
    '--user-group',
    '--no-create-home',
    '--home-dir',
    '/nonexistent',
    '--shell',
    '/usr/sbin/nologin',
    'stackquay',
  ])
  if (made.status === 0) {
    say('Made the system user "stackquay": projects run as it, never as root.')
    const account = await accountOf('stackquay')
    if (account !== null) return account
  }
  const nobody = await accountOf('nobody')
  if (nobody !== null) {
    say(
      'The system user "stackquay" could not be made; projects run as "nobody". Set STACKQUAY_RUN_AS to choose another.',
    )
    return nobody
  }
  throw new Error(
    'There is no unprivileged user to run projects as. Make one (useradd --system stackquay) or set STACKQUAY_RUN_AS=uid:gid.',
  )
}

async function accountOf(name: string): Promise<Account | null> {
  try {
    const { stdout: uid } = await execute('id', ['-u', name])
    const { stdout: gid } = await execute('id', ['-g', name])
    return { uid: Number(uid), gid: Number(gid) }
  } catch {
    return null
  }
}
