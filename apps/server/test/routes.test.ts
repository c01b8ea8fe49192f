import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseRouteChanges, withChanges } from '@stackquay/proxy/route-changes'
import { emptyTable, parseRouteTable, type RoutePass, type RouteTable } from '@stackquay/proxy/route-table'
import { randomFrom } from '@stackquay/testkit/random'
import { createRoutes, type Publication, type RoutesOptions } from '../src/projects/routes.ts'

test('a name that another project has by itself, since the base domain is another, costs nobody the whole table', async () => {
  const world = createWorld()
  world.put('prj_1', { slug: 'shop', domains: ['blog.dev.example', 'blog-dev.dev.example', 'shop.example'] })
  world.put('prj_2', { slug: 'blog' })
  await world.routes.publishAll()
  assert.deepEqual(world.hosts(), [
    'blog: blog-dev.dev.example',
    'blog: blog.dev.example',
    'shop: shop-dev.dev.example',
    'shop: shop.dev.example shop.example',
  ])
  world.remove('prj_2')
  await world.routes.publish(['prj_2'])
  assert.deepEqual(
    world.hosts(),
    ['shop: shop-dev.dev.example', 'shop: shop.dev.example blog.dev.example blog-dev.dev.example shop.example'],
    'what was given to a project leads to it once the name is free again',
  )
})

test('only what differs is told, and nothing when nothing does', async () => {
  const world = createWorld()
  for (const slug of ['one', 'two', 'three']) world.put(`prj_${slug}`, { slug })
  await world.routes.publishAll()
  world.told.length = 0
  await world.routes.publish(['prj_one', 'prj_two'])
  assert.deepEqual(world.told, [])
  world.put('prj_two', { slug: 'two', port: 4000 })
  await world.routes.publish(['prj_one', 'prj_two'])
  assert.deepEqual(world.told, [['prj_two']])
})

test('a service without projects tells that too: the proxy may have routes of before', async () => {
  const world = createWorld()
  await world.routes.publishAll()
  assert.deepEqual(world.told, [[]])
})

test('a hold ends with its time, also when nobody lets go', async (t) => {
  const world = createWorld()
  world.put('prj_1', { slug: 'shop', port: 4000 })
  await world.routes.publishAll()
  t.mock.timers.enable({ apis: ['Date'], now: Date.now() })
  const held = world.routes.hold('prj_1', 'web', Date.now() + 1000)
  await world.routes.publish()
  assert.deepEqual(world.targets(), ['page starting', 'page starting'])
  t.mock.timers.tick(1001)
  await world.routes.publish()
  assert.deepEqual(world.targets(), ['127.0.0.1:4000', '127.0.0.1:4000'])
  held.let()
})

test('hosts of before a rename lead to those of today with method and path, and to nobody who may not come in', async () => {
  const world = createWorld()
  world.put('prj_1', { slug: 'store', former: ['shop'], port: 4000 })
  await world.routes.publishAll()
  const former = world.table().routes.filter(({ rules }) => rules?.redirects !== undefined)
  assert.deepEqual(
    former.map(({ hosts, rules }) => [hosts, rules?.redirects]),
    [
      [['shop.dev.example'], [{ from: '/*', host: null, to: 'http://store.dev.example/*', status: 308 }]],
      [['shop-dev.dev.example'], [{ from: '/*', host: null, to: 'http://store-dev.dev.example/*', status: 308 }]],
    ],
  )
  for (const { target } of former) assert.equal(target.kind, 'page')
})

test('what was not told because of an error is told the next time', async () => {
  const world = createWorld()
  await world.routes.publishAll()
  world.put('prj_1', { slug: 'shop', port: 4000 })
  world.failNext()
  await world.routes.publish(['prj_1'])
  assert.deepEqual(world.errors.length, 1)
  await world.routes.publish()
  assert.deepEqual(world.targets(), ['127.0.0.1:4000', '127.0.0.1:4000'])
})

test('told change by change the routes are those that are made of everything at once, whatever happens in whatever order', async () => {
  const random = randomFrom(20_261_123)
  const pick = <Value>(values: readonly Value[]) => values[Math.floor(random() * values.length)]!
  const slugs = ['a', 'b', 'c', 'd', 'e']
  const names = slugs.flatMap((slug) => [`${slug}.dev.example`, `${slug}-dev.dev.example`, `${slug}.example`])
  for (let round = 0; round < 40; round += 1) {
    const world = createWorld()
    // A slug is or was that of one project alone.
    const free = (id: string) => {
      const others = [...world.projects].filter(([other]) => other !== id)
      const taken = others.flatMap(([, { slug, former = [] }]) => [slug, ...former])
      return slugs.filter((slug) => !taken.includes(slug))
    }
    await world.routes.publishAll()
    for (let step = 0; step < 40; step += 1) {
      const id = `prj_${pick(slugs)}`
      const before = world.projects.get(id)
      const slug = random() < 0.7 && before !== undefined ? before.slug : pick(free(id))
      const taken = new Set(
        [...world.projects].flatMap(([other, { domains }]) => (other === id ? [] : (domains ?? []))),
      )
      const domains = names.filter((name) => random() < 0.2 && !taken.has(name))
      if (random() < 0.2) world.remove(id)
      else if (slug !== undefined) {
        const former = free(id).filter((one) => one !== slug && random() < 0.3)
        world.put(id, { slug, domains, former, ...(random() < 0.5 && { port: 4000 + step }) })
      }
      if (random() < 0.8) await world.routes.publish([id])
      else {
        world.routes.publish([id])
        world.routes.publish()
      }
    }
    await world.routes.publish()
    await world.routes.publish()
    const fresh = createWorld(world.projects)
    await fresh.routes.publishAll()
    assert.deepEqual(world.errors, [])
    assert.deepEqual(sorted(world.table()), sorted(fresh.table()), `round ${round}`)
    assert.deepEqual(sorted(world.whole()), sorted(fresh.table()), `round ${round}`)
  }
})

test('the page of a service is for those with a pass, and a project that is called so keeps its name', async () => {
  const world = createWorld()
  world.put('one', { slug: 'shop', pages: ['mailpit', 'broker'], port: 20_001 })
  await world.routes.publish(['one'])
  assert.equal(world.table().signIn?.suffix, '.dev.example')
  const pages = () => world.table().routes.filter(({ signIn }) => signIn !== undefined)
  assert.deepEqual(
    pages().map(({ hosts, signIn }) => [hosts, signIn]),
    ['mailpit', 'broker'].map((name) => [
      [`${name}--shop.dev.example`],
      { url: 'http://127.0.0.1:8700/enter', cookie: 'stackquay_page_abc', passes: [] },
    ]),
  )
  const pass = { id: 'a', hash: 'b', expiresAt: 1 }
  world.passes.set('one/broker', [pass])
  await world.routes.publish(['one'])
  assert.deepEqual(
    pages().map(({ signIn }) => signIn?.passes),
    [[], [pass]],
  )
  // The environment of a branch from before such names were kept: its own address goes on, and comes back when it goes.
  world.put('two', { slug: 'broker--shop', port: 20_002 })
  await world.routes.publish(['two'])
  const hosts = () => pages().flatMap((route) => route.hosts)
  assert.deepEqual(hosts(), ['mailpit--shop.dev.example'])
  assert.ok(world.hosts().some((line) => line.startsWith('broker--shop: broker--shop.dev.example')))
  world.remove('two')
  await world.routes.publish(['two'])
  assert.deepEqual(hosts(), ['mailpit--shop.dev.example', 'broker--shop.dev.example'])
  assert.deepEqual(world.errors, [])
})

test('a project that asks for a sign-in does so at all of its names, and a share of it is behind its link alone', async () => {
  const world = createWorld()
  const shop = {
    slug: 'shop',
    domains: ['shop.example.org'],
    former: ['old'],
    share: 'x.share.dev.example',
    port: 20_001,
  }
  world.put('one', shop)
  await world.routes.publish(['one'])
  const asking = () => world.table().routes.flatMap(({ hosts, signIn }) => (signIn === undefined ? [] : hosts))
  assert.deepEqual(asking(), [])
  world.put('one', { ...shop, signIn: true })
  const pass = { id: 'a', hash: 'b', expiresAt: 1 }
  world.passes.set('one/', [pass])
  await world.routes.publish(['one'])
  assert.deepEqual(asking().toSorted(), [
    ...['old-dev.dev.example', 'old.dev.example'],
    ...['shop-dev.dev.example', 'shop.dev.example', 'shop.example.org'],
  ])
  for (const { signIn } of world.table().routes) if (signIn !== undefined) assert.deepEqual(signIn.passes, [pass])
  assert.ok(world.table().routes.some(({ hosts, share }) => share !== undefined && hosts[0] === 'x.share.dev.example'))
  world.put('one', shop)
  await world.routes.publish(['one'])
  assert.deepEqual(asking(), [])
  assert.deepEqual(world.errors, [])
})

interface StandIn {
  readonly slug: string
  readonly signIn?: boolean
  readonly share?: string
  readonly domains?: readonly string[]
  /** Slugs from before renames. */
  readonly former?: readonly string[]
  /** Services with a page. */
  readonly pages?: readonly string[]
  /** Of its program; absent: it does not run. */
  readonly port?: number
}

/** Projects as the model shows them, and a proxy that takes what it is told as the real one does. */
function createWorld(given: ReadonlyMap<string, StandIn> = new Map()) {
  const projects = new Map(given)
  let table: RouteTable = emptyTable
  let last: Publication | null = null
  let fails = false
  const told: string[][] = []
  const passes = new Map<string, readonly RoutePass[]>()
  const errors: unknown[] = []
  const known = (id: string) => {
    const project = projects.get(id)
    if (project === undefined) return null
    return {
      row: { id, slug: project.slug, spec: { name: project.slug, services: {} } },
      resolved: {
        extraHosts: [{ suffix: '-dev', workload: 'web' }],
        pages: (project.pages ?? []).map((workload) => ({ workload, port: 'web' })),
        front: { workload: 'web', port: 'http' },
      },
      leases: [],
      operations: [],
    }
  }
  const options = {
    projects: {
      all: () => [...projects.keys()].map(known),
      find: known,
      status: (id: string) => {
        const state = projects.get(id)?.port === undefined ? 'stopped' : 'running'
        return { state, workloads: [{ name: 'web', state }], warnings: [] }
      },
    },
    engine: {
      address: async ({ project }: { project: string }) => {
        if (fails) {
          fails = false
          throw new Error('no address today')
        }
        const { port } = projects.get(project) ?? {}
        return port === undefined ? null : { host: '127.0.0.1', port }
      },
    },
    resolver: {
      host: (slug: string, suffix = '') => `${slug}${suffix}.dev.example`,
      pageOf: (slug: string, service: string) => ({ host: `${service}--${slug}.dev.example` }),
      urlOf: (host: string) => `http://${host}`,
      shareDomain: 'share.dev.example',
    },
    passes: {
      cookie: 'stackquay_page_abc',
      of: (project: string, service: string) => passes.get(`${project}/${service}`) ?? [],
    },
    config: { trustedProxies: [], publicUrl: 'http://127.0.0.1:8700', baseDomain: 'dev.example' },
    network: {
      of: (project: string) => ({
        domains: (projects.get(project)?.domains ?? []).map((host) => ({ host, project, workload: null })),
        formerSlugs: (projects.get(project)?.former ?? []).map((slug) => ({ slug, project, until: '2027-01-01' })),
        rules: projects.get(project)?.signIn === true ? { rules: { ...noRules, signIn: true } } : null,
        share: shareAt(projects.get(project)?.share),
      }),
    },
    put: async (publication: Publication) => {
      const { changes, whole } = publication
      told.push(changes.projects.map(({ project }) => project))
      table =
        last === null ? parseRouteTable(overJson(whole())) : withChanges(table, parseRouteChanges(overJson(changes)))
      last = publication
    },
    onError: (error: unknown) => errors.push(error),
  }
  return {
    projects,
    told,
    passes,
    errors,
    routes: createRoutes(options as unknown as RoutesOptions),
    put: (id: string, project: StandIn) => projects.set(id, project),
    remove: (id: string) => projects.delete(id),
    failNext: () => {
      fails = true
    },
    table: () => table,
    whole: () => last!.whole(),
    hosts: () => table.routes.map(({ project, hosts }) => `${project.slug}: ${hosts.join(' ')}`).toSorted(),
    targets: () =>
      table.routes.map(({ target }) =>
        target.kind === 'upstream' ? `${target.host}:${target.port}` : `page ${target.page}`,
      ),
  }
}

const noRules = { allowIps: [], basicAuth: null, redirects: [], requestHeaders: [], responseHeaders: [], cors: null }

function shareAt(host: string | undefined) {
  if (host === undefined) return null
  return {
    id: 'shr_1',
    host,
    workload: null,
    provider: 'direct',
    passwordHash: null,
    expiresAt: '2999-01-01T00:00:00Z',
  }
}

function overJson(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value))
}

function sorted(table: RouteTable): readonly string[] {
  return parseRouteTable(overJson(table))
    .routes.map((route) => JSON.stringify(route))
    .toSorted()
}
