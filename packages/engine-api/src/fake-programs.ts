import { EngineError } from './errors.ts'

/**
 * Programs the fake engine knows, so that one conformance suite runs over it and over real engines. Any other argv is
 * a program that runs well for ever, and a job that succeeds at once.
 */
export type FakeProgram =
  | { readonly does: 'run' }
  | { readonly does: 'exit'; readonly code: number; readonly lines: readonly string[] }
  | { readonly does: 'hang' }
  | { readonly does: 'print'; readonly variable: string }
  | { readonly does: 'never-listen' }

export function fakeProgram(argv: readonly string[]): FakeProgram {
  const [program, ...args] = argv
  switch (program) {
    case '/fake/exit':
      return { does: 'exit', code: Number(args[0]), lines: args.slice(1) }
    case '/fake/hang':
      return { does: 'hang' }
    case '/fake/print':
      return { does: 'print', variable: args[0] ?? '' }
    case '/fake/never-listen':
      return { does: 'never-listen' }
    case '/fake/missing':
      throw new EngineError('program_not_found', `The program ${program} does not exist.`, { hint: 'Install it.' })
    default:
      return { does: 'run' }
  }
}
