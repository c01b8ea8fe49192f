import type { SourceFiles } from '../../entry-types.ts'
import { inSource } from '../../server-workload.ts'

/** Files in which an application usually begins. */
export const applicationFiles = [
  'app.py',
  'main.py',
  'wsgi.py',
  'asgi.py',
  'application.py',
  'server.py',
  'app/__init__.py',
  'app/main.py',
  'src/app.py',
  'src/main.py',
]

/** `module:attribute` of the application in the source, found by the line that makes it; null when there is none. */
export function findApplication(preset: string, folder: string, source: SourceFiles): string | null {
  if (preset === 'django') return djangoApplication(folder, source)
  if (preset === 'module') return 'main.py' in source || inSource(folder, 'main.py') in source ? 'main' : null
  const made = preset === 'asgi' ? asgiClass : wsgiClass
  for (const file of applicationFiles) {
    const text = source[inSource(folder, file)]
    if (typeof text !== 'string') continue
    const attribute = attributeIn(text, made, preset)
    if (attribute !== null) return `${moduleOf(file)}:${attribute}`
  }
  return null
}

const asgiClass = '(?:FastAPI|Starlette|Litestar|Quart|get_asgi_application)'
const wsgiClass = '(?:Flask|Bottle|APIFlask|OpenAPI|get_wsgi_application)'

function attributeIn(text: string, made: string, preset: string): string | null {
  const assigned = new RegExp(`^(\\w+)\\s*(?::[^=\\n]+)?=\\s*(?:\\w+\\.)*${made}\\(`, 'm').exec(text)?.[1]
  if (assigned !== undefined) return assigned
  const factory = /^def (create_app|make_app)\(/m.exec(text)?.[1]
  if (factory !== undefined && preset === 'flask') return `${factory}()`
  const called = /^(app|application|server)\s*=\s*(?:create_app|make_app)\(/m.exec(text)?.[1]
  return called ?? null
}

/** `config.wsgi:application`, from the settings that manage.py names. */
function djangoApplication(folder: string, source: SourceFiles): string | null {
  const text = source[inSource(folder, 'manage.py')]
  if (typeof text !== 'string') return null
  const settings = /DJANGO_SETTINGS_MODULE['"]\s*,\s*['"]([\w.]+)['"]/.exec(text)?.[1]
  if (settings === undefined) return null
  return `${settings.split('.')[0]}.wsgi:application`
}

function moduleOf(file: string): string {
  return file.replace(/\/__init__\.py$|\.py$/, '').replaceAll('/', '.')
}

/** Files of which one must exist for a module to be found. */
export function moduleFiles(application: string): readonly [string, string] {
  const path = (application.split(':')[0] ?? '').replaceAll('.', '/')
  return [`${path}.py`, `${path}/__init__.py`]
}
