import { ProblemError, type Secret } from '@stackquay/contract'
import { isSecretOfCopy, slugOf, withWorkOff } from '@stackquay/domain'
import { type NewProject, newId, type ProjectRow, type Store, type Transaction } from '@stackquay/store'
import type { Handlers } from '../../http/handler.ts'
import { acceptQuietly, queueOperation } from '../accept.ts'
import type { ProjectAnswers } from '../answers.ts'
import { sealSpec, withPendingSecrets } from '../extract-secrets.ts'
import { opensRepository } from '../source-url.ts'
import { invalid, type ProjectsDeps } from './deps.ts'
import { insertProject } from './insert-project.ts'
import { isReserved, nameTaken } from './names.ts'

export function duplicateHandler(deps: ProjectsDeps, answers: ProjectAnswers): Handlers['duplicateProject'] {
  const { store } = deps
  return async ({ params, query, body }, context) => {
    const original = await answers.find(params.id)
    const slug = body.slug ?? slugOf(body.name)
    await refuseCopy(original, slug, store)
    const id = newId('prj')
    const pending = withPendingSecrets(withWorkOff(original.spec))
    const project: NewProject = {
      id,
      slug,
      spec: { ...pending.spec, name: body.name },
      engine: original.engine,
      desired: body.start === false ? 'stopped' : 'running',
      phase: 'creating',
      path: await deps.sources.freeFolder(slug),
      source: { kind: 'copy', of: original.id },
    }
    const more = async (tx: Transaction) => {
      // The data of a database knows its passwords, so the copy keeps them; variables keep their texts.
      const texts = new Map<string, Secret>()
      for (const [name, handle] of Object.entries(await store.secrets.of(original.id))) {
        if (opensRepository(name) || isSecretOfCopy(name)) continue
        const text = await store.secrets.reveal(handle.secret)
        if (pending.names.includes(name)) texts.set(name, text)
        else await tx.secrets.put(id, name, text.expose())
      }
      const spec = await sealSpec(tx, id, project.spec, { texts, dropped: [] })
      if (texts.size > 0) await tx.projects.update(id, 1, { spec })
      return queueOperation(tx, 'duplicate', id, context, { of: original.id }, true)
    }
    const user = (await deps.isolation.users?.reserve(id)) ?? null
    const operation = await insertProject(project, context, deps, { user, more })
    return answers.answerProject({ ...project } as ProjectRow, operation, query.wait, context, 201)
  }
}

async function refuseCopy(original: ProjectRow, slug: string, store: Store): Promise<void> {
  const holder = await store.projects.find(slug)
  if (slug === '' || isReserved(slug))
    throw invalid('/slug', 'invalid', 'Send a slug of lower-case letters, digits and hyphens.')
  if (holder !== null) throw nameTaken(slug, holder)
  await acceptQuietly(store, original, 'merge')
  if (original.phase !== 'ready')
    throw new ProblemError('busy', `The project "${original.slug}" is not ready to be copied.`)
}
