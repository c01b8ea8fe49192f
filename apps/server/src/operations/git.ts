import type { Work } from '@stackquay/orchestrator'
import type { ProjectOperation } from '@stackquay/store'
import type { GitAct, Person } from '../git/acting.ts'
import { perform } from '../git/acts.ts'
import { noRemote } from '../git/refusals.ts'
import { remoteOf } from '../git/sealed-remote.ts'
import { deadlines, findProject, finish, type OperationDeps } from './operation-deps.ts'

export interface GitInput {
  readonly git: GitAct
  readonly by: Person
}

/** Something that is done to the repository of a project. What was begun and cut off is begun again. */
export function git(operation: ProjectOperation, deps: OperationDeps): Work {
  const { git: act, by } = operation.input as unknown as GitInput
  return {
    deadlineSeconds: deadlines.day,
    stages: [
      async () => [
        {
          id: 'git',
          title: titleOf(act),
          run: async ({ signal, output }) => {
            const row = await findProject(deps.store, operation.project)
            await deps.provision(row.id, signal)
            const repository = await deps.repositories.open(row, signal)
            await perform(act, {
              repository,
              files: deps.files,
              half: deps.gitHalf,
              by,
              askedAt: new Date(operation.createdAt),
              signal,
              say: (line) => output({ stream: 'stderr', text: `${line}\n` }),
              remote: async () => {
                const remote = await remoteOf(row, deps.store)
                if (remote === null) throw noRemote()
                return remote
              },
            })
          },
        },
      ],
    ],
    settle: async () => {
      const row = await deps.store.projects.find(operation.project)
      if (row !== null && row.phase !== 'deleting')
        await finish(operation.project, deps, { asKnown: !changesFiles(act) })
    },
  }
}

const changesFiles = ({ act }: GitAct) => act === 'pull' || act === 'checkout' || act === 'discard'

function titleOf(act: GitAct): string {
  switch (act.act) {
    case 'fetch':
      return 'Fetch from the other side'
    case 'pull':
      return 'Pull from the other side'
    case 'checkout':
      return `Check ${act.branch} out`
    case 'commit':
      return 'Commit'
    case 'push':
      return act.branch === null ? 'Push the branch' : `Push ${act.branch}`
    case 'discard':
      return 'Discard changes'
    default:
      return act satisfies never
  }
}
