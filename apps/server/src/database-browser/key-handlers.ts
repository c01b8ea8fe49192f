import type { KeyChange } from '@stackquay/catalog/browse/key-driver'
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
    listKeys: async ({ params, query }, context) => {
      const browser = await keyBrowser(await find(params.id), params.service, deps, context)
      const { match = '*', type = null, cursor = '0', limit = 50 } = query
      const found = await asProblem(
        browser.call('keys', [{ match, type, cursor, limit }], context.signal),
        'invalid_request',
      )
      return { status: 200, body: mutable(found) }
    },

    getKey: async ({ params, query }, context) => {
      const browser = await keyBrowser(await find(params.id), params.service, deps, context)
      const { cursor = '0', limit = 50 } = query
      const ask = { key: keyOf(query), cursor, limit }
      const found = await asProblem(browser.call('key', [ask], context.signal), 'invalid_request')
      if (found === null) throw new ProblemError('not_found', 'There is no such key; it may have expired.')
      return { status: 200, body: mutable(found) }
    },

    editKey: async ({ params, body }, context) => {
      const row = await find(params.id)
      const change = changeOf(body)
      const browser = await keyBrowser(row, params.service, deps, context)
      await deps.store.transaction((tx) =>
        tx.audit.append(
          context.audit({
            action: 'service.key.edit',
            target: `${row.slug}/${params.service}`,
            project: row.id,
            changes: { act: body.act },
          }),
        ),
      )
      const edited = browser.call('changeKey', [keyOf(body), change], new AbortController().signal)
      if (await asProblem(edited, 'validation_failed')) return { status: 204 }
      throw new ProblemError('not_found', 'There is no such key or field; it may have expired.')
    },
  }
}

interface Edit {
  readonly act: 'set' | 'set-field' | 'delete-field' | 'expire' | 'delete'
  readonly field?: string | undefined
  readonly value?: string | undefined
  readonly seconds?: number | null | undefined
}

function changeOf({ act, field, value, seconds }: Edit): KeyChange {
  const given = <Value>(found: Value | undefined, name: string): Value => {
    if (found !== undefined) return found
    const detail = `"${act}" needs "${name}".`
    throw new ProblemError('validation_failed', detail, { errors: [{ pointer: `/${name}`, code: 'missing', detail }] })
  }
  switch (act) {
    case 'set':
      return { set: { value: given(value, 'value') } }
    case 'set-field':
      return { setField: { field: given(field, 'field'), value: given(value, 'value') } }
    case 'delete-field':
      return { deleteField: { field: given(field, 'field') } }
    case 'expire':
      return { expire: { seconds: given(seconds, 'seconds') } }
    case 'delete':
      return { delete: true }
    default:
      return act satisfies never
  }
}

function keyOf({ key, encoding }: { readonly key: string; readonly encoding?: 'text' | 'base64' | undefined }) {
  return encoding === 'base64' ? { base64: key } : key
}
