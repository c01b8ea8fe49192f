import { below, inSource } from '../../server-workload.ts'
import { contains } from '../contains.ts'
import { needsInstall, pythonFiles, pythonProgram } from '../python-source.ts'
import { unittestReporter } from '../reporters/unittest.ts'
import type { SuiteType } from '../suite-type.ts'

export const django: SuiteType = {
  runner: 'django',
  label: 'Django tests',
  runtime: 'python',
  sourceFiles: (folder) => pythonFiles(folder, ['manage.py']),
  find: (input) => {
    const manage = inSource(input.folder, 'manage.py')
    if (!contains(input.source, manage, /django/i)) return []
    return [
      {
        name: 'django',
        label: 'manage.py test',
        because: 'manage.py of Django is there',
        reason: null,
        filterHelp: 'Part of a test’s full name, or a pattern with * (-k).',
        needsSetup: needsInstall(input),
        command: ({ filter, results }) => ({
          argv: [
            pythonProgram(input),
            `${results}/stackquay_unittest.py`,
            `${results}/results.jsonl`,
            'manage.py',
            'test',
            // It would ask before it replaces a test database that an ended run has left.
            '--noinput',
            '--force-color',
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
