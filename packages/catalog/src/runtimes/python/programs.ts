import type { SourceFiles } from '../../entry-types.ts'
import type { ProgramPreset, ProgramPresets } from '../../program-preset.ts'

const lists = ['requirements.txt', 'pyproject.toml', 'Pipfile', 'uv.lock', 'poetry.lock']
/** Where an application of Celery usually stands, by file. */
const celeryModules = { 'celery_app.py': 'celery_app', 'worker.py': 'worker', 'tasks.py': 'tasks', 'app.py': 'app' }

const files = [...lists, 'manage.py', ...Object.keys(celeryModules)]

export const programs: ProgramPresets = { files, find }

/** Queues of Django and others. */
function find(source: SourceFiles): readonly ProgramPreset[] {
  const found: ProgramPreset[] = []
  const celery = fileWith(source, 'celery')
  const application = celeryApplication(source)
  if (celery !== null && application !== null) {
    const because = `${celery} has celery`
    const command = (...words: readonly string[]) => ['celery', '-A', application, ...words] as const
    found.push(
      { name: 'celery', label: 'Celery', command: command('worker', '--loglevel=info'), because },
      { name: 'beat', label: 'Celery beat', command: command('beat', '--loglevel=info'), because },
    )
  }
  const djangoRq = 'manage.py' in source ? fileWith(source, 'django-rq') : null
  const rq = fileWith(source, 'rq')
  if (djangoRq !== null)
    found.push({
      name: 'rq',
      label: 'Django RQ',
      command: ['python', 'manage.py', 'rqworker', 'default'],
      because: `${djangoRq} has django-rq`,
    })
  else if (rq !== null)
    found.push({ name: 'rq', label: 'RQ', command: ['rq', 'worker', '--with-scheduler'], because: `${rq} has rq` })
  return found
}

/** A requirement of this name, not of one that only contains it. */
function fileWith(source: SourceFiles, name: string): string | null {
  const requirement = new RegExp(`(^|[\\s"'=])${name}([\\s"'=<>~!;\\[,]|$)`, 'im')
  return lists.find((file) => typeof source[file] === 'string' && requirement.test(source[file])) ?? null
}

/** Of Django the package of its settings, which has `celery.py` by custom. */
function celeryApplication(source: SourceFiles): string | null {
  const manage = source['manage.py']
  const settings = typeof manage === 'string' ? /DJANGO_SETTINGS_MODULE["'],\s*["']([A-Za-z_]\w*)/.exec(manage) : null
  if (settings?.[1] !== undefined) return settings[1]
  return Object.entries(celeryModules).find(([file]) => mentionsCelery(source[file]))?.[1] ?? null
}

function mentionsCelery(text: string | true | undefined): boolean {
  return typeof text === 'string' && /\bCelery\b/.test(text)
}
