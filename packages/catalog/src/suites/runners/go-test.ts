import { below, inSource } from '../../server-workload.ts'
import type { SuiteInput, SuiteType } from '../suite-type.ts'

export const goTest: SuiteType = {
  runner: 'go-test',
  label: 'go test',
  runtime: 'go',
  sourceFiles: (folder) => [...new Set(['go.mod', inSource(folder, 'go.mod')])],
  find: (input) => {
    const { source, folder, program } = input
    // The folder of the main package may belong to the module at the top; all of that is tested.
    const module = [folder, '.'].find((one) => inSource(one, 'go.mod') in source)
    if (module === undefined) return []
    return [
      {
        name: 'go-test',
        label: 'go test ./...',
        because: `${inSource(module, 'go.mod')} is there`,
        reason: null,
        filterHelp: 'A regular expression for names of tests, subtests behind a slash (-run).',
        needsSetup: input.environment.setup.length > 0,
        command: ({ filter, results }) => {
          const wrapper = input.ourProgram('test-output')
          return {
            argv: [
              wrapper.node,
              wrapper.file,
              '--format=go',
              `--results=${results}/results.json`,
              '--',
              program ?? 'go',
              'test',
              '-json',
              ...(saysWholePaths(input) ? ['-fullpath'] : []),
              ...(filter === null ? [] : [`-run=${filter}`]),
              './...',
            ],
            cwd: below(input.project.path, module),
            results: { format: 'go-test-json', file: 'results.json' },
          }
        },
      },
    ]
  },
}

/** Go from 1.21 on; before, a file has no folder in its output. */
function saysWholePaths({ settings }: SuiteInput): boolean {
  const [major = 0, minor = 0] = String(settings?.version ?? '')
    .split('.')
    .map(Number)
  return major > 1 || minor >= 21
}
