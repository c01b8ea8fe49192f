import type { SourceFiles } from '../entry-types.ts'

export function contains(source: SourceFiles, file: string, pattern: RegExp): boolean {
  const text = source[file]
  return typeof text === 'string' && pattern.test(text)
}
