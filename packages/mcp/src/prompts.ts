export interface ListedPrompt {
  readonly [key: string]: unknown
  readonly name: string
  readonly title: string
  readonly description: string
  readonly arguments: { name: string; description: string; required: boolean }[]
}

export const prompts: readonly ListedPrompt[] = [
  {
    name: 'set_up_project',
    title: 'Set this project up',
    description: 'From source code to a project that runs and passes its tests.',
    arguments: [{ name: 'source', description: 'A git URL, or a folder of the service’s machine.', required: true }],
  },
  {
    name: 'why_not_started',
    title: 'Why does it not start?',
    description: 'Finds what keeps a project from running, and says what would mend it.',
    arguments: [{ name: 'project', description: 'Its slug.', required: true }],
  },
]

/** What is sent as the person’s words; null where there is no such prompt. */
export function promptText(name: string, args: Readonly<Record<string, string>>): string | null {
  const quoted = (text: string | undefined) => JSON.stringify((text ?? '').slice(0, 500))
  switch (name) {
    case 'set_up_project':
      return [
        `Set up a Stackquay project from the source ${quoted(args.source)}.`,
        'First list_projects: it may be there already. Then create_project with start true, and read what it recognised (read_project state and settings).',
        'Read the README and example variables with read_files. Add databases, services and variables with change_project; read_catalogue has their settings. Ask me for every secret; make none up.',
        'When it is not well, use diagnose_project. When it runs, run its tests, and tell me its URL and what is left to do.',
      ].join('\n')
    case 'why_not_started':
      return [
        `Find out why the Stackquay project ${quoted(args.project)} does not start.`,
        'Begin with diagnose_project. Read the page stackquay://problems/{code} of each problem code, and more lines with read_logs where the reason is not there.',
        'Change nothing. Tell me the cause with the line that shows it, and the smallest change that would mend it.',
      ].join('\n')
    default:
      return null
  }
}
