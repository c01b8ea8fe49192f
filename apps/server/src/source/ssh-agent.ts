import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { ProblemError } from '@stackquay/contract'
import type { GitHome } from './git-home.ts'
import { gitEnvironment } from './git-settings.ts'
import { feed } from './local-git.ts'
import { startProgram } from './run-git.ts'

/**
 * Runs `act` while an agent of git’s own user holds the key, which comes to it through a pipe: no file, argument or environment
 * has it. ssh closes descriptors that it is started with and asks files to be its own user’s, so an agent is the way in.
 */
export async function withAgent<T>(
  home: GitHome,
  privateKey: string,
  signal: AbortSignal,
  act: (socket: string) => Promise<T>,
): Promise<T> {
  return home.withSocket(async (socket) => {
    const place = { cwd: home.folder, account: home.user }
    const agent = await startProgram({
      ...place,
      argv: ['ssh-agent', '-D', '-a', socket],
      env: gitEnvironment(),
      stdio: 'ignore',
    })
    try {
      await hand(privateKey, socket)
      return await act(socket)
    } finally {
      agent.end()
    }
  })

  async function hand(key: string, socket: string): Promise<void> {
    // It listens a moment after it was started.
    for (let attempt = 0; attempt < 100; attempt += 1) {
      signal.throwIfAborted()
      const add = await startProgram({
        cwd: home.folder,
        account: home.user,
        argv: ['ssh-add', '-q', '-'],
        env: { ...gitEnvironment(), SSH_AUTH_SOCK: socket },
        stdio: ['pipe', 'ignore', 'ignore'],
      })
      const exited = once(add.child, 'exit')
      feed(add.child.stdin!, key)
      if ((await exited)[0] === 0) return
      await sleep(50)
    }
    throw new ProblemError('unavailable_here', 'The agent that holds the deploy key did not take it.', {
      hint: 'Look whether ssh-agent and ssh-add of the machine are OpenSSH’s.',
    })
  }
}
