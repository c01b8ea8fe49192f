import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runtimeTypeOf, type Settings, type SourceFiles } from '../src/index.ts'

/** `name: command`, with a schedule in front where there is one. */
function found(runtime: string, source: SourceFiles): readonly string[] {
  const kind = runtimeTypeOf(runtime)!
  for (const file of Object.keys(source)) assert.ok(kind.programs.files.includes(file), `${runtime} reads ${file}`)
  return kind.programs
    .find(source, kind.settings.defaults() as Settings)
    .map(
      ({ name, command, schedule }) => `${schedule === undefined ? '' : `${schedule} `}${name}: ${command.join(' ')}`,
    )
}

test('the usual workers and schedulers are recognised by what the source asks for', () => {
  assert.deepEqual(found('php', { artisan: '', 'composer.json': '{"require":{"laravel/framework":"^12"}}' }), [
    'queue: php artisan queue:work --tries=3',
    '* * * * * scheduler: php artisan schedule:run',
  ])
  assert.deepEqual(
    found('php', { artisan: '', 'composer.json': '{"require":{"laravel/horizon":"^5","laravel/reverb":"^1"}}' }).map(
      (line) => line.split(':')[0],
    ),
    ['horizon', '* * * * * scheduler', 'reverb'],
  )
  assert.deepEqual(found('php', { 'bin/console': '', 'composer.json': '{"require":{"symfony/messenger":"7"}}' }), [
    'messenger: php bin/console messenger:consume async',
  ])
  const manage = `os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")`
  assert.deepEqual(found('python', { 'requirements.txt': 'Django\ncelery[redis]>=5\n', 'manage.py': manage }), [
    'celery: celery -A config worker --loglevel=info',
    'beat: celery -A config beat --loglevel=info',
  ])
  assert.deepEqual(found('python', { 'pyproject.toml': 'dependencies = ["rq>=2"]' }), [
    'rq: rq worker --with-scheduler',
  ])
  assert.deepEqual(found('ruby', { 'Gemfile.lock': '    sidekiq (8.0.1)\n    solid_queue (1.2)\n', 'bin/jobs': '' }), [
    'sidekiq: bundle exec sidekiq',
    'jobs: ruby bin/jobs',
  ])
  assert.deepEqual(found('ruby', { Gemfile: "gem 'good_job'" }), ['jobs: bundle exec good_job start'])
  assert.deepEqual(found('node', { 'package.json': '{"dependencies":{"bullmq":"5"}}', 'src/worker.ts': '' }), [
    'queue: node src/worker.ts',
  ])
})

test('what only looks like one is none', () => {
  assert.deepEqual(found('python', { 'requirements.txt': 'django-celery-results\nflask-rq\nnotrq\n' }), [])
  assert.deepEqual(found('python', { 'requirements.txt': 'celery\n' }), [], 'nobody knows its application')
  assert.deepEqual(found('ruby', { 'Gemfile.lock': '    sidekiq-cron (2.0)\n', Gemfile: "# gem 'sidekiq'\n" }), [])
  assert.deepEqual(found('node', { 'package.json': '{"dependencies":{"bullmq":"5"}}' }), [])
  assert.deepEqual(found('php', { 'composer.json': '{' }), [])
})
