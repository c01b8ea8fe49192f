import { writeFile } from 'node:fs/promises'
import { apiPrefix, operations } from '@stackquay/contract'

/**
 * The text of `routes.ts`: what a caller must know of each operation to call it, without the schemas. A browser
 * bundles this table and not zod. Run this file to write it; a test fails when the two differ.
 */
export function routesSource(): string {
  const lines = Object.values(operations).map((operation) => {
    const answers = Object.keys(operation.results)
      .map(Number)
      .filter((status) => status >= 400)
    const also = answers.length === 0 ? '' : `, answers: [${answers.join(', ')}]`
    return `  ${operation.id}: { method: '${operation.method}', path: '${operation.path}'${also} },`
  })
  return `// Written by generate-routes.ts from the contract; do not edit.
import type { Method, OperationId } from '@stackquay/contract'

export const apiPrefix = '${apiPrefix}'

export interface Route {
  readonly method: Method
  readonly path: string
  /** Statuses of 400 and more that carry a result and not a problem. */
  readonly answers?: readonly number[]
}

export const routes: Readonly<Record<OperationId, Route>> = {
${lines.join('\n')}
}
`
}

if (import.meta.main) await writeFile(new URL('routes.ts', import.meta.url), routesSource())
