import { problemKinds } from '@stackquay/contract'
import { page, table } from './page.ts'

/** Every problem code, each with an anchor of its own. */
export function problemReference(): string {
  const kinds = Object.entries(problemKinds).toSorted(([a], [b]) => (a < b ? -1 : 1))
  return page(
    'Problems',
    '`packages/contract/src/problems.ts`',
    'Every error is answered as `application/problem+json` (RFC 9457). `code` is stable; `detail` says what is true just then; `hint` says what to do; ' +
      '`retryable` says whether the same request may succeed later by itself; `errors` names every wrong field at once, and in a project file its line and column.',
    table(
      ['Code', 'Status', 'Meaning', 'Retry'],
      kinds.map(([code, kind]) => [
        `[\`${code}\`](#${code})`,
        String(kind.status),
        kind.title,
        kind.retryable ? 'yes' : '',
      ]),
    ),
    ...kinds.map(([code, kind]) => `## ${code}\n\n${kind.status}. ${kind.title}. ${kind.hint}`),
  )
}
