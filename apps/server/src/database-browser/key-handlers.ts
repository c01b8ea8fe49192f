import { ProblemError } from '@stackquay/contract'
import type { Handlers } from '../http/handler.ts'
import type { ProjectAnswers } from '../projects/answers.ts'
import { asProblem } from './browse-problem.ts'
import { type FindDeps, keyBrowser } from './find-browser.ts'
import { mutable } from './row-handlers.ts'

export function keyHandlers(
  deps: FindDeps,
  { find }: Pick<ProjectAnswers, 'find'>,
): Pick<Handlers, 'listKeys' | 'getKey' | 'editKey'> {
  return {
    listKeys: async ({ params, query }, { signal }) => {
      const browser = await keyBrowser(await find(params.id), params.service, deps, signal)
      const { match = '*', type = null, cursor = '0', limit = 50 } = query
      const found = await asProblem(browser.call('keys', [{ match, type, cursor, limit }], signal), 'invalid_request')
      return { status: 200, body: mutable(found) }
    },

    getKey: async ({ params, query }, { signal }) => {
      const browser = await keyBrowser(await find(params.id), params.service, deps, signal)
      const { cursor = '0', limit = 50 } = query
      const ask = { key: keyOf(query), cursor, limit }
      const found = await asProblem(browser.call('key', [ask], signal), 'invalid_request')
      if (found === null) throw new ProblemError('not_found', 'There is no such key; it may have expired.')
      return { status: 200, body: mutable(found) }
    },

    editKey: async ({ params, body }, context) => {
      const row = await find(params.id)
      const browser = await keyBrowser(row, params.service, deps, context.signal)
      await deps.store.transaction((tx) =>
        tx.audit.append(
          context.audit({
            action: 'key.edit',
            target: `${row.slug}/${params.service}`,
            project: row.id,
            changes: { act: Object.keys(body.change)[0] ?? '' },
          }),
        ),
      )
      const edited = browser.call('changeKey', [keyOf(body), body.change], new AbortController().signal)
      if (await asProblem(edited, 'validation_failed')) return { status: 204 }
      throw new ProblemError('not_found', 'There is no such key or field; it may have expired.')
    },
  }
}

function keyOf({ key, encoding }: { readonly key: string; readonly encoding?: 'text' | 'base64' | undefined }) {
  return encoding === 'base64' ? { base64: key } : key
}
