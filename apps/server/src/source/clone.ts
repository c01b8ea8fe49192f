import { ProblemError } from '@stackquay/contract'
import type { Account, NetworkEnvironment } from '@stackquay/engines'
import type { StepContext } from '@stackquay/orchestrator'
import { copyToProject } from './copy-to-project.ts'
import { createGitHomes, type GitHome } from './git-home.ts'
import { gitOverNetwork } from './git-network.ts'
import { parseGitUrl } from './git-url.ts'
import { describeHostKey, knownHostName } from './host-keys.ts'

export interface Repository {
  /** As a person gave it, with credentials or without. */
  readonly url: string
  readonly branch: string | null
}

export interface Cloning {
  /** Clones into an empty folder of the account. */
  clone(repository: Repository, folder: string, account: Account | null, context: StepContext): Promise<void>
  /** Asks the other side for its branches. Throws `source_failed` when it cannot be read, or has no such branch. */
  check(repository: Repository, signal: AbortSignal): Promise<void>
}

/**
 * Repositories elsewhere. One user talks to the network and knows the credentials, another owns the project and its files;
 * between them stands a mirror that only the first can read (decision 27).
 */
export function createCloning(
  home: string,
  network: NetworkEnvironment,
  gitHome: () => Promise<GitHome> = createGitHomes(home),
): Cloning {
  /** Servers whose key was remembered by a check: the clone that follows says so, for nobody reads the output of checks. */
  const newServers = new Set<string>()

  return {
    clone: async (repository, folder, account, { signal, output }) => {
      const url = parseGitUrl(repository.url)
      const git = await gitHome()
      const say = (line: string) => output({ stream: 'stderr', text: `${line}\n` })
      await git.withMirror(async (mirror) => {
        const onLine = (line: string) => {
          if (!line.startsWith('Cloning into ')) say(line)
        }
        const args = ['clone', '--bare', '--progress', '--no-recurse-submodules', '--', url.url, '.']
        const { ssh } = await gitOverNetwork(args, { home: git, network, url, cwd: mirror, signal, onLine })
        const key = ssh.shown()
        const server = knownHostName(url)
        if (key !== null) say(describeHostKey(server, key, newServers.delete(server) || ssh.wasAdded()))
        await copyToProject({
          mirror,
          from: git.user,
          folder,
          to: account,
          url: url.url,
          branch: repository.branch,
          signal,
          onLine: say,
        })
      })
    },
    check: async ({ url: text, branch }, signal) => {
      const url = parseGitUrl(text)
      const git = await gitHome()
      const refs = branch === null ? ['HEAD'] : [`refs/heads/${branch}`, `refs/tags/${branch}`]
      const bounded = AbortSignal.any([signal, AbortSignal.timeout(20_000)])
      const { stdout, ssh } = await gitOverNetwork(['ls-remote', '--', url.url, ...refs], {
        home: git,
        network,
        url,
        cwd: git.folder,
        signal: bounded,
        mustAnswer: true,
      })
      if (ssh.wasAdded()) newServers.add(knownHostName(url))
      if (branch !== null && stdout.trim() === '') {
        throw new ProblemError('source_failed', `The repository ${url.url} has no branch or tag "${branch}".`, {
          hint: 'Check the branch’s name.',
        })
      }
    },
  }
}
