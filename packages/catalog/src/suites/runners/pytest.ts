import { below, inSource } from '../../server-workload.ts'
import { contains } from '../contains.ts'
import { askingFor, needsInstall, pythonFiles, pythonProgram } from '../python-source.ts'
import type { SuiteInput, SuiteType } from '../suite-type.ts'

export const pytest: SuiteType = {
  runner: 'pytest',
  label: 'pytest',
  runtime: 'python',
  sourceFiles: (folder) =>
    pythonFiles(folder, ['pytest.ini', '.pytest.ini', 'tox.ini', 'conftest.py', 'tests/conftest.py']),
  find: (input) => {
    const because = reasonFor(input)
    if (because === null) return []
    return [
      {
        name: 'pytest',
        label: 'pytest',
        because,
        reason: null,
        filterHelp:
          'Part of a test’s name or an expression (-k), a file, or a node such as tests/test_cart.py::test_add.',
        needsSetup: needsInstall(input),
        command: ({ filter, results }) => ({
          argv: [
            pythonProgram(input),
            '-m',
            'pytest',
            '--color=yes',
            `--junitxml=${results}/results.xml`,
            // The family that names files and lines.
            '-o',
            'junit_family=xunit1',
            ...filterWords(filter),
          ],
          env: { PYTHONUNBUFFERED: '1' },
          cwd: below(input.project.path, input.folder),
          results: { format: 'junit', file: 'results.xml' },
        }),
      },
    ]
  },
}

function reasonFor(input: SuiteInput): string | null {
  const { source, folder } = input
  const at = (file: string) => inSource(folder, file)
  const asking = askingFor(input, 'pytest(-[\\w-]+)?')
  if (asking !== null) return `${asking} asks for pytest`
  const present = ['pytest.ini', '.pytest.ini', 'conftest.py', 'tests/conftest.py'].find((file) => at(file) in source)
  if (present !== undefined) return `${present} is there`
  if (contains(source, at('pyproject.toml'), /^[ \t]*\[tool\.pytest/m)) return 'pyproject.toml configures pytest'
  if (contains(source, at('setup.cfg'), /^[ \t]*\[tool:pytest\]/m)) return 'setup.cfg configures pytest'
  return contains(source, at('tox.ini'), /^[ \t]*\[pytest\]/m) ? 'tox.ini configures pytest' : null
}

function filterWords(filter: string | null): readonly string[] {
  if (filter === null) return []
  const isPlace = /::|\.py$|^\S+\/$/.test(filter) && !filter.startsWith('-')
  return isPlace ? [filter] : [`-k=${filter}`]
}
