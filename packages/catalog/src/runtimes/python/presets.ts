import type { Preset } from '../../kind.ts'

export interface PythonPreset extends Preset {
  /** Words after the interpreter. `application` is `module:attribute`, for `module` the module's name. */
  words(server: PythonServer): readonly string[]
  /** Package that serves when the project does not name it itself. */
  serverPackage(mode: PythonServer['mode']): string | null
}

export interface PythonServer {
  readonly mode: 'development' | 'production'
  readonly application: string
  readonly port: number
}

export const presets: readonly PythonPreset[] = [
  {
    name: 'flask',
    label: 'Flask',
    port: 5000,
    summary: 'Flask with reload; gunicorn in production.',
    words: ({ mode, application, port }) =>
      mode === 'development'
        ? ['-m', 'flask', '--app', application, 'run', '--host', '127.0.0.1', '--port', String(port), '--debug']
        : gunicorn(application, port),
    serverPackage: (mode) => (mode === 'production' ? 'gunicorn' : null),
  },
  {
    name: 'django',
    label: 'Django',
    port: 8000,
    summary: 'manage.py runserver; gunicorn in production.',
    words: ({ mode, application, port }) =>
      mode === 'development' ? ['manage.py', 'runserver', `127.0.0.1:${port}`] : gunicorn(application, port),
    serverPackage: (mode) => (mode === 'production' ? 'gunicorn' : null),
  },
  {
    name: 'asgi',
    label: 'ASGI (FastAPI, Starlette)',
    port: 8000,
    summary: 'An ASGI application under uvicorn.',
    words: ({ mode, application, port }) => [
      ...['-m', 'uvicorn', application, '--host', '127.0.0.1', '--port', String(port)],
      ...(mode === 'development' ? ['--reload'] : []),
    ],
    serverPackage: () => 'uvicorn',
  },
  {
    name: 'wsgi',
    label: 'WSGI',
    port: 8000,
    summary: 'A WSGI application under gunicorn.',
    words: ({ mode, application, port }) => [
      ...gunicorn(application, port),
      ...(mode === 'development' ? ['--reload'] : []),
    ],
    serverPackage: () => 'gunicorn',
  },
  {
    name: 'module',
    label: 'Module',
    port: 8000,
    summary: 'Runs a module that listens on PORT: python -m name.',
    words: ({ application }) => ['-m', application],
    serverPackage: () => null,
  },
]

function gunicorn(application: string, port: number): readonly string[] {
  return ['-m', 'gunicorn', '--bind', `127.0.0.1:${port}`, '--access-logfile', '-', application]
}

export function presetOf(name: string): PythonPreset {
  return presets.find((preset) => preset.name === name) ?? presets[0]!
}
