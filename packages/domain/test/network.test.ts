import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { bytesOf, checkRules, displayOf, ownNameBlocker, readAddressRange, readHostName } from '../src/network/index.ts'

const none = { signIn: false, allowIps: [], redirects: [], requestHeaders: [], responseHeaders: [], cors: null }
const redirect = (from: string, to: string, host: string | null = null) => ({ from, to, host, status: 308 as const })
const errorsOf = (rules: Partial<Parameters<typeof checkRules>[0]>, hosts: readonly string[] = ['shop.localhost']) => {
  const checked = checkRules({ ...none, ...rules }, hosts)
  return checked.ok ? [] : checked.errors.map(({ pointer, code }) => `${pointer} ${code}`)
}

describe('host names', () => {
  test('are kept in lower case and ASCII, and shown as people read them', () => {
    for (const [text, host] of [
      ['Shop.Example.ORG', 'shop.example.org'],
      ['shop.example.org.', 'shop.example.org'],
      ['bücher.example', 'xn--bcher-kva.example'],
      ['*.Bücher.example', '*.xn--bcher-kva.example'],
      ['例え.テスト', 'xn--r8jz45g.xn--zckzah'],
      ['my_host.internal', 'my_host.internal'],
    ] as const)
      assert.deepEqual(readHostName(text), { ok: true, host }, text)
    assert.equal(displayOf('xn--bcher-kva.example'), 'bücher.example')
    assert.equal(displayOf('*.xn--bcher-kva.example'), '*.bücher.example')
  })

  test('what is none is refused', () => {
    for (const text of [
      '',
      'http://shop.example',
      'shop.example:80',
      'shop.example/path',
      'a b.example',
      'a..example',
      '.example',
      '-a.example',
      'a-.example',
      '1.2.3.4',
      '127.1',
      '0x7f.1',
      '[::1]',
      '::1',
      '*',
      '*.example',
      'a.*.example',
      '**.example.org',
      `${'a'.repeat(64)}.example`,
      `${'a.'.repeat(130)}example`,
      'a%2e.example',
      'a@b.example',
      'shop\u0000.example',
    ])
      assert.equal(readHostName(text).ok, false, text)
  })

  test('names under the base domain belong to the projects of that name', () => {
    const own = { baseDomain: 'dev.example.org' }
    for (const host of [
      'api.shop.dev.example.org',
      '*.shop.dev.example.org',
      'shop.example.org',
      'example.org',
      'notdev.example.org',
    ])
      assert.equal(ownNameBlocker(host, 'shop', own), null, host)
    for (const host of [
      'dev.example.org',
      '*.dev.example.org',
      'shop.dev.example.org',
      'blog.dev.example.org',
      'x.blog.dev.example.org',
      'abc.share.dev.example.org',
    ])
      assert.notEqual(ownNameBlocker(host, 'shop', own), null, host)
  })
})

describe('address ranges', () => {
  test('are kept in one spelling', () => {
    for (const [text, range] of [
      ['192.0.2.1', '192.0.2.1'],
      ['192.0.2.1/32', '192.0.2.1'],
      ['192.0.2.0/24', '192.0.2.0/24'],
      ['0.0.0.0/0', '0.0.0.0/0'],
      ['2001:DB8:0:0::/32', '2001:db8::/32'],
      ['::/0', '::/0'],
      ['::1', '::1'],
      ['2001:db8:0:1:0:0:0:1', '2001:db8:0:1::1'],
      ['::ffff:192.0.2.1', '192.0.2.1'],
      ['::ffff:192.0.2.0/120', '192.0.2.0/24'],
      [' 10.0.0.0/8 ', '10.0.0.0/8'],
    ] as const)
      assert.deepEqual(readAddressRange(text), { ok: true, range }, text)
  })

  test('what is none, or most likely a slip, is refused', () => {
    for (const text of [
      '',
      'x',
      '1.2.3',
      '1.2.3.4/33',
      '1.2.3.4/-1',
      '1.2.3.4/8/8',
      '::1/129',
      'fe80::1%eth0',
      '10.0.0.5/8',
      '2001:db8::1/32',
      '::ffff:1.2.3.4/64',
      '1.2.3.4/ 8',
    ])
      assert.equal(readAddressRange(text).ok, false, text)
    const slip = readAddressRange('10.0.0.5/8')
    assert.ok(!slip.ok && slip.detail.includes('10.0.0.0/8'))
  })

  test('bytes of every way to write an address', () => {
    assert.deepEqual(
      bytesOf('::'),
      Array.from({ length: 16 }, () => 0),
    )
    assert.deepEqual(bytesOf('::1.2.3.4').slice(12), [1, 2, 3, 4])
    assert.deepEqual(bytesOf('1:2:3:4:5:6:7:8').slice(0, 4), [0, 1, 0, 2])
    assert.deepEqual(bytesOf('fe80::1').slice(0, 2), [0xfe, 0x80])
  })
})

describe('rules', () => {
  test('everything that is wrong is said at once', () => {
    assert.deepEqual(
      errorsOf({
        allowIps: ['10.0.0.0/8', 'nobody'],
        redirects: [redirect('old', '/new'), redirect('/a', 'ftp://example.org'), redirect('/b', '/c', 'a b')],
        requestHeaders: [
          { name: 'Content-Length', value: '0' },
          { name: 'X_Forwarded_For', value: '10.1.2.3' },
          { name: 'X-A', value: 'a\r\nX-B: b' },
          { name: 'x y', value: null },
        ],
        responseHeaders: [
          { name: 'X-A', value: 'a' },
          { name: 'x-a', value: null },
        ],
        cors: {
          origins: ['*', 'https://a.example/path'],
          methods: [],
          headers: ['a b'],
          exposeHeaders: [],
          credentials: true,
          maxAgeSeconds: 1,
        },
      }),
      [
        '/allowIps/1 not_an_address',
        '/redirects/0/from not_a_path',
        '/redirects/1/to not_an_address',
        '/redirects/2/host not_a_host_name',
        '/requestHeaders/0/name not_allowed',
        '/requestHeaders/1/name not_allowed',
        '/requestHeaders/2/value not_a_header',
        '/requestHeaders/3/name not_a_header',
        '/responseHeaders/1/name twice',
        '/cors/origins/0 not_alone',
        '/cors/credentials not_with_all',
        '/cors/origins/1 not_an_origin',
        '/cors/headers/0 not_a_header',
      ],
    )
  })

  test('what is right is kept in one spelling', () => {
    const checked = checkRules(
      {
        ...none,
        allowIps: ['::ffff:192.0.2.1', '192.0.2.1'],
        redirects: [redirect('/blog/*', 'https://blog.example.org/*', 'WWW.Example.org')],
        cors: {
          origins: ['https://App.Example.org'],
          methods: ['GET'],
          headers: [],
          exposeHeaders: [],
          credentials: true,
          maxAgeSeconds: 600,
        },
      },
      ['shop.localhost'],
    )
    assert.ok(checked.ok)
    assert.deepEqual(checked.rules.allowIps, ['192.0.2.1'])
    assert.equal(checked.rules.redirects[0]?.host, 'www.example.org')
    assert.deepEqual(checked.rules.cors?.origins, ['https://app.example.org'])
  })

  test('a "*" at the end carries the rest, and never into a host name', () => {
    assert.deepEqual(errorsOf({ redirects: [redirect('/blog/*', '/news/*')] }), [])
    assert.deepEqual(errorsOf({ redirects: [redirect('/a', '/b*')] }), ['/redirects/0/to nothing_to_carry'])
    assert.deepEqual(errorsOf({ redirects: [redirect('/*', 'https://example.org*')] }), [
      '/redirects/0/to not_an_address',
    ])
    assert.deepEqual(errorsOf({ redirects: [redirect('/a*b', '/c')] }), ['/redirects/0/from not_a_path'])
    assert.deepEqual(errorsOf({ redirects: [redirect('/a', '//evil.example')] }), ['/redirects/0/to not_an_address'])
  })

  test('redirects are kept as browsers send paths and as headers carry addresses', () => {
    const kept = (from: string, to: string) => {
      const checked = checkRules({ ...none, redirects: [redirect(from, to)] }, ['shop.localhost'])
      return checked.ok ? [checked.rules.redirects[0]?.from, checked.rules.redirects[0]?.to] : checked.errors
    }
    assert.deepEqual(kept('/büro/*', '/日本/*'), ['/b%C3%BCro/*', '/%E6%97%A5%E6%9C%AC/*'])
    assert.deepEqual(kept('/a/*', 'https://bücher.example/ö/*'), ['/a/*', 'https://xn--bcher-kva.example/%C3%B6/*'])
    assert.deepEqual(kept('/\ud800', '/b'), ['/%EF%BF%BD', '/b'])
    // Browsers would read a name in what is carried over.
    for (const to of ['https:/*', 'https:///*', 'https:\\\\*', 'https://\\*', 'https://bücher.example*'])
      assert.deepEqual(errorsOf({ redirects: [redirect('/*', to)] }), ['/redirects/0/to not_an_address'], to)
  })

  test('redirects that lead in circles are refused, over several hosts too', () => {
    assert.deepEqual(errorsOf({ redirects: [redirect('/a', '/a')] }), ['/redirects/0 redirect_loop'])
    assert.deepEqual(errorsOf({ redirects: [redirect('/a', '/b'), redirect('/b', '/a')] }), [
      '/redirects/0 redirect_loop',
      '/redirects/1 redirect_loop',
    ])
    assert.deepEqual(errorsOf({ redirects: [redirect('/*', '/x/*')] }), ['/redirects/0 redirect_loop'])
    assert.deepEqual(errorsOf({ redirects: [redirect('/*', 'https://shop.localhost/*')] }), [
      '/redirects/0 redirect_loop',
    ])
    assert.deepEqual(
      errorsOf({ redirects: [redirect('/*', 'https://www.example.org/*', 'example.org')] }, [
        'example.org',
        'www.example.org',
      ]),
      [],
    )
    assert.deepEqual(
      errorsOf(
        {
          redirects: [
            redirect('/*', 'https://www.example.org/*', 'example.org'),
            redirect('/*', 'https://example.org/*', 'www.example.org'),
          ],
        },
        ['example.org', 'www.example.org'],
      ),
      ['/redirects/0 redirect_loop', '/redirects/1 redirect_loop'],
    )
    assert.deepEqual(
      errorsOf({ redirects: [redirect('/old', '/new'), redirect('/new', 'https://elsewhere.example/')] }),
      [],
    )
    assert.deepEqual(errorsOf({ redirects: [redirect('/a?*', '/b')] }), ['/redirects/0/from not_a_path'])
  })
})
