import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hasRemoteImages, mailSandbox } from '../src/lib/mail-frame.ts'

test('the frame of a mail has no scripts, no forms and no origin', () => {
  for (const right of [
    'allow-scripts',
    'allow-same-origin',
    'allow-forms',
    'allow-top-navigation',
    'allow-downloads',
  ]) {
    assert.ok(!mailSandbox.includes(right), right)
  }
})

test('it is told when a mail has images from elsewhere, and only then', () => {
  for (const html of [
    '<img alt=x src="https://shop.example/a.png">',
    "<IMG\nSRC='http://shop.example/a.png'>",
    '<img src=//shop.example/a.png>',
    '<img srcset="https://shop.example/a.png 2x">',
    '<td background="https://shop.example/a.png">',
    '<div style="background: url( \'https://shop.example/a.png\' )">',
  ]) {
    assert.ok(hasRemoteImages(html), html)
  }
  for (const html of [
    '<a href="https://shop.example/">shop</a>',
    '<img src="data:image/png;base64,AAAA">',
    'https://x',
  ]) {
    assert.ok(!hasRemoteImages(html), html)
  }
})
