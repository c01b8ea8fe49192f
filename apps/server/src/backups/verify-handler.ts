import { ProblemError } from '@stackquay/contract'
import type { Handlers } from '../http/handler.ts'
import { acceptAlone, begin } from '../projects/accept.ts'
import type { ProjectAnswers } from '../projects/answers.ts'
import { operationView } from '../projects/view.ts'
import { type BackupHandlerDeps, finders, refuseUnready } from './backup-handlers.ts'

export function verifyHandlers(
  deps: BackupHandlerDeps,
  { find, wait }: ProjectAnswers,
): Pick<Handlers, 'verifyBackup'> {
  const { store, backups } = deps
  const { ofProject, view } = finders(deps)
  return {
    verifyBackup: async ({ params, query }, context) => {
      const row = await find(params.id)
      refuseUnready(row)
      const { manifest } = ofProject(row, params.backup)
      // Checked before: a copy of another engine's data starts on none of this project.
      if (manifest.engine !== row.engine)
        throw new ProblemError(
          'engine_cannot',
          `The backup holds data of the engine "${manifest.engine}", and the project is on "${row.engine}".`,
        )
      const accepted = await store.transaction(async (tx) => {
        const made = await acceptAlone(tx, store, row, context, { backup: manifest.id }, 'verify')
        await tx.audit.append(
          context.audit({
            action: 'backup.verify',
            target: `${row.slug}/${manifest.id}`,
            project: row.id,
            operationId: made.operation.id,
          }),
        )
        return made
      })
      begin(accepted, deps)
      const ended = await wait(accepted.operation, query.wait, context)
      const known = backups.known.find(manifest.id)
      return ended.state === 'succeeded' && known !== null
        ? { status: 200, body: view(known) }
        : { status: 202, body: operationView(ended) }
    },
  }
}
