import { inSource } from '../server-workload.ts'
import { contains } from './contains.ts'
import type { SuiteInput } from './suite-type.ts'

/** Files in which a Python project says what it needs for its tests. */
export const requirementFiles = [
  'pyproject.toml',
  'requirements.txt',
  'requirements-dev.txt',
  'requirements-test.txt',
  'requirements_dev.txt',
  'requirements_test.txt',
  'dev-requirements.txt',
  'test-requirements.txt',
  'requirements/dev.txt',
  'requirements/test.txt',
  'requirements/tests.txt',
  'setup.py',
  'setup.cfg',
  'Pipfile',
  'uv.lock',
]

/** The file that asks for a package, of the package's folder first, then of the project. */
export function askingFor({ source, folder }: SuiteInput, name: string): string | null {
  const word = new RegExp(`(^|[\\s"'\\[,=])${name}([\\s"'\\[\\]<>=!~;,]|$)`, 'im')
  const files = [...new Set([folder, '.'])].flatMap((base) => requirementFiles.map((file) => inSource(base, file)))
  return files.find((file) => contains(source, file, word)) ?? null
}

export function pythonFiles(folder: string, files: readonly string[]): readonly string[] {
  const own = [...requirementFiles, ...files].map((file) => inSource(folder, file))
  return [...new Set([...own, ...requirementFiles])]
}

/** Of the virtual environment where there is one: it alone has the project's packages. */
export function pythonProgram({ environment, program }: SuiteInput): string {
  const venv = environment.env.VIRTUAL_ENV
  return typeof venv === 'string' ? `${venv}/bin/python` : (program ?? 'python3')
}

/** Whether anything is to be installed before. */
export function needsInstall(input: SuiteInput): boolean {
  return input.environment.setup.length > 0
}
