import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseRouteTable, type RouteTable } from '@stackquay/proxy/route-table'
import { createRoutes, type RoutesOptions } from '../src/projects/routes.ts'

test('a name that another project has by itself, since the base domain is another, costs nobody the whole table', async () => {
  const known = (id: string, slug: string) => ({
    row: { id, slug, spec: { name: slug } },
    resolved: { extraHosts: [{ suffix: '-dev', workload: 'node-dev' }], front: null },
    leases: [],
  })
  const domain = (host: string) => ({ host, project: 'prj_1', workload: null, createdAt: '' })
  const tables: RouteTable[] = []
  const errors: unknown[] = []
  const options = {
    model: () => ({
      all: () => [known('prj_1', 'shop'), known('prj_2', 'blog')],
      status: () => ({ state: 'stopped', workloads: [], warnings: [] }),
    }),
    resolver: { host: (slug: string, suffix = '') => `${slug}${suffix}.dev.example`, shareDomain: 'share.dev.example' },
    config: { trustedProxies: [], publicUrl: 'http://127.0.0.1:8700' },
    network: {
      of: (project: string) => ({
        domains: project === 'prj_1' ? ['blog.dev.example', 'blog-dev.dev.example', 'shop.example'].map(domain) : [],
        rules: null,
        share: null,
      }),
    },
    put: async (table: RouteTable) => void tables.push(parseRouteTable(JSON.parse(JSON.stringify(table)))),
    onError: (error: unknown) => errors.push(error),
  }
  await createRoutes(options as unknown as RoutesOptions).publish()
  assert.deepEqual(errors, [])
  const hosts = tables[0]?.routes.map(({ project, hosts }) => `${project.slug}: ${hosts.join(' ')}`)
  assert.deepEqual(hosts, [
    'shop: shop.dev.example shop.example',
    'shop: shop-dev.dev.example',
    'blog: blog.dev.example',
    'blog: blog-dev.dev.example',
  ])
})
