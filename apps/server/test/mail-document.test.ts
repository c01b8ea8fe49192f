import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mailDocument, mailHeaders } from '../src/mail/mail-document.ts'

const policyOf = (remote: boolean) => mailHeaders(remote)['content-security-policy'] ?? ''

test('a mail loads nothing from elsewhere, and images over https alone when they are asked for', () => {
  assert.match(policyOf(false), /^sandbox [^;]*; default-src 'none'; img-src data:;/)
  assert.match(policyOf(true), /img-src data: https:;/)
  for (const policy of [policyOf(false), policyOf(true)]) {
    assert.doesNotMatch(policy, /http:|script-src|connect-src|frame-src|allow-(scripts|same-origin|forms|top)/)
    assert.match(policy, /frame-ancestors 'self'$/)
  }
})

test('elements that act before a policy does lose their names, however they are written', () => {
  for (const tag of [
    '<link rel=preconnect href="https://elsewhere.test">',
    '<LINK\nrel=dns-prefetch href="//elsewhere.test">',
    '<base href="https://elsewhere.test/">',
    '<meta http-equiv=refresh content="0;url=https://elsewhere.test">',
    '<iframe/src="https://elsewhere.test">',
    '<object data=x></object>',
  ]) {
    const document = mailDocument(tag)
    assert.doesNotMatch(document.slice(document.indexOf('</style>')), /<(link|base|meta|iframe|object)[\s/>]/i, tag)
  }
})

test('the rest of a mail stays as it was written', () => {
  const mail = '<h1 style="color: teal">Boarding</h1><a href="https://shop.example/">shop</a><basefont><p>1 < 2</p>'
  assert.ok(mailDocument(mail).endsWith(mail))
  assert.match(
    mailDocument(mail),
    /^<!doctype html><meta charset="utf-8"><base href="https:\/\/mail\.invalid\/" target="_blank">/,
  )
})
