import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { type DockerLab, dockerLab } from '@stackquay/testkit/docker-lab'
import { createContainer, discard } from '../src/docker/create-container.ts'
import { objectName } from '../src/docker/labels.ts'
import { ensureNetwork, inNetwork, removeNetwork } from '../src/docker/networks.ts'
import { chooseSubnet, isRange, networkOf, routesIn, USUAL_RANGES } from '../src/docker/subnets.ts'
import { containerOf, testDaemon } from './docker-daemon.ts'
import { refusal } from './docker-workloads.ts'

test('a subnet is small, lies in the range, and is the same for the same name', () => {
  const chosen = chooseSubnet('shop', USUAL_RANGES, []) ?? ''
  assert.match(chosen, /^10\.20[0-7]\.\d+\.(0|64|128|192)\/26$/)
  assert.equal(chooseSubnet('shop', USUAL_RANGES, []), chosen)
  assert.notEqual(chooseSubnet('other', USUAL_RANGES, []), chosen)
})

test('a subnet overlaps nothing that is taken, be that larger or smaller', () => {
  const range = ['10.9.0.0/24']
  const taken: string[] = []
  for (let count = 0; count < 4; count++) {
    const next = chooseSubnet('shop', range, taken)
    assert.ok(next !== null && !taken.includes(next))
    taken.push(next)
  }
  assert.deepEqual([...taken].sort(), ['10.9.0.0/26', '10.9.0.128/26', '10.9.0.192/26', '10.9.0.64/26'])
  assert.equal(chooseSubnet('shop', range, taken), null)
  assert.equal(chooseSubnet('shop', range, ['10.0.0.0/8']), null)
  assert.equal(chooseSubnet('shop', range, ['10.9.0.5/32', '10.9.0.70/31', '10.9.0.191/32']), '10.9.0.192/26')
  assert.match(chooseSubnet('shop', [...range, '10.10.0.0/26'], ['10.9.0.0/16']) ?? '', /^10\.10\.0\.0\/26$/)
  assert.equal(chooseSubnet('shop', ['10.10.0.0/26'], ['fd00::/8', 'nonsense']), '10.10.0.0/26')
})

test('a range that holds no network, or is none, is known as such', () => {
  assert.deepEqual(
    ['10.0.0.0/8', '10.0.0.0/26', '10.0.0.0/27', '10.0.0.0', '10.0.0.256/8', 'fd00::/8', '10.0.0.0/33'].map(isRange),
    [true, true, false, false, false, false, false],
  )
  assert.equal(networkOf('10.1.2.77/26'), '10.1.2.64/26')
})

test('routes of the machine are read as the kernel writes them, without the default route', () => {
  const text = [
    'Iface Destination Gateway Flags RefCnt Use Metric Mask MTU Window IRTT',
    'eth0 00000000 0100A8C0 0003 0 0 0 00000000 0 0 0',
    'eth0 0000A8C0 00000000 0001 0 0 0 00FFFFFF 0 0 0',
    'tun0 0000C80A 00000000 0001 0 0 0 0000F8FF 0 0 0',
  ].join('\n')
  assert.deepEqual(routesIn(text.replaceAll(' ', '\t')), ['192.168.0.0/24', '10.200.0.0/13'])
})

describe('networks of projects', () => {
  let lab: DockerLab
  let daemon: Awaited<ReturnType<typeof testDaemon>>
  before(async () => {
    lab = await dockerLab()
    daemon = await testDaemon(lab.host)
  })
  after(async () => {
    await daemon.remove()
    await lab.close()
  })

  const subnetOf = async (project: string) => {
    const { IPAM } = await daemon.docker.getNetwork(objectName(daemon, project, 'network')).inspect()
    return String(IPAM?.Config?.[0]?.Subnet)
  }

  test('sixty can be made at once, each with addresses of its own', async () => {
    const range = `${lab.addressPrefix}64.0/18`
    const own = { ...daemon, subnets: [range] }
    const projects = Array.from({ length: 60 }, (_, at) => `p${at}`)
    await Promise.all(projects.map((project) => ensureNetwork(own, project)))
    const subnets = await Promise.all(projects.map(subnetOf))
    assert.equal(new Set(subnets).size, 60)
    for (const subnet of subnets) assert.equal(networkOf(`${subnet.split('/')[0]}/18`), range)
    await Promise.all(projects.map((project) => removeNetwork(own, project)))
    assert.equal(await lab.docker(['network', 'ls', '-q', '--filter', 'label=stackquay.instance']), '')
  })

  test('the pools that an administrator gave Docker are used, in small ranges', async () => {
    await ensureNetwork(daemon, 'pooled')
    const subnet = await subnetOf('pooled')
    assert.match(subnet, /\/26$/)
    assert.equal(networkOf(`${subnet.split('/')[0]}/17`), `${lab.addressPrefix}128.0/17`)
    await removeNetwork(daemon, 'pooled')
  })

  test('what was made in a network that another process removed before the start is started in a new one', async () => {
    const made = await createContainer(daemon, {
      name: objectName(daemon, 'lab', 'sleeper'),
      project: 'lab',
      role: 'job',
      labels: {},
      argv: ['sleep', '600'],
      cwd: '/',
      env: {},
      data: [],
      container: containerOf(lab.image('debian')),
      terminal: false,
      stdin: false,
      ports: [],
      reveal: async () => '',
    })
    await lab.docker(['network', 'rm', objectName(daemon, 'lab', 'network')])
    await inNetwork(daemon, 'lab', () => made.start())
    const { NetworkSettings } = await made.inspect()
    assert.deepEqual(Object.keys(NetworkSettings.Networks), [objectName(daemon, 'lab', 'network')])
    await discard(made)
    await removeNetwork(daemon, 'lab')
  })

  test('a range without room is said to be one', async () => {
    const own = { ...daemon, subnets: [`${lab.addressPrefix}0.0/26`] }
    const error = await refusal(ensureNetwork(own, 'full'))
    assert.equal(error.code, 'engine_cannot')
    assert.match(error.message, /are taken/)
  })
})
