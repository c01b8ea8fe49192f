import type { StepContext, WorkStep } from '@stackquay/orchestrator'
import type { BranchSource, ProjectRow, ProjectSource } from '@stackquay/store'
import { checkOutBranch } from '../git/branch-source.ts'
import { remoteOf } from '../git/sealed-remote.ts'
import { sourceUrlSecret } from '../projects/source-url.ts'
import { findProject, type OperationDeps } from './operation-deps.ts'

/** Where the files of a new project come from, as a step. */
export function makeSource(row: ProjectRow, deps: OperationDeps): WorkStep {
  const { store, sources } = deps
  const source: ProjectSource = row.source ?? { kind: 'empty' }
  const step = (title: string, run: WorkStep['run']): WorkStep => ({ id: 'source', title, run })
  switch (source.kind) {
    case 'template':
      return step('Copy the template', (context) => sources.fromTemplate(source.template, row, context.signal))
    case 'git':
      return step(`Clone ${source.url}`, async (context) => {
        const sealed = await store.secrets.find(row.id, sourceUrlSecret)
        const url = sealed === null ? source.url : (await store.secrets.reveal(sealed.secret)).expose()
        await sources.fromGit({ url, branch: source.branch }, row, context)
      })
    case 'folder':
      return step('Use the folder', async (context) => {
        await deps.provision(row.id, context.signal)
        await sources.checkFolder(row)
      })
    case 'copy':
      return step('Copy the files', async (context) => {
        const original = await findProject(store, source.of)
        await sources.fromFolder(original, row, context.signal)
      })
    case 'branch':
      return step(`Check out ${source.branch}`, (context) => checkOut(row, source, context, deps))
    case 'empty':
      return step('Make the folder', () => sources.empty(row))
    default:
      return source satisfies never
  }
}

async function checkOut(
  row: ProjectRow,
  { of, branch, create }: BranchSource,
  { signal, output }: StepContext,
  deps: OperationDeps,
): Promise<void> {
  const { store, sources, repositories, gitHalf } = deps
  const repository = await repositories.open(await findProject(store, of), signal)
  const remote = await remoteOf(row, store)
  const say = (line: string) => output({ stream: 'stderr', text: `${line}\n` })
  await sources.fromMaker(row, async (folder, account) => {
    const asked = { repository, remote, branch, create }
    const seenCommit = await checkOutBranch(asked, { folder, account }, gitHalf, { signal, say })
    await store.transaction((tx) => tx.branches.update(of, branch, { seenCommit }))
  })
}
