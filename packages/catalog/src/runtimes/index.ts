import type { RuntimeType } from '../entry-types.ts'
import { go } from './go/go.ts'
import { node } from './node/node.ts'
import { php } from './php/php.ts'
import { python } from './python/python.ts'
import { ruby } from './ruby/ruby.ts'
import { staticFiles } from './static/static.ts'

/** One line a runtime; a test compares this list with the folders beside it. */
export const runtimeTypes: readonly RuntimeType[] = [node, python, go, ruby, php, staticFiles]

export function runtimeTypeOf(name: string): RuntimeType | undefined {
  return runtimeTypes.find((kind) => kind.name === name)
}
