/** A command of a framework's console, as it runs without anybody to answer questions. */
export interface ConsoleCommand {
  readonly name: string
  readonly options: readonly string[]
  readonly summary: string
  readonly destructive?: true
}

/**
 * `--force` answers the question that Laravel asks in production; what may delete data does not get it, so that a
 * production application still refuses.
 */
export const artisanCommands: readonly ConsoleCommand[] = [
  { name: 'about', options: [], summary: 'Tells versions, drivers and caches of the application.' },
  { name: 'migrate', options: ['--force'], summary: 'Runs the migrations that have not run yet.' },
  { name: 'migrate:status', options: [], summary: 'Lists migrations and whether they have run.' },
  {
    name: 'migrate:rollback',
    options: [],
    summary: 'Takes the last batch of migrations back, with the tables it made.',
    destructive: true,
  },
  {
    name: 'migrate:fresh',
    options: [],
    summary: 'Drops all tables and runs all migrations.',
    destructive: true,
  },
  { name: 'db:seed', options: ['--force'], summary: 'Runs the seeders.' },
  {
    name: 'key:generate',
    options: [],
    summary: 'Makes a new APP_KEY: what the old one encrypted is lost.',
    destructive: true,
  },
  { name: 'storage:link', options: [], summary: 'Links public/storage to the files that may be public.' },
  { name: 'route:list', options: [], summary: 'Lists all routes.' },
  { name: 'schedule:list', options: [], summary: 'Lists scheduled tasks.' },
  { name: 'cache:clear', options: [], summary: 'Empties the application’s cache.' },
  { name: 'config:clear', options: [], summary: 'Removes the cached configuration.' },
  { name: 'view:clear', options: [], summary: 'Removes compiled views.' },
  { name: 'optimize:clear', options: [], summary: 'Removes all cached bootstrap files.' },
  { name: 'queue:restart', options: [], summary: 'Lets queue workers begin anew after their current job.' },
]

export const symfonyCommands: readonly ConsoleCommand[] = [
  { name: 'about', options: [], summary: 'Tells about the application and its environment.' },
  { name: 'cache:clear', options: [], summary: 'Empties the cache of the environment.' },
  { name: 'cache:warmup', options: [], summary: 'Fills the cache of the environment.' },
  { name: 'debug:router', options: [], summary: 'Lists all routes.' },
  { name: 'debug:container', options: [], summary: 'Lists all services.' },
  { name: 'lint:container', options: [], summary: 'Looks whether services get what they ask for.' },
]

export const doctrineCommands: readonly ConsoleCommand[] = [
  {
    name: 'doctrine:database:create',
    options: ['--if-not-exists'],
    summary: 'Creates the database when it is not there.',
  },
  { name: 'doctrine:migrations:status', options: [], summary: 'Tells which migrations have run.' },
  { name: 'doctrine:migrations:migrate', options: [], summary: 'Runs the migrations that have not run yet.' },
  { name: 'doctrine:schema:validate', options: [], summary: 'Compares the mapping with the database.' },
  {
    name: 'doctrine:fixtures:load',
    options: [],
    summary: 'Empties the tables and loads the fixtures.',
    destructive: true,
  },
  { name: 'doctrine:database:drop', options: ['--force'], summary: 'Drops the database.', destructive: true },
]
