import type { ActionDefinition } from '../../entry-types.ts'
import { actionList } from '../actions.ts'

/** What the go command does with a whole module. */
export function goActions(module: {
  readonly program: string
  readonly hasModule: boolean
}): readonly ActionDefinition[] {
  const reason = module.hasModule ? null : 'No go.mod was found: make one with "go mod init NAME".'
  return actionList(
    offered.map(({ name, words, summary, needsSetup }) => ({
      name,
      label: `go ${words.join(' ')}`,
      summary,
      argv: [module.program, ...words],
      reason,
      needsSetup,
    })),
  )
}

const offered = [
  {
    name: 'download',
    words: ['mod', 'download'],
    summary: 'Downloads the modules that go.mod asks for.',
    needsSetup: false,
  },
  {
    name: 'tidy',
    words: ['mod', 'tidy'],
    summary: 'Brings go.mod and go.sum in line with the source.',
    needsSetup: false,
  },
  { name: 'build', words: ['build', './...'], summary: 'Compiles all packages.', needsSetup: true },
  { name: 'vet', words: ['vet', './...'], summary: 'Looks for likely mistakes in all packages.', needsSetup: true },
  {
    name: 'generate',
    words: ['generate', './...'],
    summary: 'Runs the generators that the source names.',
    needsSetup: true,
  },
]
