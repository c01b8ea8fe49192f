import type { SourceFiles } from '../kind.ts'

export function contains(source: SourceFiles, file: string, pattern: RegExp): boolean {
  const text = source[file]
  return typeof text === 'string' && pattern.test(text)
}
