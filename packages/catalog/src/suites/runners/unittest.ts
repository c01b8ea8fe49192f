import { below, inSource } from '../../server-workload.ts'
import { needsInstall, pythonFiles, pythonProgram } from '../python-source.ts'
import { unittestReporter } from '../reporters/unittest.ts'
import type { SuiteInput, SuiteType } from '../suite-type.ts'
import { django } from './django.ts'
import { pytest } from './pytest.ts'

/** Tests without a runner of their own; pytest and Django run such tests too, so they come first. */
export const unittest: SuiteType = {
  runner: 'unittest',
  label: 'unittest',
  runtime: 'python',
  sourceFiles: (folder) => [
    ...new Set([
      ...pytest.sourceFiles(folder),
      ...django.sourceFiles(folder),
      ...pythonFiles(folder, [
        ...otherLanguages,
        'tests',
        'tests/__init__.py',
        'test',
        'test/__init__.py',
        'tests.py',
        'test.py',
      ]),
    ]),
  ],
  find: (input) => {
    const place = placeOf(input)
    if (place === null || pytest.find(input).length > 0 || django.find(input).length > 0) return []
    return [
      {
        name: 'unittest',
        label: 'unittest',
        because: place.because,
        reason: null,
        filterHelp: 'Part of a test’s full name, or a pattern with * (-k).',
        needsSetup: needsInstall(input),
        command: ({ filter, results }) => ({
          argv: [
            pythonProgram(input),
            `${results}/stackquay_unittest.py`,
            `${results}/results.jsonl`,
            '-m',
            'unittest',
            'discover',
            '-v',
            ...place.words,
            ...(filter === null ? [] : [`-k=${filter}`]),
          ],
          env: { PYTHONUNBUFFERED: '1' },
          cwd: below(input.project.path, input.folder),
          files: { 'stackquay_unittest.py': unittestReporter },
          results: { format: 'cases', file: 'results.jsonl' },
        }),
      },
    ]
  },
}

/** Beside one of these, the tests in a plain folder "tests" may be of another runner. */
const otherLanguages = ['package.json', 'Gemfile', 'composer.json', 'go.mod', 'Cargo.toml']

/** unittest looks from the top into packages alone; a plain folder is named. */
function placeOf({
  source,
  folder,
}: SuiteInput): { readonly because: string; readonly words: readonly string[] } | null {
  const has = (file: string) => inSource(folder, file) in source
  for (const name of ['tests', 'test']) {
    if (has(`${name}/__init__.py`)) return { because: `The package "${name}" is there`, words: [] }
    if (has(`${name}.py`)) return { because: `${name}.py is there`, words: [] }
    const isFolder = source[inSource(folder, name)] === true
    if (isFolder && !otherLanguages.some(has)) return { because: `The folder "${name}" is there`, words: ['-s', name] }
  }
  return null
}
